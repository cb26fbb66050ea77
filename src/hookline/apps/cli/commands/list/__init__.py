"""List every configured hook by event: where it is, whether it runs, and how it did so far.

Examples:
  hookline list
  hookline list --event BeforeTool --json
  hookline list --packs                            the packs of guards that come with hookline, and how one is used
  hookline list --packs shell                      every rule of one pack, with an example each way
  hookline list --packs shell --rule git-discard   one rule

The numbers are from the log. EVIDENCE is the strongest that it has of a hook: configured, observed (it ran) or enforced
(it denied something), and for which agent. Events of hookline fire, test and the like are no evidence. A hook is on,
off because the settings do not enable hooks, disabled, untrusted, changed since it was trusted, refused because
hooksConfig.trust is strict, or a duplicate of a hook that runs instead; only hooks that are on run. If one group is
sequential, all hooks that run together with it run in sequence; the order is "either" where that depends on the tool.
Functions that a program registers in code are in no settings file; those that the log has seen are listed below.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from hookline.apps.cli.options import add_common_options, event_of, make_config
from hookline.apps.cli.report.printer import print_lines, print_report
from hookline.apps.cli.report.style import style
from hookline.apps.cli.report.text import screen_width, show_dialect, show_policy, show_ways, trust_advice, wrap
from hookline.client.config import Config
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.inspect.foreign_settings import bridge_lines, unread_lines, unread_report
from hookline.inspect.hooks import known_hooks
from hookline.inspect.view import read_setup
from hookline.protocol.constants import OWN_AGENT, FiredBy
from hookline.protocol.text.readable import (
    HOOKS_DISABLED,
    cut,
    one_line,
    plural,
    show_ago,
    show_evidence,
    show_message,
    show_ms,
    show_place,
)
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.apps.cli.commands.list import packs
    from hookline.apps.cli.report import proof
    from hookline.inspect.proof import coverage
    from hookline.log.read.statistics import Statistics
    from hookline.settings.trust import store
else:
    packs = lazy_module("hookline.apps.cli.commands.list.packs")
    proof = lazy_module("hookline.apps.cli.report.proof")
    coverage = lazy_module("hookline.inspect.proof.coverage")
    store = lazy_module("hookline.settings.trust.store")

_MAX_CELL = 48

Hook = dict[str, Any]

_COLUMNS: tuple[tuple[str, Callable[[Hook], str]], ...] = (
    ("HOOK", lambda hook: one_line(hook["hook"])),
    ("STATE", lambda hook: hook["state"]),
    ("MATCHER", lambda hook: one_line(hook["matcher"] or "*")),
    ("TIMEOUT", lambda hook: show_ms(hook["timeout"])),
    ("ORDER", lambda hook: hook["order"]),
    ("RUNS", lambda hook: f"{hook['runs']}{show_ways(hook['ways'])}"),
    ("FAILED", lambda hook: str(hook["failures"])),
    ("MEDIAN", lambda hook: show_ms(hook["median"])),
    ("P95", lambda hook: show_ms(hook["p95"])),
    ("LAST RUN", lambda hook: show_ago(hook["lastRun"])),
    ("EVIDENCE", lambda hook: _evidence(hook["words"])),
    ("FROM", lambda hook: one_line(show_place(hook["file"], hook["line"]))),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--event", metavar="EVENT", help="only the hooks of this event")
    parser.add_argument(
        "--packs", metavar="PACK", nargs="?", const="", help="the packs that come with hookline, or the rules of one"
    )
    parser.add_argument("--rule", metavar="ID", help="with --packs PACK: this rule alone")
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Print the hooks, or the packs."""
    if given.packs is not None:
        return packs.list_packs(given)
    if given.rule is not None:
        raise UsageError("of which pack? Write, for example, hookline list --packs shell --rule git-discard")
    event = event_of(given.event) if given.event is not None else None
    config = make_config(given)
    known = known_hooks(config)
    for problem in known.problems:
        warn_user(problem)
    configured, in_programs, statistics, _ = known
    hooks = [hook for hook in configured if event in (None, hook["event"])]
    functions = [hook for hook in in_programs if event in (None, hook["event"])]
    enabled = config.get_enable_hooks()
    settings = config.get_settings()
    unused = [] if event else [asdict(hook) for hook in settings.unused]
    unread = unread_report(config)
    report: dict[str, Any] = {
        "enabled": enabled,
        "hooks": hooks,
        "functions": functions,
        "unused": unused,
        "bridges": [
            {"event": hook.event.value, "file": hook.origin, "dialect": hook.dialect} for hook in settings.bridges
        ],
        "unread": unread,
        "agents": _agents(config, statistics),
    }
    print_report(given, report, (*_lines(hooks, enabled=enabled), *_function_lines(functions), *_unused_lines(unused)))
    if not hooks and not unused and not given.json:
        print_lines(f"No hook of {event} is configured." if configured else _why_none(config))
    if not given.json:
        print_lines(*map(style.dim, bridge_lines(settings.bridges)), *map(style.warn, unread_lines(unread)))
        if report["agents"]:
            print_lines("", *proof.word_lines(report["agents"]))
    return 0


def _agents(config: Config, statistics: "Statistics") -> list[dict[str, Any]]:
    """Configured, observed and enforced for each agent; nothing where no other agent has ever asked."""
    if not statistics.agents.keys() - {OWN_AGENT, *FiredBy}:
        return []
    return coverage.agent_words(Path(config.get_working_dir()), statistics, hooks_enabled=config.get_enable_hooks())


def _evidence(words: Mapping[str, Any]) -> str:
    """The strongest of the three words, with its date."""
    for word in ("enforced", "observed"):
        if words[word]:
            return show_evidence(word, words[word], words[f"{word}By"])
    return "configured" if words["configured"] else "none"


def _why_none(config: Config) -> str:
    problems = len(read_setup(config).problems)
    if problems:
        return f"No usable hook is configured; hookline check shows {plural(problems, 'problem')} in the settings."
    return "No hooks are configured; hookline init writes a first one."


def _lines(hooks: Sequence[Hook], *, enabled: bool) -> Iterator[str]:
    if not enabled:
        yield from map(style.warn, wrap(HOOKS_DISABLED, ""))
    if not hooks:
        return
    titles = [title for title, _ in _COLUMNS]
    rows = [[cut(show(hook), _MAX_CELL) for _, show in _COLUMNS] for hook in hooks]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    fits = sum(widths) + 2 * len(widths) <= screen_width()
    if fits:
        yield style.dim(_row(titles, widths))
    for event, of_event in groupby(zip(hooks, rows, strict=True), key=lambda pair: pair[0]["event"]):
        yield style.bold(event)
        for hook, cells in of_event:
            if fits:
                yield _row(cells, widths, hook)
            else:
                yield from _block(cells, hook)
            yield from _remarks(hook)
    if refused := sum(hook["state"] == "refused" for hook in hooks):
        yield ""
        why = "because hooksConfig.trust is strict; name their files plainly"
        yield from map(style.warn, wrap(f"{plural(refused, 'trusted hook')} will not run, {why}", ""))
    if waiting := sum(hook["state"] in ("untrusted", "changed") for hook in hooks):
        yield ""
        yield from map(style.warn, wrap(trust_advice(waiting), ""))


def _function_lines(functions: Sequence[Hook]) -> Iterator[str]:
    if functions:
        yield "Functions that programs registered, as far as the log has seen them:"
    for hook in functions:
        name, place = one_line(hook["hook"]), one_line(hook["function"])
        yield cut(f"  {hook['event']} {name}{'' if name == place else f' ({place})'}", screen_width())
        runs = f"runs {hook['runs']}, failed {hook['failures']}, median {show_ms(hook['median'])}"
        yield style.dim(f"    {runs}, last {show_ago(hook['lastRun'])}")


def _remarks(hook: Hook) -> Iterator[str]:
    if "dialect" in hook:
        yield style.dim(f"    {show_dialect(hook)}")
    if "policyVersion" in hook:
        yield style.dim(cut(f"    {show_policy(hook)}", screen_width()))
    elif "required" in hook:
        yield style.dim("    required: where it can't run, its event is blocked")
    if hook["disabledBy"]:
        yield style.dim(cut(f"    off by {one_line(hook['disabledBy'])}", screen_width()))
    if hook["problem"] and hook["trusted"]:
        yield style.warn(f"    {one_line(hook['problem'])}")
    if hook["uncovered"]:
        yield style.warn(f"    {_uncovered(hook)}")


def _unused_lines(unused: Sequence[Mapping[str, str]]) -> Iterator[str]:
    if unused:
        yield ""
        yield style.warn(f"{plural(len(unused), 'hook')} never run{'s' if len(unused) == 1 else ''}:")
    for hook in unused:
        yield f"  {one_line(hook['label'])}  {show_message(hook['reason'])}"
        yield style.dim(f"    {one_line(hook['origin'])}: {one_line(hook['location'])}")


def _row(cells: Sequence[str], widths: Sequence[int], hook: Hook | None = None) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    if hook:
        padded[1] = _paint_state(padded[1], hook)
        padded[6] = style.bad(padded[6]) if hook["failures"] else padded[6]
    return f"  {'  '.join(padded)}".rstrip()


def _block(cells: Sequence[str], hook: Hook) -> Iterator[str]:
    """The same on a narrow screen, in several lines."""
    name, state, *options, runs, failed, median, p95, last, evidence, place = cells
    width = screen_width()
    yield f"  {style.bold(cut(name, width - 14))}  {_paint_state(state, hook)}"
    yield from wrap("matcher {}, timeout {}, {}".format(*options), "    ")
    if hook["runs"]:
        yield from wrap(f"runs {runs}, failed {failed}, median {median}, p95 {p95}, last {last}, {evidence}", "    ")
    else:
        yield "    never run"
    yield style.dim(f"    {place}")


def _uncovered(hook: Hook) -> str:
    return one_line(store.show_uncovered(hook["uncovered"]))


def _paint_state(text: str, hook: Hook) -> str:
    return {"on": style.good, "disabled": style.dim}.get(hook["state"], style.warn)(text)
