import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Each mutant is a separate test run.
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

ADD = ("add", "return", "one - other")
HALF = ("half", "return", "number")


MUTANTS = {
    "a test of it fails": ('"R-1"', *ADD),
    "a case of a test fails": ('"R-3"', *HALF),
    "a program that a test runs is another": ('"R-5"', *ADD),
    "its tests do not look": ('"R-4"', *ADD),
    "two of three notice": ('["R-1", "R-2", "R-4"]', *HALF),
    "the old code is a part of the new": ('"R-2"', "half", "return", "_ + 1"),
    "a statement before the others": ('"R-2"', "half", "start", "number = 7"),
    "the second of two": ('"R-2"', "half", "constant 3", "1"),
    "the operator is not there": ('"R-1"', "add", "yield", "one"),
    "the operator is there three times": ('"R-1"', "half", "constant", "7"),
    "the code is the same": ('"R-1"', "half", "return", "_"),
    "the function has another name": ('"R-1"', "ad", "return", "one"),
    "no Python": ('"R-1"', "add", "return", "one +"),
    "no test": ('"R-9"', *ADD),
}


def entry(requirement: str, function: str, at: str, to: str) -> str:
    return f"[[mutant]]\nrequirement = {requirement}\nfunction = '{function}'\nat = '{at}'\nto = '{to}'\n"


@dataclass(frozen=True, slots=True)
class TinyProject:
    """A separate project with one module and its tests."""

    root: Path

    def mutate(self, mutants: str, *options: str) -> tuple[int, str]:
        """Runs the tool on the project; gives its exit code and what it printed."""
        (self.root / "mutants.toml").write_text(mutants)
        places = ["--root", ".", "--package", "src/tiny", "--mutants", "mutants.toml", "--jobs", "1"]
        done = subprocess.run(
            [sys.executable, "-m", "tools.mutate", *places, *options],
            cwd=self.root,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
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
    *[("R-2", "killed")] * 3,
    *[("R-1", "does not apply")] * 4,
    *(("R-1", "error"), ("R-9", "error")),
]


# Each explanation names the mutant, the test that noticed it, or why it could not be tried.
EXPLANATIONS = [
    "killed          R-1              add: return -> one - other",
    "tests/test_numbers.py::test_half[4]",
    "add has no 'yield'; it has: body, start, return",
    "half has 3 x 'constant'; write `constant NUMBER`",
    "the replacement is the same code",
    "no function ad\n    similar: add",
    "SyntaxError",
    "no test carries this requirement",
    "\n14 mutants of 6 requirements: 8 killed, 2 SURVIVED, 4 does not apply, 2 error; ",
]


def test_what_becomes_of_each_mutant(tiny: TinyProject) -> None:
    """Only tests of its requirements kill a mutant, one that can't be tried is a failure, and only copies change."""
    before = tiny.files()
    code, output = tiny.mutate("".join(entry(*mutant) for mutant in MUTANTS.values()), "--unchecked")
    assert (code, verdicts(output)) == (1, EXPECTED)
    assert [said for said in EXPLANATIONS if said not in output] == []
    assert tiny.files() == before


def test_mutants_can_be_checked_without_running_them(tiny: TinyProject) -> None:
    """`--apply-only` names those that do not apply, at once."""
    code, output = tiny.mutate("".join(entry(*mutant) for mutant in MUTANTS.values()), "--apply-only")
    assert (code, verdicts(output)) == (1, [("R-1", "does not apply")] * 4)
    assert output.endswith("10 of 14 mutants apply\n")


def test_tests_must_pass_on_the_source_as_it_is(tiny: TinyProject) -> None:
    """A test that fails anyway would kill every mutant, so it stops the run."""
    (tiny.root / "src/tiny/numbers.py").write_text(SOURCE.replace("number // 2", "number // 2 + 1"))
    code, output = tiny.mutate(entry('"R-2"', *ADD))
    assert code == 1
    assert output.endswith("the tests do not pass on the source as it is; fix them first\n")


def test_mutants_can_be_chosen(tiny: TinyProject) -> None:
    """`--only` takes a requirement and `--function` a part of a name; all killed is a success."""
    mutants = entry('["R-1", "R-2"]', *HALF) + entry('"R-4"', *ADD)
    code, output = tiny.mutate(mutants, "--only", "R-2", "--function", "hal")
    assert (code, verdicts(output)) == (0, [("R-2", "killed")])
    assert tiny.mutate(mutants, "--only", "R-9") == (1, "mutants.toml: there is no such mutant\n")


def test_an_entry_that_lacks_something_fails(tiny: TinyProject) -> None:
    """An entry without one of its four fields is reported with its number."""
    code, output = tiny.mutate("[[mutant]]\nrequirement = 'R-1'\nfunction = 'add'\n")
    assert (code, output) == (1, "mutants.toml: mutant 1 lacks at, to\n")


def test_trivial_mutants_are_generated(tiny: TinyProject) -> None:
    """`--generate` mutates only functions that a test of a requirement calls, and runs only those tests."""
    code, output = tiny.mutate("", "--generate", "100")
    assert code == 0
    assert sorted(re.findall(r"^\[\d+/\d+\] (\S+) .*numbers.py +(.*)$", output, re.MULTILINE)) == [
        ("killed", "add: return 1 -> None"),
        ("killed", "half: constant 1 -> 3"),
        ("killed", "half: constant 2 -> 1"),
        ("killed", "half: constant 3 -> 3"),
        ("killed", "half: return 1 -> None"),
    ]
    assert "5 of 5 trivial mutants" in output


def test_every_listed_mutant_applies_to_the_source_as_it_is() -> None:
    """A mutant whose function is gone proves nothing: rename it in the list together with the function."""
    command = [sys.executable, "-m", "tools.mutate", "--apply-only"]
    done = subprocess.run(command, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[0]) >= 80
