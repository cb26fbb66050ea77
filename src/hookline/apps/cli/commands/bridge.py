"""Let hookline's hooks guard another agent: Claude Code, Codex, Gemini CLI, Cursor or Copilot CLI.

  hookline bridge install AGENT      put hookline into the agent's own settings
  hookline bridge uninstall AGENT    take it out again
  hookline bridge status [AGENT]     is it installed, does it answer, and which effects the agent can't express

AGENT is claude, codex, gemini, cursor or copilot. `hookline bridge install --help` explains one of them.

Examples:
  hookline bridge install claude
  hookline bridge install codex --scope project --events PreToolUse,UserPromptSubmit
  hookline bridge status
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hookline.apps.cli.options import add_common_options, add_scope_option, make_config, require_project
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.apps.cli.subcommands import Subcommand, SubcommandGroup
from hookline.bridge.agents import HOSTS
from hookline.bridge.installation.entries import ENTRIES, settings_file
from hookline.bridge.installation.install import install, installed, is_strict_json, uninstall
from hookline.bridge.installation.status import Installation, installations
from hookline.bridge.unsupported import UnsupportedEffects, unsupported_effects
from hookline.errors import UsageError
from hookline.inspect.view import read_setup
from hookline.protocol.text.readable import HOOKS_DISABLED, one_line, plural, show_message, show_place
from hookline.protocol.text.strings import did_you_mean


def _agent(word: str) -> str:
    if word not in ENTRIES:
        advice = did_you_mean(word, ENTRIES, f"the agents are {', '.join(ENTRIES)}")
        raise argparse.ArgumentTypeError(f"{word} is not an agent that hookline knows; {advice}")
    return word


def _add_agent(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    parser.add_argument(
        "agent", metavar="AGENT", nargs=nargs, type=_agent, choices=tuple(ENTRIES), help=", ".join(ENTRIES)
    )


def _add_place(parser: argparse.ArgumentParser) -> None:
    add_scope_option(parser, "user", "the agent's settings in your home, or those of the project")
    add_common_options(parser, settings=False, dialect=False)


def _configure_install(parser: argparse.ArgumentParser) -> None:
    _add_agent(parser)
    _add_place(parser)
    parser.add_argument(
        "--events", metavar="LIST", help="the agent's events, separated by commas (default: all useful ones)"
    )
    parser.add_argument("--fail-open", action="store_true", help="let the agent go on when the bridge itself breaks")


def _configure_uninstall(parser: argparse.ArgumentParser) -> None:
    _add_agent(parser)
    _add_place(parser)


def _configure_status(parser: argparse.ArgumentParser) -> None:
    _add_agent(parser, "?")
    add_common_options(parser, dialect=False)


def _place(given: argparse.Namespace) -> Path:
    if given.scope == "user":
        return settings_file(given.agent, None)
    given.project = given.project or "."  # as in init, whatever a parent has
    require_project(given)
    return settings_file(given.agent, Path(given.project).resolve())


def _install(given: argparse.Namespace) -> int:
    entry, file = ENTRIES[given.agent], _place(given)
    events = entry.events if given.events is None else _events(given.agent, given.events)
    added = install(given.agent, file, events, fail_open=given.fail_open)
    shown = show_place(str(file))
    lines = [
        f"{shown}: added to {', '.join(added)}" if added else f"{shown}: nothing to add, hookline is there already",
        f"Next: hookline bridge status {given.agent}",
    ]
    if given.scope == "project":
        lines.append("The command has paths of this machine: keep the file out of a shared repository.")
    if given.agent == "codex":
        lines.append("Codex runs it only after you have trusted it there: start codex and follow /hooks.")
    unread = _unread(given.agent, file)
    print_report(
        given,
        {"file": str(file), "added": added, "problem": unread},
        [*lines, *([show_message(unread)] if unread else [])],
    )
    return 1 if unread else 0


def _unread(agent: str, file: Path) -> str | None:
    if ENTRIES[agent].reads_comments or is_strict_json(file):
        return None
    return f"{file} has comments or trailing commas, and {HOSTS[agent].agent} ignores such a file: remove them."


def _events(agent: str, given: str) -> list[str]:
    known = HOSTS[agent].events
    events = [event.strip() for event in given.split(",") if event.strip()]
    if not events:
        raise UsageError(f"--events needs at least one of {', '.join(known)}")
    for event in events:
        if event not in known:
            advice = did_you_mean(event, known, f"they are {', '.join(known)}")
            raise UsageError(f"{HOSTS[agent].agent} has no event {event} that hookline can be asked about; {advice}")
    return events


def _uninstall(given: argparse.Namespace) -> int:
    file = _place(given)
    removed = uninstall(file)
    result = f"removed from {', '.join(removed)}" if removed else "hookline is not there"
    other = settings_file(given.agent, Path.cwd() if given.scope == "user" else None)
    more = [f"It is also in {show_place(str(other))}."] if other != file and installed(other) else []
    print_report(given, {"file": str(file), "removed": removed}, [f"{show_place(str(file))}: {result}", *more])
    return 0


def _status(given: argparse.Namespace) -> int:
    require_project(given)
    agents = [given.agent] if given.agent else list(ENTRIES)
    found = [one for agent in agents for one in installations(agent, Path(given.project).resolve())]
    report: dict[str, Any] = {"installed": [asdict(one) for one in found]}
    lines = [*_status_lines(agents, found)]
    if given.agent:
        report["effects"], more = _effects(given)
        lines += ["", *more]
    print_report(given, report, lines)
    return 1 if any(one.problem for one in found) or (given.agent and not found) else 0


def _status_lines(agents: list[str], found: list[Installation]) -> Iterator[str]:
    for one in found:
        yield f"{style.bold(one.agent)}  {style.dim(show_place(one.file))}"
        yield f"  {one.summary}"
        if one.problem:
            yield f"  {style.bad(show_message(one.problem))}"
    missing = [agent for agent in agents if agent not in {one.agent for one in found}]
    if missing:
        yield f"Not installed in: {', '.join(missing)}"


def _effects(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Return the effects of hooks that the agent can't express, for programs and for users."""
    host = HOSTS[given.agent]
    setup = read_setup(make_config(given))
    lost = unsupported_effects(host, [hook for hook in setup.hooks if hook.enabled])
    report = {
        "agent": host.agent,
        "checkedWith": host.known_version,
        "enabled": setup.is_enabled,
        "hooks": [asdict(one) for one in lost],
        "remarks": host.remarks,
    }
    return report, [*_effect_lines(report, lost)]


def _effect_lines(report: Mapping[str, Any], lost: list[UnsupportedEffects]) -> Iterator[str]:
    yield style.bold(f"{report['agent']} (checked with {report['checkedWith']})")
    if not report["enabled"]:
        yield style.warn(HOOKS_DISABLED)
    never = [one for one in lost if not one.asked_at]
    if never:
        yield style.bad(f"{plural(len(never), 'hook')} of yours will never run there:")
        yield from (f"  {one_line(one.hook)}  {one.event}: {report['agent']} has no such event" for one in never)
    for one in (one for one in lost if one.asked_at):
        yield f"{one_line(one.hook)}  {one.event}, asked at {', '.join(one.asked_at)}"
        yield from (f"  not supported: {one_line(text)}" for text in one.unsupported)
    if not lost:
        yield "No hook is configured here."
    yield "In this agent in general:"
    yield from (f"  {remark}" for remark in report["remarks"])


SUBCOMMANDS = {
    "install": Subcommand(
        "Put hookline into an agent's own hook settings. Whatever is in that file stays.",
        "  hookline bridge install claude\n"
        "  hookline bridge install codex --scope project --events PreToolUse,UserPromptSubmit",
        _configure_install,
        _install,
    ),
    "uninstall": Subcommand(
        "Take hookline out of an agent's own hook settings again.",
        "  hookline bridge uninstall claude",
        _configure_uninstall,
        _uninstall,
    ),
    "status": Subcommand(
        "Show whether hookline is installed in your agents, whether it answers, and when it last ran.\n\n"
        "For one agent, also show which effects of your hooks it can't express.",
        "  hookline bridge status\n  hookline bridge status claude --json",
        _configure_status,
        _status,
    ),
}


_GROUP = SubcommandGroup("bridge", SUBCOMMANDS)
configure, run, parser_of, names = _GROUP.configure, _GROUP.run, _GROUP.parser_of, _GROUP.names
