"""Waiting in tests: for a condition, with a bound that only a fault reaches, whatever else the machine does."""

import asyncio
import time
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

LONG_S = 45.0
"""Below the time limit of a test, so that the message is ours."""

T = TypeVar("T")


def until(condition: Callable[[], T], what: str = "it", within_s: float = LONG_S) -> T:
    """Waits until this gives something true, and returns that."""
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.01)
    return found


async def until_async(condition: Callable[[], T], what: str = "it") -> T:
    """The same, while the event loop runs."""
    deadline = time.monotonic() + LONG_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen"
        await asyncio.sleep(0.005)
    return found


def run_async(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an asynchronous test in an event loop."""

    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(test(*given, **named))

    return run


def is_alive(pid: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descriptors() -> set[str]:
    """Return the open files of this process, with their numbers; those of other tests' threads come and go."""
    names: set[str] = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the descriptor of this very listing
            names.add(f"{entry.name} {entry.readlink()}")
    return names


def children() -> set[int]:
    """The ids of this process's children, zombies included."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # the thread has ended in between
            found.update(map(int, (task / "children").read_text().split()))
    return found


def with_enough_time(first_ms: float, reached: Path, attempt: Callable[[float], T]) -> T:
    """Run a hook with a deadline, and return its result if the hook had made the file `reached` before that.

    A busy machine starts a hook late. An attempt in which it had not come as far as the test needs shows nothing, so it
    is repeated with three times the time.
    """
    timeout_ms = first_ms
    while True:
        reached.unlink(missing_ok=True)
        outcome = attempt(timeout_ms)
        if reached.exists():
            return outcome
        assert timeout_ms < 10_000, f"{reached.name} does not appear, however much time there is"
        timeout_ms *= 3


@contextmanager
def traced() -> Iterator[None]:
    """Counts what Python allocates from here on: pages of the system would hide what fits into the room they have."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
