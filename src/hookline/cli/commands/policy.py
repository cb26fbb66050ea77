"""The same guards on every machine of a company: signed policies, and how they get there.

  hookline policy keygen FILE        make the key that signs policies
  hookline policy pack DIR           make a bundle of settings and scripts
  hookline policy sign FILE          sign it
  hookline policy verify FILE        check its signature and expiry
  hookline policy publish FILE       put it into the company's bucket
  hookline policy pull [FILE]        put it in force on this machine
  hookline policy status             what is in force here
  hookline policy rollback           publish older content under a new version
  hookline policy follow             keep this machine's policy as the server has it
  hookline policy switch             switch all agents off, or one hook, and on again

`hookline policy sign --help` explains one form. Without a server everything but publish and follow works with files.

Examples:
  hookline policy keygen policy.key
  hookline policy pack guards/ --version 1 -o policy.json
  hookline policy sign policy.json --key policy.key
  hookline policy pull policy.json
  hookline policy switch agents off --reason "incident 4711" --expires 2h --key policy.key
"""

from hookline.cli.commands._forms import Forms
from hookline.cli.commands._policy_change import CHANGE_FORMS
from hookline.cli.commands._policy_make import MAKE_FORMS
from hookline.cli.commands._policy_use import USE_FORMS

_FORMS = Forms("policy", {**MAKE_FORMS, **USE_FORMS, **CHANGE_FORMS})
configure, run, parser_of = _FORMS.configure, _FORMS.run, _FORMS.parser_of
