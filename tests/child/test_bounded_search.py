import asyncio
import sys
import time
from pathlib import Path

import pytest

from hookline.child import bounded_search
from hookline.child.bounded_search import search, search_async
from hookline.child.limit import LIMIT

SLOW = "^(a+)+$"
LONG = "a" * 60 + "!"


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known from earlier tests, and a busy machine has its time."""
    monkeypatch.setattr(bounded_search, "_PROCESS_S", 30.0)
    monkeypatch.setattr(bounded_search, "_results", {})
    monkeypatch.setattr(bounded_search, "_too_slow", set())


@pytest.mark.parametrize(("name", "found"), [("read_many_file", True), ("read_many_files", False), ("\ud800", None)])
def test_both_searches_give_the_same(name: str, found: bool | None) -> None:
    """A name that can't be searched gives None, as a search that takes too long does."""
    assert asyncio.run(search_async("^([a-z]+_)+file$", name)) is found
    assert search("^([a-z]+_)+file$", name) is found


def test_the_loop_goes_on_during_a_search_that_takes_too_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Half a second of searching is no pause for others, and the next name is not even tried."""

    async def main() -> tuple[bool | None, int, bool | None]:
        searching = asyncio.create_task(search_async(SLOW, LONG))
        turns = 0
        while not searching.done():
            await asyncio.sleep(0.005)
            turns += 1
        monkeypatch.setattr(bounded_search, "_PROGRAM", f"open({str(tmp_path / 'tried')!r}, 'w').close()")
        again = await search_async(SLOW, LONG + "!")
        return await searching, turns, again

    result, turns, again = asyncio.run(main())
    assert (result, again) == (None, None)
    assert turns > 5
    assert not (tmp_path / "tried").exists()


def test_results_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one of the two has found, the other need not search."""
    assert asyncio.run(search_async("^(x+)+$", "xxx")) is True
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert search("^(x+)+$", "xxx") is True
    assert search("^(x+)+$", "xxxx") is None


def test_a_cancelled_search_leaves_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The process is killed before the cancellation propagates; the fixture for all tests looks for children."""
    program = f"import os, time; open({str(tmp_path / 'ready')!r}, 'w').close(); time.sleep(60)"
    monkeypatch.setattr(bounded_search, "_PROGRAM", program)

    async def main() -> float:
        searching = asyncio.create_task(search_async("x", "x"))
        while not (tmp_path / "ready").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        began = time.monotonic()
        searching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searching
        return time.monotonic() - began

    assert asyncio.run(main()) < 30
    assert LIMIT.running == 0


def test_a_search_is_bounded_even_if_its_process_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor time does not count while it sleeps, but the clock does."""
    monkeypatch.setattr(bounded_search, "_PROGRAM", "import time; time.sleep(60)")
    monkeypatch.setattr(bounded_search, "_PROCESS_S", 0.5)
    began = time.monotonic()
    assert asyncio.run(search_async("x", "x")) is None
    assert time.monotonic() - began < 30
