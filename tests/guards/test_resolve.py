"""Paths with patterns in tool calls: the files behind them are found, within a bound."""

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from hookline.guards.actions import NamedPath
from hookline.guards.resolve import located

MANY = 120


@pytest.mark.attack("30.F3", "a pattern of directories that walks through the whole machine")
def test_a_pattern_looks_at_a_bounded_number_of_entries(tmp_path: Path) -> None:
    """More than ten thousand entries: the pattern can't be judged."""
    for name in range(MANY * MANY):
        (tmp_path / f"{name // MANY}").mkdir(exist_ok=True)
        (tmp_path / f"{name // MANY}" / f"{name}").touch()
    read = 0

    def note(_: FrameType, event: str, function: Any) -> None:
        nonlocal read
        read += event == "c_call" and function in (os.listdir, os.scandir)

    sys.setprofile(note)
    try:
        found = located(NamedPath("*/*/*x", is_certain=True), str(tmp_path), str(tmp_path))
    finally:
        sys.setprofile(None)
    assert (found, read < MANY) == (None, True)


def test_the_files_behind_a_pattern_are_found(tmp_path: Path) -> None:
    (tmp_path / "a" / ".b").mkdir(parents=True)
    (tmp_path / ".env").touch()
    (tmp_path / "a" / ".b" / "c").symlink_to(tmp_path / ".env")
    (tmp_path / "d").symlink_to(tmp_path / "a")
    found = located(NamedPath("?/.[a-c]/*", is_certain=True), str(tmp_path), str(tmp_path))
    assert {f"{tmp_path}/d/.b/c", f"{tmp_path}/.env"} <= set(found or ())
