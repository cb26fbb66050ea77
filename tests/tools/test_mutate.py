import importlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "mutate.py"

# Each mutant is a test run of its own.
pytestmark = pytest.mark.timeout(120)

SOURCE = '''\
def add(one, other):
    """The sum."""
    return one + other


def half(number):
    assert number % 2 == 0
    return number // 2
'''

TESTS = """\
import subprocess
import sys

import pytest

from tiny.numbers import add, half


@pytest.mark.req("R-1")
def test_add():
    assert add(1, 2) == 3


@pytest.mark.req("R-1", "R-2")
@pytest.mark.parametrize("number", [2, pytest.param(4, marks=pytest.mark.req("R-3"))])
def test_half(number):
    assert half(number) == number // 2


@pytest.mark.req("R-4")
def test_anything():
    assert half


@pytest.mark.req("R-5")
def test_a_program():
    program = "import tiny.numbers as n; print(n.add(1, 2))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "3\\n"
"""

ADD = 'find = "one + other"\nreplace = "one - other"'
HALF = 'find = "number // 2"\nreplace = "number"'


MUTANTS = {
    "a test of it fails": ('"R-1"', "numbers.py", ADD),
    "a case of a test fails": ('"R-3"', "numbers.py", HALF),
    "a program that a test runs is another": ('"R-5"', "numbers.py", ADD),
    "its tests do not look": ('"R-4"', "numbers.py", ADD),
    "two of three notice": ('["R-1", "R-2", "R-4"]', "numbers.py", HALF),
    "the text is another now": ('"R-1"', "numbers.py", 'find = "return one - other"\nreplace = ""'),
    "the text is there twice": ('"R-1"', "numbers.py", 'find = "return"\nreplace = ""'),
    "the text is the same": ('"R-1"', "numbers.py", 'find = "half"\nreplace = "half"'),
    "the text is elsewhere": ('"R-1"', "sums.py", ADD),
    "no Python": ('"R-1"', "numbers.py", 'find = "return one + other"\nreplace = "return ("'),
    "no test": ('"R-9"', "numbers.py", ADD),
}


def entry(requirement: str, file: str, change: str) -> str:
    return f"[[mutant]]\nrequirement = {requirement}\nfile = '{file}'\n{change}\n"


@dataclass(frozen=True, slots=True)
class TinyProject:
    """A project of its own with one module and its tests."""

    root: Path

    def mutate(self, mutants: str, *options: str) -> tuple[int, str]:
        """Runs the tool on the project; gives its exit code and what it printed."""
        (self.root / "mutants.toml").write_text(mutants)
        places = ["--root", ".", "--package", "src/tiny", "--mutants", "mutants.toml", "--jobs", "1"]
        done = subprocess.run(
            [sys.executable, str(TOOL), *places, *options],
            cwd=self.root,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return done.returncode, done.stdout

    def files(self) -> dict[str, bytes]:
        """All that is in it, but for the list of mutants."""
        files = (file for file in self.root.rglob("*") if file.is_file() and file.name != "mutants.toml")
        return {str(file): file.read_bytes() for file in files}


@pytest.fixture
def tiny(tmp_path: Path) -> TinyProject:
    root = tmp_path / "tiny"
    for path, text in {
        "src/tiny/__init__.py": "",
        "src/tiny/numbers.py": SOURCE,
        "tests/test_numbers.py": TESTS,
        "pytest.ini": "[pytest]\nmarkers = req: requirement ids\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return TinyProject(root)


def verdicts(output: str) -> list[tuple[str, str]]:
    """Each requirement with what became of its mutant, in the order of the reports."""
    reports = re.findall(r"^\[\d+/\d+\] (\S+(?: \S+)*?) {2,}(\S+)", output, re.MULTILINE)
    return [(name, verdict) for verdict, name in reports]


EXPECTED = [
    *(("R-1", "killed"), ("R-3", "killed"), ("R-5", "killed")),
    ("R-4", "SURVIVED"),
    *(("R-1", "killed"), ("R-2", "killed"), ("R-4", "SURVIVED")),
    *[("R-1", "does not apply")] * 4,
    *(("R-1", "error"), ("R-9", "error")),
]


# What is said of them: the mutant, the test that noticed, or why it could not be tried and what was probably meant.
EXPLANATIONS = [
    "killed          R-1              numbers.py: one + other",
    "tests/test_numbers.py::test_half[4]",
    "the text does not exist\n    similar: numbers.py:3: return one + other",
    "the text occurs 2 times; make it longer",
    "the replacement is the same text",
    "the file does not exist\n    it is in numbers.py",
    "SyntaxError",
    "no test carries this requirement",
    "\n11 mutants of 6 requirements: 5 killed, 2 SURVIVED, 4 does not apply, 2 error; ",
]


def test_what_becomes_of_each_mutant(tiny: TinyProject) -> None:
    """Only tests of its own requirements kill a mutant, what can't be tried is no success, and only copies change."""
    before = tiny.files()
    code, output = tiny.mutate("".join(entry(*mutant) for mutant in MUTANTS.values()), "--unchecked")
    assert (code, verdicts(output)) == (1, EXPECTED)
    assert [said for said in EXPLANATIONS if said not in output] == []
    assert tiny.files() == before


def test_mutants_can_be_checked_without_running_them(tiny: TinyProject) -> None:
    """`--apply-only` names those that do not apply, at once."""
    code, output = tiny.mutate("".join(entry(*mutant) for mutant in MUTANTS.values()), "--apply-only")
    assert (code, verdicts(output)) == (1, [("R-1", "does not apply")] * 4)
    assert output.endswith("7 of 11 mutants apply\n")


def test_tests_must_pass_on_the_source_as_it_is(tiny: TinyProject) -> None:
    """A test that fails anyway would kill every mutant, so it stops the run."""
    (tiny.root / "src/tiny/numbers.py").write_text(SOURCE.replace("number // 2", "number // 2 + 1"))
    code, output = tiny.mutate(entry('"R-2"', "numbers.py", ADD))
    assert code == 1
    assert output.endswith("the tests do not pass on the source as it is; fix them first\n")


def test_mutants_can_be_chosen(tiny: TinyProject) -> None:
    """`--only` takes a requirement and `--file` a part of a path; all killed is a success."""
    mutants = entry('["R-1", "R-2"]', "numbers.py", HALF) + entry('"R-4"', "numbers.py", ADD)
    code, output = tiny.mutate(mutants, "--only", "R-2", "--file", "numb")
    assert (code, verdicts(output)) == (0, [("R-2", "killed")])
    assert tiny.mutate(mutants, "--only", "R-9") == (1, "mutants.toml: there is no such mutant\n")


def test_an_entry_that_lacks_something_fails(tiny: TinyProject) -> None:
    """An entry without one of its four fields is reported with its number."""
    code, output = tiny.mutate("[[mutant]]\nrequirement = 'R-1'\nfile = 'numbers.py'\n")
    assert (code, output) == (1, "mutants.toml: mutant 1 lacks find, replace\n")


def test_every_listed_mutant_applies_to_the_source_as_it_is() -> None:
    """A mutant whose text is gone proves nothing, so moving code means moving its mutants, too."""
    sys.path.insert(0, str(TOOL.parent))
    try:
        mutate = importlib.import_module("mutate")
    finally:
        sys.path.remove(str(TOOL.parent))
    package = TOOL.parents[1] / "src" / "hookline"
    mutants = mutate.read_mutants(TOOL.with_name("mutants.toml"))
    stale = {str(mutant): why for mutant in mutants if (why := mutate.why_not_applicable(mutant, package))}
    assert len(mutants) > 300
    assert stale == {}
