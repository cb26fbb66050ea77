"""Run today's hooks on events that really happened, and show what they would now decide differently.

By default the events are the latest 200 of this project in the log. --from takes them from elsewhere: transcripts of
other agents, a log, or a case file. --against compares with the hooks of a revision or a settings file instead of with
what happened. --save writes the events of the log as a case file, with what your hooks decided then.

Examples:
  hookline replay --since 7d --tool run_shell_command --limit 0
  hookline replay --from real.hooks.toml       events of a case file, such as --save writes
  hookline replay --settings new.json          with the hooks of another file
  hookline replay --from claude --from codex --all-projects
  hookline replay --against main               today's hooks and those of a revision, on the log and all transcripts
  hookline replay --against old-settings.json --markdown
  hookline replay --decision blocked --save -                  what was denied, as cases on stdout
  hookline replay --since 1d --save .llxprt/real.hooks.toml    append them to a case file
  hookline replay --follow --save live.hooks.toml              events as they come, until interrupted

Only hooks run; no tool is ever executed. Runs are not in the log and do not count in its statistics. With --from or
--against, scripts run in a scratch copy of the project, as it is now or as the revision has it. The log has the
input of every event for which a hook ran, with secrets replaced, up to 64 KiB.

Exit codes:
  0  everything would be decided as it was    1  something would not, there is no event, or the command failed
"""

import argparse
from typing import TYPE_CHECKING

from hookline.apps.cli.case_runs import add_jobs_option
from hookline.apps.cli.log_options import add_filter_options, add_run_filters
from hookline.apps.cli.options import add_common_options, at_least
from hookline.dialects.transcripts.find import AGENTS, OWN
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.testing.cases.read import SUFFIX

if TYPE_CHECKING:
    from hookline.apps.cli.commands.replay import events, past, save
else:
    past = lazy_module("hookline.apps.cli.commands.replay.past")
    save = lazy_module("hookline.apps.cli.commands.replay.save")
    events = lazy_module("hookline.apps.cli.commands.replay.events")

_LOG = "log"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    names = (_LOG, *AGENTS, OWN)
    parser.add_argument(
        "--from",
        dest="sources",
        metavar="SOURCE",
        action="append",
        help=f"{', '.join(names)}, or a file: a log, a transcript or cases (may be repeated; default: the log)",
    )
    parser.add_argument("--against", metavar="REV|FILE", help="compare with the hooks of a revision or a settings file")
    parser.add_argument(
        "--save", metavar="FILE", help=f"append the events to this case file (*{SUFFIX}), - prints them"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="with --save: then take events as they come")
    add_filter_options(parser)
    add_run_filters(parser)
    parser.add_argument(
        "-n",
        "--limit",
        metavar="N",
        type=at_least(0),
        help="how many of the log at most, the latest (default: 200, with --save 50; 0 for all)",
    )
    parser.add_argument("--markdown", action="store_true", help="with --against: print a summary for a pull request")
    parser.add_argument("--html", metavar="FILE", help="with --against: also write a page")
    add_jobs_option(parser)
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Fires the events and prints what would be different, or saves them."""
    cases = [source for source in given.sources or () if source.endswith(SUFFIX)]
    if given.save is not None:
        if given.sources not in (None, [_LOG]) or given.against:
            raise UsageError("--save takes events from the log; leave --from and --against out")
        return save.save_events(given)
    if given.follow:
        raise UsageError("--follow is for --save FILE")
    if cases and (len(cases) < len(given.sources) or given.against):
        raise UsageError("case files are replayed alone; leave --against and the other --from out")
    if cases or not ({*(given.sources or ())} - {_LOG} or given.against or given.markdown or given.html):
        given.files = cases
        return events.replay_events(given)
    return past.replay_past(given)
