"""Runs every test that is marked as an attack, and prints a table: the point, what was tried, held or broken.

    python tools/attacks.py [pytest options]

The exit code is 0 if all of them held. It is also the pytest plugin that collects the results.
"""

import os
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_WIDTH = 96


class AttackTable:
    """Collects what became of each attack, whichever worker ran it."""

    def __init__(self) -> None:
        self.results: dict[tuple[str, str], list[str]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds the outcome of one test; a skipped one held nothing."""
        for name, value in report.user_properties:
            # The call decides, unless setup or teardown fail.
            if name == "attack" and (report.when == "call" or report.outcome != "passed"):
                point, words = str(value).split(" ", 1)
                self.results[point, words].append(report.outcome)

    def lines(self) -> list[str]:
        """The table, in the order of the points."""
        rows = sorted(self.results.items(), key=lambda row: ([*map(_number, row[0][0].split("."))], row[0][1]))
        shown = [f"{'POINT':9} {'ATTACK':{_WIDTH}} {'TESTS':>5}  RESULT"]
        for (point, words), outcomes in rows:
            cut = words if len(words) <= _WIDTH else f"{words[: _WIDTH - 1]}…"
            shown.append(f"{point:9} {cut:{_WIDTH}} {len(outcomes):5}  {_result(outcomes)}")
        return shown


def _result(outcomes: list[str]) -> str:
    if "failed" in outcomes:
        return f"BROKEN ({outcomes.count('failed')})"
    return "held" if "passed" in outcomes else "skipped"


def _number(part: str) -> tuple[str, int]:
    """The place of a part of a point: `F2` comes before `F13`, and a number before a letter."""
    found = re.match(r"([A-Z]?)(\d+)", part)
    return (found[1], int(found[2])) if found else ("~", sys.maxsize)


class _Marking:
    """Runs in each worker: puts the marker's words into the report, and leaves out everything else."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        attacks: list[pytest.Item] = []
        others: list[pytest.Item] = []
        for item in items:
            marker = item.get_closest_marker("attack")
            if marker is not None:
                item.user_properties.append(("attack", " ".join(map(str, marker.args))))
            (others if marker is None else attacks).append(item)
        config.hook.pytest_deselected(items=others)
        items[:] = attacks


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin (`-p attacks`), which workers of xdist also load."""
    config.pluginmanager.register(_Marking())


def _files() -> list[Path]:
    """Where attacks are: each worker would take seconds to load all the other tests."""
    tests = _ROOT / "tests"
    elsewhere = [file for file in sorted(tests.rglob("test_*.py")) if "pytest.mark.attack(" in file.read_text()]
    return [tests / "attacks", *(file for file in elsewhere if file.parent.name != "attacks")]


def main(options: list[str]) -> int:
    """Runs the attacks and prints the table."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
    sys.path.insert(0, str(Path(__file__).parent))
    table = AttackTable()
    code = pytest.main(
        [
            "-q",
            "-p",
            "attacks",
            "--no-header",
            "-r",
            "fE",
            "-m",
            "not slow",
            "-n",
            str(2 * (os.cpu_count() or 1)),  # many of them wait
            "--dist",
            "worksteal",
            *options,
            *map(str, _files()),
        ],
        plugins=[table],
    )
    print(*table.lines(), sep="\n")
    broken = sum("failed" in outcomes for outcomes in table.results.values())
    print(f"\n{len(table.results)} attacks, {broken} broken")
    return int(code) or int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
