"""The words with which an agent runs the bridge: `hookline hook AGENT [EVENT] [options]`."""

import argparse
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NoReturn

from hookline.bridge.agents import HOSTS
from hookline.errors import UsageError

# Ours is below the agent's own timeout (60 s): an answer that comes too late is none, and most agents go on then.
DEADLINE_S = 50.0


class BridgeArguments(argparse.Namespace):
    """The parsed command line of the bridge."""

    agent: str
    event: str | None
    settings: list[str] | None
    deadline: float
    fail_open: bool
    no_serve: bool


class _BridgeParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raises, because the caller has to say no to the agent."""
        raise UsageError(message)


def _seconds(text: str) -> float:
    seconds = float(text)
    # Not `<`, which is false for nan.
    if not 0 <= seconds < math.inf:
        raise ValueError(text)
    return seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that an agent gives."""
    parser.add_argument("agent", metavar="AGENT", choices=HOSTS, help=f"the agent that asks: {', '.join(HOSTS)}")
    parser.add_argument("event", metavar="EVENT", nargs="?", help="its event, if its input does not say which")
    parser.add_argument(
        "--settings",
        metavar="FILE",
        action="append",
        help="read only this settings file, and trust it (may be repeated)",
    )
    parser.add_argument(
        "--deadline",
        metavar="SECONDS",
        type=_seconds,
        default=DEADLINE_S,
        help="refuse what the hooks have not judged by then; keep it below the agent's own timeout (default 50)",
    )
    parser.add_argument("--fail-open", action="store_true", help="let the agent go on when this command breaks")
    parser.add_argument("--no-serve", action="store_true", help="do the work in this process, and start no server")


@lru_cache(maxsize=64)
def parse_arguments(words: tuple[str, ...]) -> BridgeArguments:
    """Parse an agent's command line; raises UsageError if it is invalid."""
    return _the_parser().parse_args(words, BridgeArguments())


@lru_cache(maxsize=1)
def _the_parser() -> argparse.ArgumentParser:
    parser = _BridgeParser(prog="hookline hook", allow_abbrev=False)
    add_arguments(parser)
    return parser


def fails_open(words: Sequence[str]) -> bool:
    """True if a command line that can't be parsed has `--fail-open`."""
    return "--fail-open" in words


def deadline_of(words: tuple[str, ...]) -> float:
    """The deadline that the words give, in seconds; the usual one if they can't be understood."""
    try:
        return parse_arguments(words).deadline
    except UsageError:
        return DEADLINE_S
