"""`hookline trust`: look at a project's hooks, and let them run."""

import argparse
import difflib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hookline.cli.lint.setup import Setup, read_setup
from hookline.cli.options import make_config, require_project
from hookline.cli.report.overview import place_of, trust_of
from hookline.cli.report.review import Review, review, show_review
from hookline.cli.report.style import Style
from hookline.cli.report.text import one_line, plural, show_place
from hookline.contract.hooks import HookEntry
from hookline.errors import HooklineError, UsageError
from hookline.settings.trust import TrustRecord, TrustState, TrustStore, default_trust_path

_EXAMPLES = """\
examples:
  hookline trust                 look at each hook of this project that waits for trust, and decide
  hookline trust guard           only that one
  hookline trust --all --yes     without a question, for CI: you have looked at them elsewhere
  hookline trust --list          what is trusted

exit codes:
  0  every hook that was asked for is trusted    1  some are not
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = (
        "Look at the hooks that a project brings along, and let them run.\n"
        "What is trusted is the definition and the content of the files that the command names;\n"
        "when either changes, the hook waits for trust again."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument("name", metavar="NAME", nargs="?", help="the hook's name, or its command where it has none")
    parser.add_argument("--all", action="store_true", help="one question for all hooks that wait for trust")
    parser.add_argument("--list", action="store_true", help="show what is trusted, and change nothing")
    parser.add_argument("--yes", action="store_true", help="trust without asking")
    parser.add_argument("--project", metavar="DIR", default=".", help="the project's directory (default: this one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs; never asks")
    parser.set_defaults(settings=None)


def run(given: argparse.Namespace) -> int:
    """Shows the hooks, asks, and remembers the answer."""
    if given.name is not None and given.all:
        raise UsageError("--all and a name exclude each other; give one of them")
    require_project(given)
    setup = read_setup(make_config(given))
    store = TrustStore(default_trust_path())
    problem = store.problem or _unreadable(setup)
    if given.list:
        return _list(given, setup, store, problem)
    if problem:
        raise HooklineError(problem)
    waiting = [
        review(hook, place_of(setup, hook)[1], setup.project_dir, store)
        for hook in _asked_for(given.name, setup)
        if trust_of(hook, setup.project_dir, store) is not TrustState.TRUSTED
    ]
    if given.json:
        return _answer_in_json(given, waiting, setup, store)
    if not waiting:
        print(_nothing_waits(given.name, setup))
        return 0
    return _ask(given, waiting, setup, store)


def _unreadable(setup: Setup) -> str | None:
    file = next((layer.origin for layer in setup.unusable() if layer.is_guest), None)
    return file and f"it can't be told which hooks wait for trust, because {file} can't be read; mend it"


def _nothing_waits(name: str | None, setup: Setup) -> str:
    if name:
        return f"{one_line(name)} is trusted already."
    if any(hook.needs_trust for hook in setup.hooks):
        return "Every hook of this project is trusted already."
    own = {layer.origin for layer in setup.layers if layer.is_guest}
    if any(problem.is_error and problem.origin in own for problem in setup.problems):
        return "This project has no hooks that can be used; hookline check tells why."
    return "This project has no hooks."


def _asked_for(name: str | None, setup: Setup) -> list[HookEntry]:
    if name is None:
        return [hook for hook in setup.hooks if hook.needs_trust]
    named = [hook for hook in setup.hooks if hook.label == name]
    if not named:
        labels = [hook.label for hook in setup.hooks if hook.needs_trust]
        close = difflib.get_close_matches(name, labels, n=1, cutoff=0.5)
        raise UsageError(
            f"there is no hook {name}; {f'did you mean {close[0]}?' if close else 'hookline list shows them all'}"
        )
    hooks = [hook for hook in named if hook.needs_trust]
    if not hooks:
        raise UsageError(f"{name} comes from {named[0].origin} and needs no trust; only a project's own hooks do")
    return hooks


def _ask(given: argparse.Namespace, waiting: Sequence[Review], setup: Setup, store: TrustStore) -> int:
    style = Style.for_stdout()
    can_ask = sys.stdin.isatty()
    one_by_one = can_ask and not given.all and not given.yes
    accepted: list[Review] = []
    for shown in waiting:
        print(*show_review(shown, style), sep="\n")
        print()
        if one_by_one and _says_yes(f"Trust {one_line(shown.hook.label)}?"):
            _trust(store, [shown], setup)
            accepted.append(shown)
    if not can_ask and not given.yes:
        raise HooklineError("nothing was trusted, because there is no terminal to ask on; look at it and add --yes")
    if not one_by_one and (given.yes or _says_yes(f"Trust {plural(len(waiting), 'hook')}?")):
        _trust(store, waiting, setup)
        accepted += waiting
    if accepted:
        print(style.good(f"{plural(len(accepted), 'hook')} trusted."))
    left = len(waiting) - len(accepted)
    if left:
        print(style.warn(f"{plural(left, 'hook')} not trusted; what is not trusted does not run."))
    return 1 if left else 0


def _says_yes(question: str) -> bool:
    # Not `input`, which may ask on stderr.
    print(f"{question} [y/N] ", end="", flush=True)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        print()
    return answer.strip().lower() in ("y", "yes")


def _trust(store: TrustStore, reviews: Sequence[Review], setup: Setup) -> None:
    hooks, digests = [shown.hook for shown in reviews], {shown.digest for shown in reviews}
    beside = [hook for hook in setup.hooks if hook.needs_trust]
    store.trust(hooks, setup.project_dir, shown=digests, beside=beside)


def _answer_in_json(given: argparse.Namespace, waiting: Sequence[Review], setup: Setup, store: TrustStore) -> int:
    if given.yes and waiting:
        _trust(store, waiting, setup)
    trusted = given.yes
    hooks = [{**shown.to_dict(), "trusted": trusted} for shown in waiting]
    print(json.dumps({"project": setup.project_dir, "hooks": hooks}, indent=2))
    if waiting and not trusted:
        sys.stderr.write("hookline: nothing was trusted; look at it and add --yes\n")
        return 1
    return 0


def _list(given: argparse.Namespace, setup: Setup, store: TrustStore, problem: str | None) -> int:
    hooks = [(hook, trust_of(hook, setup.project_dir, store)) for hook in setup.hooks if hook.needs_trust]
    records = store.records()
    if given.json:
        print(json.dumps(_listing(setup, hooks, records, problem), indent=2))
    else:
        for line in _list_lines(setup, hooks, records, problem):
            print(line)
    return 0


def _listing(
    setup: Setup, hooks: Sequence[tuple[HookEntry, TrustState]], records: Sequence[TrustRecord], problem: str | None
) -> dict[str, Any]:
    return {
        "problem": problem,
        "project": setup.project_dir,
        "hooks": [
            {"event": hook.event.value, "hook": hook.label, "state": state.value, "file": hook.origin}
            for hook, state in hooks
        ],
        "records": [
            {
                "project": record.project_dir,
                "event": record.definition.get("event"),
                "hook": label_of(record),
                "trustedAt": record.trusted_at,
                "digest": record.digest,
                "files": list(record.files),
            }
            for record in records
        ],
    }


def label_of(record: TrustRecord) -> str:
    """What people call the hook that was trusted."""
    return str(record.definition.get("name") or record.definition.get("command"))


def _list_lines(
    setup: Setup, hooks: Sequence[tuple[HookEntry, TrustState]], records: Sequence[TrustRecord], problem: str | None
) -> Iterator[str]:
    style = Style.for_stdout()
    if problem:
        yield style.bad(problem)
    yield style.bold("Hooks of this project")
    for hook, state in hooks:
        paint = style.good if state is TrustState.TRUSTED else style.warn
        yield f"  {paint(f'{state.value:<8}')}  {hook.event} {one_line(hook.label)}"
    if not hooks:
        yield "  none that need trust"
    here = str(Path(setup.project_dir).resolve())
    others = [record for record in records if record.project_dir != here]
    if others:
        yield style.bold("Trusted elsewhere")
    for record in others:
        event, place = record.definition.get("event"), show_place(record.project_dir)
        yield f"  {record.trusted_at[:10]}  {event} {one_line(label_of(record))}  {style.dim(place)}"
