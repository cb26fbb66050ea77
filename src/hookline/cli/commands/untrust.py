"""`hookline untrust`: take trust back."""

import argparse
import json
from pathlib import Path

from hookline.cli.commands.trust import label_of
from hookline.cli.report.text import one_line, plural
from hookline.contract.events import HookEventName
from hookline.contract.hooks import ConfigSource, HookEntry
from hookline.errors import HooklineError, UsageError
from hookline.settings.trust import TrustRecord, TrustStore, default_trust_path

_EXAMPLES = """\
examples:
  hookline untrust guard
  hookline untrust --all --project ../other
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = "Forget that hooks of a project were trusted, also of hooks that are no longer configured."
    parser.epilog = _EXAMPLES
    parser.add_argument("name", metavar="NAME", nargs="?", help="the hook's name, or its command where it has none")
    parser.add_argument("--all", action="store_true", help="all hooks of the project")
    parser.add_argument("--project", metavar="DIR", default=".", help="the project's directory (default: this one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")


def run(given: argparse.Namespace) -> int:
    """Forgets, and says what."""
    if (given.name is None) is not given.all:
        raise UsageError("say which hook to untrust: give its name, or --all")
    project = str(Path(given.project).resolve())
    store = TrustStore(default_trust_path())
    if store.problem:
        raise HooklineError(store.problem)
    known = [record for record in store.records() if record.project_dir == project]
    wanted = [record for record in known if given.all or label_of(record) == given.name]
    if given.name is not None and not wanted:
        raise UsageError(f"{given.name} is not trusted in {project}; hookline trust --list shows what is")
    if wanted:
        store.untrust([_hook(record) for record in wanted], project)
    if given.json:
        hooks = [{"event": record.definition.get("event"), "hook": label_of(record)} for record in wanted]
        print(json.dumps({"project": project, "untrusted": hooks}, indent=2))
    else:
        names = ", ".join(dict.fromkeys(one_line(label_of(record)) for record in wanted))
        print(f"{plural(len(wanted), 'hook')} not trusted any more: {names}" if wanted else "Nothing was trusted.")
    return 0


def _hook(record: TrustRecord) -> HookEntry:
    """As much of the hook as is needed to find what was said about it."""
    return HookEntry(
        event=HookEventName(record.definition["event"]),
        source=ConfigSource.PROJECT,
        origin="",
        location="",
        command=record.definition.get("command"),
        name=record.definition.get("name"),
    )
