"""See and serve your company's machines: what they recorded, whether they live, and whether their guards run.

  hookline fleet policy     sign guards, bring them to the machines, and switch agents or hooks off
  hookline fleet status     machines that are silent, out of date, or whose guards do not run
  hookline fleet events     the records of all machines, newest last; options as in hookline log
  hookline fleet verify     whether the records are those that were written on the machines
  hookline fleet run        this machine's service; --setup makes the stream and the buckets on the server, once
  hookline fleet worker     run your hooks for other machines, whose remote hooks ask this one

`hookline fleet events --help` explains one of them. The settings name the server: hooksConfig.fleet.servers.

Examples:
  hookline fleet run --setup --replicas 3
  hookline fleet status --expect machines.txt
  hookline fleet events --decision blocked --since 1d
"""

from hookline.apps.cli.commands.fleet.machines import SUBCOMMANDS
from hookline.apps.cli.commands.fleet.policy import POLICY
from hookline.apps.cli.commands.fleet.verify import VERIFY
from hookline.apps.cli.commands.fleet.worker import WORKER
from hookline.apps.cli.subcommands import SubcommandGroup

_GROUP = SubcommandGroup(
    "fleet",
    {
        "policy": POLICY,
        "status": SUBCOMMANDS["status"],
        "events": SUBCOMMANDS["events"],
        "verify": VERIFY,
        "run": SUBCOMMANDS["run"],
        "worker": WORKER,
    },
)
configure, run, parser_of, names = _GROUP.configure, _GROUP.run, _GROUP.parser_of, _GROUP.names
