"""Review the hooks that a project brings along, and let them run; with --revoke, take trust back.

Trust covers the definition of a hook and the content of the files that its command names;
when either changes, the hook needs trust again.

Examples:
  hookline trust                 review each hook of this project that is not trusted yet, and decide
  hookline trust guard           only that one
  hookline trust --all --yes     without a question, for CI: you have reviewed the hooks elsewhere
  hookline trust --list          show what is trusted
  hookline trust --revoke guard  take the trust in this one back
  hookline trust --revoke --all --project ../other

Only you can do this: a hook, or the agent's own shell, is refused. The log has a record of each decision.

Without a terminal, --revoke needs --yes. It also takes hooks that are no longer configured.

Exit codes:
  0  every requested hook is trusted, or revoked
  1  some are not, or hooksConfig.trust is strict and refuses them
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookline.apps.cli.options import add_common_options, make_config, read_config, require_terminal
from hookline.apps.cli.report.printer import print_json, print_lines, print_question, print_report
from hookline.apps.cli.report.review import Review, review, review_lines
from hookline.apps.cli.report.style import style
from hookline.apps.cli.terminal.pasted import discard_input, is_pasted, marked_pastes
from hookline.errors import HooklineError, UsageError
from hookline.inspect.consent import log_consent, require_person
from hookline.inspect.foreign_settings import in_dialect, unread_lines, unread_report
from hookline.inspect.hooks import trust_states
from hookline.inspect.switches import unknown_hook
from hookline.inspect.view import Setup, read_setup
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.records import Consent, hook_place
from hookline.protocol.text.readable import one_line, plural, show_message, show_place
from hookline.settings.trust.store import TrustRecord, TrustStore
from hookline.stderr import warn_user


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="the hook's name, or its command if it has no name")
    parser.add_argument("--all", action="store_true", help="ask one question for all hooks that are not trusted yet")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="show what is trusted, and change nothing")
    what.add_argument("--revoke", action="store_true", help="take trust back: from NAME, or with --all from all hooks")
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    add_common_options(parser, settings=False)


def run(given: argparse.Namespace) -> int:
    """Show the hooks, asks, and stores the answer; with `--json` it never asks."""
    if given.revoke:
        return _revoke(given)
    if given.name is not None and given.all:
        raise UsageError("--all and a name exclude each other; give one of them")
    if not given.list:
        require_person(Consent.TRUSTED)
    config = make_config(given)
    setup = read_setup(config)
    store = setup.trust
    problem = store.problem_in(setup.project_dir) or _unreadable(setup)
    if given.list:
        report = _listing(setup, store, problem)
        print_report(given, report, _list_lines(report))
        return 0
    if problem:
        raise HooklineError(problem)
    states = trust_states(setup)
    wanted = _wanted(given.name, setup)
    waiting = [
        review(hook, setup.file_and_line(hook)[1], setup.project_dir, store)
        for hook in wanted
        if states[id(hook)] in ("new", "changed")
    ]
    if given.json:
        return _answer_in_json(given, waiting, wanted, setup)
    if not waiting:
        print_lines(_nothing_waits(given.name, setup))
        print_lines(*(style.warn(line) for line in unread_lines(unread_report(config))))
    code = _ask(given, waiting, setup) if waiting else 0
    refused = _refused(wanted, setup)
    print_lines(*(style.warn(one_line(f"{label} will not run: {reason}")) for label, reason in refused))
    return 1 if refused else code


def _refused(hooks: Sequence[HookEntry], setup: Setup) -> list[tuple[str, str]]:
    """The hooks that strict trust does not run even if they are trusted, with the reason."""
    return [(hook.label, reason) for hook in hooks if (reason := setup.why_refused(hook))]


def _unreadable(setup: Setup) -> str | None:
    file = next((layer.origin for layer in setup.unusable() if layer.is_guest), None)
    return file and f"{file} can't be read, so its hooks are unknown; fix it"


def _nothing_waits(name: str | None, setup: Setup) -> str:
    if name:
        return f"{one_line(name)} is trusted already."
    if any(hook.needs_trust for hook in setup.hooks):
        return "Every hook of this project is trusted already."
    own = {layer.origin for layer in setup.layers if layer.is_guest}
    if any(problem.is_error and problem.origin in own for problem in setup.problems):
        return "This project has no hooks that can be used; hookline check shows why."
    return "This project has no hooks."


def _wanted(name: str | None, setup: Setup) -> list[HookEntry]:
    guests = [hook for hook in setup.hooks if hook.needs_trust]
    if name is None:
        return guests
    named = [hook for hook in setup.hooks if hook.label == name]
    if not named:
        raise UsageError(unknown_hook(name, guests))
    wanted = [hook for hook in named if hook.needs_trust]
    if not wanted:
        raise UsageError(f"{name} comes from {named[0].origin} and needs no trust; only a project's own hooks do")
    return wanted


def _ask(given: argparse.Namespace, waiting: Sequence[Review], setup: Setup) -> int:
    can_ask = sys.stdin.isatty()
    one_by_one = can_ask and not given.all and not given.yes
    accepted = 0
    for shown in waiting:
        print_lines(*review_lines(shown.report), "")
        if one_by_one and _says_yes(f"Trust {one_line(shown.hook.label)}?"):
            _trust([shown], setup)
            accepted += 1
    if not can_ask and not given.yes:
        raise HooklineError("nothing was trusted, because stdin is not a terminal; review it and add --yes")
    if not one_by_one and (given.yes or _says_yes(f"Trust {plural(len(waiting), 'hook')}?")):
        _trust(waiting, setup)
        accepted = len(waiting)
    if accepted:
        print_lines(style.good(f"{plural(accepted, 'hook')} trusted."))
    left = len(waiting) - accepted
    if left:
        print_lines(style.warn(f"{plural(left, 'hook')} not trusted; hooks without trust do not run."))
    return 1 if left else 0


def _says_yes(question: str) -> bool:
    """Return True if the user types yes; earlier input and pasted text do not count."""
    while True:
        discard_input()
        with marked_pastes():
            # Not `input`, which may ask on stderr.
            print_question(f"{question} [y/N]")
            answer = sys.stdin.readline()
        if not answer.endswith("\n"):
            print_lines("")
        if not is_pasted(answer):
            return answer.strip().lower() in ("y", "yes")
        discard_input(of_paste=True)
        print_lines("Pasted text does not count; type y or n.")


def _trust(reviews: Sequence[Review], setup: Setup) -> None:
    hooks, digests = [shown.hook for shown in reviews], {shown.report["digest"] for shown in reviews}
    beside = [hook for hook in setup.hooks if hook.needs_trust]
    setup.trust.trust(hooks, setup.project_dir, shown=digests, beside=beside)
    decided = [
        {**hook_place(shown.hook), "event": shown.hook.event.value, "digest": shown.report["digest"]}
        for shown in reviews
    ]
    log_consent(Consent.TRUSTED, setup, decided)


def _answer_in_json(
    given: argparse.Namespace, waiting: Sequence[Review], wanted: Sequence[HookEntry], setup: Setup
) -> int:
    if given.yes and waiting:
        _trust(waiting, setup)
    hooks = [{**shown.report, "trusted": given.yes} for shown in waiting]
    refused = [{"hook": label, "reason": reason} for label, reason in _refused(wanted, setup)]
    print_json({"project": setup.project_dir, "hooks": hooks, "refused": refused})
    if waiting and not given.yes:
        warn_user("nothing was trusted; review it and add --yes")
        return 1
    return 1 if refused else 0


def _listing(setup: Setup, store: TrustStore, problem: str | None) -> dict[str, Any]:
    states = trust_states(setup)
    return {
        "problem": problem,
        "project": setup.project_dir,
        "hooks": [
            {
                "event": hook.event.value,
                "hook": hook.label,
                "state": states[id(hook)],
                "file": hook.origin,
                "dialect": hook.dialect,
            }
            for hook in setup.hooks
            if hook.needs_trust
        ],
        "records": [
            {
                "project": record.project_dir,
                **describe_record(record),
                "trustedAt": record.trusted_at,
                "digest": record.digest,
                "files": list(record.files),
            }
            for record in store.records()
        ],
    }


def describe_record(record: TrustRecord) -> dict[str, Any]:
    """The event and the name of the hook that was trusted."""
    definition = record.definition
    return {"event": definition.get("event"), "hook": str(definition.get("name") or definition.get("command"))}


def _list_lines(report: Mapping[str, Any]) -> Iterator[str]:
    if report["problem"]:
        yield style.bad(show_message(report["problem"]))
    yield style.bold("Hooks of this project")
    for hook in report["hooks"]:
        paint = style.good if hook["state"] == "trusted" else style.warn
        place = in_dialect(hook["dialect"]) and f"  {show_place(hook['file'])}{in_dialect(hook['dialect'])}"
        yield f"  {paint(hook['state'].ljust(8))}  {hook['event']} {one_line(hook['hook'])}{style.dim(place)}"
    if not report["hooks"]:
        yield "  none that need trust"
    here = os.path.realpath(report["project"])
    others = [record for record in report["records"] if record["project"] != here]
    if others:
        yield style.bold("Trusted elsewhere")
    for record in others:
        place = style.dim(show_place(record["project"]))
        yield f"  {record['trustedAt'][:10]}  {record['event']} {one_line(record['hook'])}  {place}"


def _revoke(given: argparse.Namespace) -> int:
    """Remove the trust and prints which hooks lost it."""
    if (given.name is None) is not given.all:
        raise UsageError("say whose trust to revoke: give the hook's name, or --all")
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
        run=CommandLine(record.definition.get("command") or ""),
        name=record.definition.get("name"),
    )
