"""Take back the trust in hooks of a project, including hooks that are no longer configured.

Examples:
  hookline untrust guard
  hookline untrust --all --project ../other
  hookline untrust --all --yes               without a terminal, in a script of your own
"""

import argparse
import os

from hookline.cli.commands._consent import add_yes_option, log_consent, require_person, require_terminal
from hookline.cli.commands.trust import add_name_argument, describe_record
from hookline.cli.lint.setup import read_setup
from hookline.cli.options import add_common_options, read_config
from hookline.cli.report.printer import print_report
from hookline.cli.report.text import one_line, plural
from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.contract.records import Consent
from hookline.contract.vocabulary import ConfigSource
from hookline.errors import HooklineError, UsageError
from hookline.settings.trust import TrustRecord


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    add_name_argument(parser)
    parser.add_argument("--all", action="store_true", help="all hooks of the project")
    add_yes_option(parser)
    add_common_options(parser, settings=False)


def run(given: argparse.Namespace) -> int:
    """Removes the trust and prints which hooks lost it."""
    if (given.name is None) is not given.all:
        raise UsageError("say which hook to untrust: give its name, or --all")
    require_person(Consent.UNTRUSTED)
    # The project may be gone by now.
    setup = read_setup(read_config(given, project_must_exist=False))
    project = os.path.realpath(given.project)
    store = setup.trust
    if problem := store.problem_in(project):
        raise HooklineError(problem)
    known = [(record, describe_record(record)) for record in store.records() if record.project_dir == project]
    wanted = [(record, described) for record, described in known if given.all or described["hook"] == given.name]
    if given.name is not None and not wanted:
        raise UsageError(f"{given.name} is not trusted in {project}; hookline trust --list shows what is")
    if wanted:
        require_terminal(given)
        store.untrust([_hook(record) for record, _ in wanted], project)
        log_consent(Consent.UNTRUSTED, setup, [{**told, "digest": record.digest} for record, told in wanted])
    hooks = [described for _, described in wanted]
    names = ", ".join(dict.fromkeys(one_line(hook["hook"]) for hook in hooks))
    line = f"{plural(len(hooks), 'hook')} not trusted any more: {names}" if hooks else "Nothing was trusted."
    print_report(given, {"project": project, "untrusted": hooks}, [line])
    return 0


def _hook(record: TrustRecord) -> HookEntry:
    """As much of the hook as the store needs to find its records."""
    return HookEntry(
        event=HookEventName(record.definition["event"]),
        source=ConfigSource.PROJECT,
        origin="",
        location="",
        command=record.definition.get("command"),
        name=record.definition.get("name"),
    )
