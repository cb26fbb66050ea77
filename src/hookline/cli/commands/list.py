"""`hookline list`: every configured hook, and what is known of it."""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from hookline.cli.event_argument import event_of
from hookline.cli.lint.setup import read_setup
from hookline.cli.options import add_settings_options, make_config, require_project
from hookline.cli.report.overview import KnownHook, known_hooks
from hookline.cli.report.style import Style
from hookline.cli.report.text import cut, one_line, plural, screen_width, show_ago, show_ms, show_place
from hookline.config import Config

_EXAMPLES = """\
examples:
  hookline list
  hookline list --event BeforeTool --json

The numbers are from the log. A hook is on, disabled, untrusted, changed since it was trusted, or a duplicate of one
that runs in its place; only those that are on run. One group that says sequential says it for all hooks that run
together with it; the order is either where that depends on the tool.
"""
_MAX_CELL = 48

_COLUMNS: tuple[tuple[str, Callable[[KnownHook], str]], ...] = (
    ("HOOK", lambda known: one_line(known.hook.label)),
    ("STATE", lambda known: known.state),
    ("MATCHER", lambda known: one_line(known.hook.matcher or "*")),
    ("TIMEOUT", lambda known: show_ms(known.hook.timeout_ms)),
    ("ORDER", lambda known: known.order),
    ("RUNS", lambda known: str(known.statistics.runs)),
    ("FAILED", lambda known: str(known.statistics.failures)),
    ("MEDIAN", lambda known: show_ms(known.statistics.durations.quantile(0.5))),
    ("P95", lambda known: show_ms(known.statistics.durations.quantile(0.95))),
    ("LAST RUN", lambda known: show_ago(known.statistics.last_run)),
    ("FROM", lambda known: show_place(known.file, known.line)),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = "List every configured hook by event: where it stands, whether it runs, and how it did so far."
    parser.epilog = _EXAMPLES
    parser.add_argument("--event", metavar="EVENT", help="only the hooks of this event")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
    add_settings_options(parser)


def run(given: argparse.Namespace) -> int:
    """Prints the hooks."""
    event = event_of(given.event) if given.event is not None else None
    require_project(given)
    config = make_config(given)
    configured = known_hooks(config)
    hooks = [known for known in configured if event in (None, known.hook.event)]
    if given.json:
        report = {"enabled": config.get_enable_hooks(), "hooks": [known.to_dict() for known in hooks]}
        print(json.dumps(report, indent=2))
    else:
        for line in _lines(hooks, Style.for_stdout(), enabled=config.get_enable_hooks()):
            print(line)
        if not hooks:
            print(f"No hook of {event} is configured." if configured else _why_none(config))
    return 0


def _why_none(config: Config) -> str:
    problems = len(read_setup(config).problems)
    if problems:
        return f"No usable hook is configured; hookline check shows {plural(problems, 'problem')} in the settings."
    return "No hooks are configured; hookline init writes a first one."


def _lines(hooks: Sequence[KnownHook], style: Style, *, enabled: bool) -> Iterator[str]:
    if not enabled:
        yield style.warn('Hooks are disabled: no settings file says "enableHooks": true. None of these run.')
    if not hooks:
        return
    widths = [max(len(title), *(len(cut(show(known), _MAX_CELL)) for known in hooks)) for title, show in _COLUMNS]
    fits = sum(widths) + 2 * len(widths) <= screen_width()
    if fits:
        titles = "  ".join(title.ljust(width) for (title, _), width in zip(_COLUMNS, widths, strict=True))
        yield style.dim(f"  {titles.rstrip()}")
    for event, of_event in groupby(hooks, key=lambda known: known.hook.event):
        yield style.bold(event.value)
        for known in of_event:
            yield from _row(known, widths, style) if fits else _block(known, style)
    waiting = sum(known.state in ("untrusted", "changed") for known in hooks)
    if waiting:
        yield ""
        yield style.warn(f"{plural(waiting, 'hook')} without trust: look and decide with hookline trust")


def _row(known: KnownHook, widths: Sequence[int], style: Style) -> Iterator[str]:
    cells = [cut(show(known), _MAX_CELL).ljust(width) for (_, show), width in zip(_COLUMNS, widths, strict=True)]
    cells[1] = _painted(known, cells[1], style)
    if known.statistics.failures:
        cells[6] = style.bad(cells[6])
    yield f"  {'  '.join(cells)}".rstrip()


def _block(known: KnownHook, style: Style) -> Iterator[str]:
    hook, statistics = known.hook, known.statistics
    width = screen_width()
    yield f"  {style.bold(cut(one_line(hook.label), width - 14))}  {_painted(known, known.state, style)}"
    yield "    " + cut(
        f"matcher {one_line(hook.matcher or '*')}, timeout {show_ms(hook.timeout_ms)}, {known.order}", width - 4
    )
    if statistics.runs:
        failed = f"{statistics.failures} failed"
        yield (
            f"    {plural(statistics.runs, 'run')}, {style.bad(failed) if statistics.failures else failed},"
            f" median {show_ms(statistics.durations.quantile(0.5))},"
            f" p95 {show_ms(statistics.durations.quantile(0.95))}, last {show_ago(statistics.last_run)}"
        )
    else:
        yield "    never run"
    yield style.dim(f"    {show_place(known.file, known.line)}")


def _painted(known: KnownHook, text: str, style: Style) -> str:
    return {"on": style.good, "disabled": style.dim}.get(known.state, style.warn)(text)
