import asyncio
import os
from collections import UserDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookline.engine.run import HookRunner, Inherited
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry

NAMES = ("LLXPRT_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR")


def hook(command: str) -> HookEntry:
    return HookEntry(
        event=HookEventName.BEFORE_TOOL, source=ConfigSource.USER, origin="o", location="l", run=CommandLine(command)
    )


def told(project: Path) -> dict[str, Any]:
    """An event's input, as far as the runner looks at it."""
    return {"session_id": "s1", "cwd": str(project)}


@pytest.mark.req("HOOK-188")
def test_what_hooks_inherit() -> None:
    """The environment as it is, with the project's directory in three variables that hooks can't change."""
    inherited = Inherited({"A": "1", "CLAUDE_PROJECT_DIR": "elsewhere"}).in_directory("/p")
    assert inherited == {"A": "1", **dict.fromkeys(NAMES, "/p")}


def test_the_same_object_while_nothing_changes() -> None:
    """Runners encode it only once; a change, or another directory, makes another one."""
    environ = {"A": "1"}
    inherited = Inherited(environ)
    first = inherited.in_directory("/p")
    assert inherited.in_directory("/p") is first
    environ["A"] = "2"
    assert inherited.in_directory("/p")["A"] == "2"
    assert inherited.in_directory("/q")[NAMES[0]] == "/q"


def test_only_what_passes_is_passed_on() -> None:
    """Names are chosen also among variables that come later; the project's directory always passes."""
    environ = {"KEEP": "1", "MY_TOKEN": "2"}
    inherited = Inherited(environ, lambda name: not name.endswith("_TOKEN"))
    assert inherited.in_directory("/p") == {"KEEP": "1", **dict.fromkeys(NAMES, "/p")}
    environ |= {"LATE": "3", "LATE_TOKEN": "4"}
    assert inherited.in_directory("/p") == {"KEEP": "1", "LATE": "3", **dict.fromkeys(NAMES, "/p")}


def test_entries_that_no_environment_can_hold_are_left_out() -> None:
    """One odd entry does not cost every guard."""
    odd: dict[Any, Any] = {
        "": "1",
        "A=B": "1",
        "A\0": "1",
        "NUL": "\0",
        "NUMBER": 5,
        7: "x",
        b"BYTES": b"ok",
        "OK": "ok",
    }
    assert Inherited(odd).in_directory("/p") == {"OK": "ok", **dict.fromkeys(NAMES, "/p")}


def test_hooks_inherit_the_environment_as_it_is_now(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is set, changed or removed between two events is so for the hooks of the second."""
    runner = HookRunner()
    seen = []
    for value in ("one", "two", None):
        if value is None:
            monkeypatch.delenv("HOOKLINE_TEST_WORD")
        else:
            monkeypatch.setenv("HOOKLINE_TEST_WORD", value)
        show = hook('echo "${HOOKLINE_TEST_WORD-gone}"')
        (result,) = asyncio.run(runner.execute_hooks_parallel([show], told(project)))
        seen.append(result.stdout.strip())
    assert seen == ["one", "two", "gone"]


def test_a_changed_environment_is_seen_by_the_next_hooks(project: Path, tmp_path: Path) -> None:
    """The environment and the directory of hooks are read at every event."""
    environ = {**os.environ, "COLOUR": "one"}
    runner = HookRunner(environ=environ)
    printing = [hook('echo "$COLOUR $CLAUDE_PROJECT_DIR"')]

    def said(where: Path) -> str:
        return asyncio.run(runner.execute_hooks_parallel(printing, told(where)))[0].stdout

    assert said(project) == f"one {project}\n"
    environ["COLOUR"] = "two"
    assert [said(project), said(tmp_path)] == [f"two {project}\n", f"two {tmp_path}\n"]


class _Blunt(UserDict[str, str]):
    def __eq__(self, other: object) -> bool:
        return self.data == other.data  # type: ignore[attr-defined,no-any-return]

    __hash__ = None  # type: ignore[assignment]


class _Computed(dict[str, str]):
    """Has other values than it holds."""

    turn = 0

    def __getitem__(self, name: str) -> str:
        return str(self.turn) if name == "COLOUR" else super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        self.turn += 1
        return iter([*super().__iter__(), "COLOUR"])

    def keys(self) -> Any:
        return list(self)


class _Odd:
    def __eq__(self, other: object) -> bool:
        raise TypeError("can't be compared")

    __hash__ = None  # type: ignore[assignment]


def test_an_environment_with_its_own_ideas_costs_no_guard(project: Path) -> None:
    """It is asked for its variables only, never whether it is equal to something."""
    show = [hook('echo "${COLOUR-none}"; exit 2')]

    def seen(environ: Any) -> list[tuple[int | None, str]]:
        runner = HookRunner(environ=environ)
        results = []
        for _ in range(2):
            (result,) = asyncio.run(runner.execute_hooks_parallel(show, told(project)))
            results.append((result.exit_code, result.stdout.strip()))
            if type(environ) is dict:
                environ["ODD"] = _Odd()
        return results

    assert seen(_Blunt(os.environ, COLOUR="red")) == [(2, "red")] * 2
    assert seen(_Computed(os.environ)) == [(2, "1"), (2, "2")]
    assert seen({**os.environ, "ODD": _Odd()}) == [(2, "none")] * 2


def test_a_thread_that_changes_the_environment_costs_no_hook() -> None:
    """A variable that is removed while the environment is read is left out."""

    class Changing(dict[bytes, bytes]):
        """Loses its variables between the look at their names and the look at their values."""

        def __iter__(self) -> Iterator[bytes]:
            names = list(super().__iter__())
            self.clear()
            return iter(names)

    environ: Any = os._Environ[Any](Changing({b"A": b"1"}), os.fsencode, os.fsdecode, os.fsencode, os.fsdecode)
    assert Inherited(environ).in_directory("/p") == dict.fromkeys(NAMES, "/p")
