"""`hookline` alone: the state of this directory in five lines."""

from collections.abc import Iterator
from pathlib import Path

from hookline.apps.cli.report.printer import print_lines
from hookline.apps.cli.report.style import style
from hookline.client.config import Config
from hookline.errors import HooklineError
from hookline.inspect.hooks import recorded_in, trust_states
from hookline.inspect.view import Setup, read_setup
from hookline.log.read.entry import LogEntry, LogQuery
from hookline.log.read.reader import LogReader
from hookline.protocol.text.readable import one_line, plural, show_ago, show_place
from hookline.settings.read.project import find_project

_EVENTS = frozenset({"event"})


def print_state() -> int:
    """Print whether hooks are on, how many, their trust, the last event and the next step."""
    config = Config(find_project(".").directory, quiet=True, log_file=False)
    print_lines(*_lines(config, read_setup(config)))
    return 0


def _lines(config: Config, setup: Setup) -> Iterator[str]:
    hooks, active = len(setup.hooks), len(list(setup.active()))
    states = trust_states(setup)
    waiting = sum(states[id(hook)] in ("new", "changed") for hook in setup.active())
    last = _last_event(config)
    switch = style.good("on") if setup.is_enabled else style.warn("off")
    yield f"Hooks       {switch} in {show_place(setup.project_dir)}"
    yield f"Configured  {plural(hooks, 'hook')}" + (f", {hooks - active} disabled" if hooks > active else "")
    trust = style.warn(f"{plural(waiting, 'hook')} not trusted") if waiting else "no hook waits for trust"
    yield f"Trust       {trust}"
    yield f"Last event  {_show(last)}"
    yield f"Next        {_next_step(setup, hooks, waiting, last)}; hookline --help lists the commands"


def _last_event(config: Config) -> LogEntry | None:
    """The newest event of this project; None if the log has none, or can't be read."""
    project = str(Path(config.get_working_dir()).resolve())
    try:
        with LogReader(recorded_in(config)) as reader:
            found = reader.newest(LogQuery(kinds=_EVENTS, project=project), 1)
    except HooklineError:
        return None
    return found[0] if found else None


def _show(entry: LogEntry | None) -> str:
    if entry is None:
        return "none"
    about = " ".join(filter(None, (entry.event, entry.subject)))
    return f"{show_ago(entry.time)}: {one_line(about)} {entry.word}"


def _next_step(setup: Setup, hooks: int, waiting: int, last: LogEntry | None) -> str:
    if not hooks:
        return "hookline check" if setup.problems else "hookline init"
    if not setup.is_enabled:
        return "hookline doctor"
    if waiting:
        return "hookline trust"
    return "hookline doctor" if last is None else "hookline log"
