"""`hookline fleet policy`: the same guards on every machine of a company."""

from hookline.apps.cli.commands.fleet.policy.change import CHANGE_SUBCOMMANDS
from hookline.apps.cli.commands.fleet.policy.make import MAKE_SUBCOMMANDS
from hookline.apps.cli.commands.fleet.policy.use import USE_SUBCOMMANDS
from hookline.apps.cli.subcommands import Subcommand, SubcommandGroup

_GROUP = SubcommandGroup("fleet policy", {**MAKE_SUBCOMMANDS, **USE_SUBCOMMANDS, **CHANGE_SUBCOMMANDS})
POLICY = Subcommand(
    """\
The same guards on every machine of a company: signed policies, and how they get there.

  hookline fleet policy keygen FILE        make the key that signs policies
  hookline fleet policy pack DIR           make a bundle of settings and scripts
  hookline fleet policy sign FILE          sign it
  hookline fleet policy verify FILE        check its signature and expiry
  hookline fleet policy publish FILE       put it into the company's bucket
  hookline fleet policy pull [FILE]        put it in force on this machine
  hookline fleet policy status             what is in force here
  hookline fleet policy rollback           publish older content under a new version
  hookline fleet policy follow             keep this machine's policy as the server has it
  hookline fleet policy switch             switch all agents off, or one hook, and on again

`hookline fleet policy sign --help` explains one of them.
Without a server, everything but publish and follow works with files.""",
    """\
  hookline fleet policy keygen policy.key
  hookline fleet policy pack guards/ --version 1 -o policy.json
  hookline fleet policy sign policy.json --key policy.key
  hookline fleet policy pull policy.json
  hookline fleet policy switch agents off --reason "incident 4711" --expires 2h --key policy.key""",
    _GROUP.configure,
    _GROUP.run,
    _GROUP,
)
