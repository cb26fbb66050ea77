"""See and serve your company's machines: what they recorded, whether they live, and whether their guards run.

  hookline fleet setup      make the stream and the bucket on the server, once, as an administrator
  hookline fleet run        this machine's service: sends the log, signs its heads, says that the machine lives
  hookline fleet status     machines that are silent, out of date, or whose guards do not run
  hookline fleet events     the records of all machines, newest last; options as in hookline log
  hookline fleet stats      how often each hook ran and blocked on all machines; options as in hookline stats

`hookline fleet events --help` explains one form. The settings name the server: hooksConfig.fleet.servers.

Examples:
  hookline fleet setup --replicas 3
  hookline fleet status --expect machines.txt
  hookline fleet events --decision deny --since 1d
"""

from hookline.cli.commands._fleet_forms import FORMS
from hookline.cli.commands._forms import Forms

_FORMS = Forms("fleet", FORMS)
configure, run, parser_of = _FORMS.configure, _FORMS.run, _FORMS.parser_of
