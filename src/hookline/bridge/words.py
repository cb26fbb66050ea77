"""The words with which an agent runs the bridge: `hookline bridge AGENT [EVENT] [options]`."""

import argparse
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NoReturn

from hookline.bridge.judge import hosts
from hookline.errors import UsageError

# Ours is below the agent's own timeout (60 s): an answer that comes too late is none, and most agents go on then.
DEADLINE_S = 50.0


class Words(argparse.Namespace):
    """What the command line says."""

    agent: str
    event: str | None
    settings: list[str] | None
    deadline: float
    fail_open: bool
    no_serve: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raises, because the caller has to say no to the agent."""
        raise UsageError(message)


def _seconds(text: str) -> float:
    seconds = float(text)
    # Not `<`, which is false for nan.
    if not 0 <= seconds < math.inf:
        raise ValueError(text)
    return seconds


def parser(events: Iterable[str] | None = None) -> argparse.ArgumentParser:
    """The parser of an agent's words; `events` are the only ones that it takes, if they are given."""
    made = _Parser(
        prog="hookline bridge",
        description="Be the hook command of another agent: its question on stdin, our hooks, its answer on stdout.",
        epilog="Exit codes are the agent's own: 2 blocks. A bridge that breaks blocks, too, and says why on stderr.",
        allow_abbrev=False,
    )
    made.add_argument("agent", metavar="AGENT", choices=hosts(), help=f"the agent that asks: {', '.join(hosts())}")
    choices = None if events is None else tuple(events)
    made.add_argument(
        "event", metavar="EVENT", nargs="?", choices=choices, help="its event, if its input does not say which"
    )
    made.add_argument(
        "--settings",
        metavar="FILE",
        action="append",
        help="read only this settings file, and trust it (may be repeated)",
    )
    made.add_argument(
        "--deadline",
        metavar="SECONDS",
        type=_seconds,
        default=DEADLINE_S,
        help="refuse what the hooks have not judged by then; keep it below the agent's own timeout (default 50)",
    )
    made.add_argument("--fail-open", action="store_true", help="let the agent go on when this command breaks")
    made.add_argument("--no-serve", action="store_true", help="do the work in this process, and start no server")
    return made


@lru_cache(maxsize=64)
def read_words(words: tuple[str, ...]) -> Words:
    """What an agent's command line says; UsageError when it can't be understood."""
    return _the_parser().parse_args(words, Words())


@lru_cache(maxsize=1)
def _the_parser() -> argparse.ArgumentParser:
    return parser()


def fails_open(words: Sequence[str]) -> bool:
    """Whether words that can't be understood ask at least for this."""
    return "--fail-open" in words


def deadline_of(words: tuple[str, ...]) -> float:
    """The deadline that the words give, in seconds; the usual one if they can't be understood."""
    try:
        return read_words(words).deadline
    except UsageError:
        return DEADLINE_S
