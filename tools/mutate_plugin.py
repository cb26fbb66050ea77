"""The pytest plugin of mutate.py: runs only the tests of some requirements, on the right copy of the package."""

import sys
import threading
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds what mutate.py passes."""
    parser.addoption("--requirement", action="append", default=[], help="run only the tests that are marked with it")
    parser.addoption("--imports", help="refuse to run unless the package is imported from this directory")
    parser.addoption("--list-requirements", help="write to this file which test file carries which requirement")
    parser.addoption("--list-calls", help="write to this file which functions of the package each test calls")
    parser.addoption("--list-noticed", help="write to this file which requirements a test failed for; stop after all")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuses to run when the tests would import another copy of the package."""
    given = session.config.getoption("--imports")
    if given is None:
        return
    expected = Path(given).resolve()
    imported = Path(str(__import__(expected.name).__file__)).resolve().parent
    if imported != expected:
        pytest.exit(f"{expected.name} is imported from {imported}, not from {expected}", pytest.ExitCode.USAGE_ERROR)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps the tests that carry one of the requirements."""
    wanted = set(config.getoption("--requirement"))
    if wanted:
        items[:] = [item for item in items if wanted & _requirements_of(item)]
    if listing := config.getoption("--list-requirements"):
        carried = {f"{name}\t{item.nodeid.partition('::')[0]}\n" for item in items for name in _requirements_of(item)}
        Path(listing).write_text("".join(sorted(carried)), encoding="utf-8")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes the requirements of a failed test, and ends the run when a test of each has failed."""
    report = yield
    listing, wanted = item.config.getoption("--list-noticed"), set(item.config.getoption("--requirement"))
    if report.failed and listing:
        with Path(listing).open("a", encoding="utf-8") as file:
            file.writelines(f"{name}\t{item.nodeid}\n" for name in sorted(wanted & _requirements_of(item)))
        noticed = {line.partition("\t")[0] for line in Path(listing).read_text(encoding="utf-8").splitlines()}
        if noticed >= wanted:
            item.session.shouldfail = "a test of each requirement has failed"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Writes the functions of the package that a test, with its fixtures, calls in this process."""
    listing = item.config.getoption("--list-calls")
    if not listing:
        return (yield)
    package = f"{Path(item.config.getoption('--imports')).resolve()}/"
    calls: set[tuple[str, str]] = set()

    def on_call(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package):
            calls.add((code.co_filename.removeprefix(package), code.co_qualname.replace(".<locals>", "")))

    threading.setprofile(on_call)
    sys.setprofile(on_call)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        with Path(listing).open("a", encoding="utf-8") as file:
            file.writelines(f"{path}\t{function}\t{item.nodeid}\n" for path, function in sorted(calls))


def _requirements_of(item: pytest.Item) -> set[str]:
    return {str(name) for marker in item.iter_markers("req") for name in marker.args}
