"""Compares the requirements of docs/requirements.md with the `req` markers of the tests."""

import argparse
import contextlib
import io
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Requirements:
    """The content of the page: where each live id is shown, and which ids were merged into which."""

    live: Mapping[str, str]
    merged: Mapping[str, str]


@dataclass(slots=True)
class MarkerCollector:
    """A pytest plugin that notes which tests carry which requirement ids."""

    tests: dict[str, set[str]] = field(default_factory=dict)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Reads the markers of everything that pytest would run."""
        for item in session.items:
            # A test that does not run, or is expected to fail, proves nothing.
            if item.get_closest_marker("skip") or item.get_closest_marker("xfail"):
                continue
            callspec = getattr(item, "callspec", None)
            for marker in item.iter_markers("req"):
                # A marker of one case speaks for that case alone, any other for the whole test.
                name = item.nodeid if callspec and marker in callspec.marks else item.nodeid.partition("[")[0]
                for requirement in marker.args:
                    self.tests.setdefault(str(requirement), set()).add(name)


@dataclass(frozen=True, slots=True)
class Trace:
    """How requirements and tests fit together."""

    requirements: Requirements
    tests: Mapping[str, set[str]]

    @property
    def missing(self) -> list[str]:
        """Ids that the engine should prove by now, and no test does."""
        return self._without_test("engine")

    @property
    def pending(self) -> list[str]:
        """Ids without a test that may wait for the agent."""
        return self._without_test("agent")

    @property
    def strangers(self) -> list[str]:
        """Ids in markers that the page does not have, or has merged."""
        return sorted(self.tests.keys() - self.requirements.live.keys())

    def _without_test(self, place: str) -> list[str]:
        return sorted(
            name for name, where in self.requirements.live.items() if where == place and name not in self.tests
        )

    def report(self) -> Iterator[str]:
        """The summary line, then one line per gap."""
        live, missing, pending, strangers = len(self.requirements.live), self.missing, self.pending, self.strangers
        counts = [f"{live - len(missing) - len(pending)} proven", f"{len(pending)} pending with the agent"]
        counts += [f"{len(missing)} without a test"] if missing else []
        counts += [f"{len(strangers)} unknown in markers"] if strangers else []
        yield f"{live} requirements: {', '.join(counts)}"
        yield from (f"  without a test: {name}" for name in missing)
        for name in strangers:
            successor = self.requirements.merged.get(name)
            problem = f"merged into {successor}" if successor else "not in the requirements"
            yield from (f"  {problem}: {name} ({test})" for test in sorted(self.tests[name]))
        if pending:
            yield f"  pending: {', '.join(pending)}"


# An id, such as HOOK-092, begins a row of a table.
_ROW = re.compile(r"\| [A-Z]+-[A-Z0-9-]+[a-z]? \|")


def read_requirements(path: Path) -> Requirements:
    """Reads the page's tables: three cells are a live requirement, two a merged one."""
    live: dict[str, str] = {}
    merged: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not _ROW.match(line):
            continue
        name, *cells = (cell.strip() for cell in line.strip("| ").split("|"))
        if name in live or name in merged:
            raise SystemExit(f"{path}:{number}: {name} is listed twice; remove one of the rows")
        match cells:
            case [successor]:
                merged[name] = successor
            case [text, "engine" | "agent" as place] if text:
                live[name] = place
            case _:
                raise SystemExit(f"{path}:{number}: {name} needs the cells `id | what holds | engine` (or `agent`)")
    if not live:
        raise SystemExit(f"{path}: no requirements found; each is a row `id | what holds | where` of a table")
    return Requirements(live, merged)


def collect_markers(tests: Path) -> dict[str, set[str]]:
    """Has pytest collect the tests, without running any, and gives the tests of each id."""
    collector, output = MarkerCollector(), io.StringIO()
    arguments = ["--collect-only", "-q", "--capture=no", "-p", "no:cacheprovider", str(tests)]
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = pytest.main(arguments, plugins=[collector])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(
            f"{output.getvalue()}\nthe tests in {tests} could not be collected; fix the errors above first"
        )
    return collector.tests


def main(arguments: list[str] | None = None) -> int:
    """Prints how requirements and tests fit together; 0 when they do, 1 when there are gaps."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="Exit code: 0 without gaps, 1 with gaps.")
    parser.add_argument("--requirements", type=Path, default=ROOT / "docs" / "requirements.md", metavar="FILE")
    parser.add_argument("--tests", type=Path, default=ROOT / "tests", metavar="DIR")
    options = parser.parse_args(arguments)

    trace = Trace(read_requirements(options.requirements), collect_markers(options.tests))
    print("\n".join(trace.report()))
    return 1 if trace.missing or trace.strangers else 0


if __name__ == "__main__":
    sys.exit(main())
