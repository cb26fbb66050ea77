import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

TRACE = Path(__file__).resolve().parents[2] / "tools" / "trace.py"

REQUIREMENTS = """\
# Requirements

| id | what holds | where |
|---|---|---|
| HOOK-001 | It begins. | engine |
| HOOK-016a | It proceeds. | engine |
| DELTA-HBUS-001 | It speaks. | agent |

| id | merged into |
|---|---|
| HOOK-121 | HOOK-001 |
"""

ALL_ENGINE_IDS = """
    import pytest

    pytestmark = pytest.mark.req("HOOK-001")

    @pytest.mark.parametrize("case", [pytest.param(1, marks=pytest.mark.req("HOOK-016a"), id="one"), 2])
    def test_cases(case): ...
"""


@dataclass(frozen=True, slots=True)
class ScratchProject:
    """A separate project with a page of requirements and one test file."""

    root: Path

    def trace(self, test_file: str, requirements: str = REQUIREMENTS) -> tuple[int, list[str]]:
        """Run the tool and return its exit code and its output."""
        (self.root / "docs" / "requirements.md").write_text(requirements)
        (self.root / "tests" / "test_it.py").write_text(dedent(test_file))
        # The scratch project does not get the options of this run.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        command = [sys.executable, str(TRACE), "--requirements", "docs/requirements.md", "--tests", "tests"]
        done = subprocess.run(
            command,
            cwd=self.root,
            env=environment,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return done.returncode, done.stdout.splitlines()


@pytest.fixture
def project(tmp_path: Path) -> ScratchProject:
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = req: requirement ids\naddopts = --strict-markers\n")
    return ScratchProject(tmp_path)


def test_agent_ids_without_a_test_are_pending(project: ScratchProject) -> None:
    """With every engine id proven, by a module, a test or a case, an open agent id is listed and does not fail."""
    assert project.trace(ALL_ENGINE_IDS) == (
        0,
        ["3 requirements: 2 proven, 1 pending with the agent", "  pending: DELTA-HBUS-001"],
    )


def test_an_engine_id_without_a_test_fails(project: ScratchProject) -> None:
    """A live id that the engine should prove, and no test carries, is named and fails."""
    test_file = """
        import pytest

        @pytest.mark.req("HOOK-001", "DELTA-HBUS-001")
        def test_both(): ...
    """
    assert project.trace(test_file) == (
        1,
        ["3 requirements: 2 proven, 0 pending with the agent, 1 without a test", "  without a test: HOOK-016a"],
    )


@pytest.mark.parametrize("marker", ["skip", "xfail"])
def test_a_test_that_cannot_fail_proves_nothing(project: ScratchProject, marker: str) -> None:
    """A skipped test, or one that is expected to fail, does not count."""
    test_file = f"""
        import pytest

        @pytest.mark.{marker}
        @pytest.mark.req("HOOK-001", "HOOK-016a", "DELTA-HBUS-001")
        def test_nothing(): ...
    """
    assert project.trace(test_file) == (
        1,
        [
            "3 requirements: 0 proven, 1 pending with the agent, 2 without a test",
            "  without a test: HOOK-001",
            "  without a test: HOOK-016a",
            "  pending: DELTA-HBUS-001",
        ],
    )


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("HOOK-999", "not in the requirements", id="unknown"),
        pytest.param("hook-001", "not in the requirements", id="misspelt"),
        pytest.param("HOOK-121", "merged into HOOK-001", id="merged"),
    ],
)
def test_a_marker_with_a_wrong_id_fails(project: ScratchProject, name: str, problem: str) -> None:
    """An id that the page does not have, or has merged, is named with the test that carries it, and fails."""
    test_file = f"{ALL_ENGINE_IDS}\n    @pytest.mark.req('DELTA-HBUS-001', '{name}')\n    def test_wrong(): ...\n"
    assert project.trace(test_file) == (
        1,
        [
            "3 requirements: 3 proven, 0 pending with the agent, 1 unknown in markers",
            f"  {problem}: {name} (tests/test_it.py::test_wrong)",
        ],
    )


def test_tests_that_cannot_be_collected_fail(project: ScratchProject) -> None:
    """A broken test file is an error with pytest's own explanation, never a shorter list of tests."""
    code, lines = project.trace("import nowhere_to_be_found")
    assert (code, lines[-1]) == (1, "the tests in tests could not be collected; fix the errors above first")
    assert any("nowhere_to_be_found" in line for line in lines)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        pytest.param("| HOOK-001 | Again. | engine |", "HOOK-001 is listed twice; remove one of the rows", id="twice"),
        pytest.param(
            "| HOOK-002 | Ends. | moon |",
            "HOOK-002 needs the cells `id | what holds | engine` (or `agent`)",
            id="place",
        ),
        pytest.param(
            "| HOOK-002 | | engine |", "HOOK-002 needs the cells `id | what holds | engine` (or `agent`)", id="empty"
        ),
    ],
)
def test_a_malformed_row_fails(project: ScratchProject, row: str, complaint: str) -> None:
    """A row that cannot be read is reported with its line, not passed over."""
    requirements = f"{REQUIREMENTS}{row}\n"
    line = len(requirements.splitlines())
    assert project.trace(ALL_ENGINE_IDS, requirements=requirements) == (
        1,
        [f"docs/requirements.md:{line}: {complaint}"],
    )


def test_a_page_without_requirements_fails(project: ScratchProject) -> None:
    """An empty page is a mistake, not a project without gaps."""
    assert project.trace(ALL_ENGINE_IDS, requirements="# Requirements\n") == (
        1,
        ["docs/requirements.md: no requirements found; each is a row `id | what holds | where` of a table"],
    )
