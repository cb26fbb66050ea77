"""Breaks the source on purpose, one place at a time, and checks that the tests notice.

`tools/mutants.toml` lists mutants by hand. Each names requirements, a function below `src/hookline/`, an operator
inside that function (see tools/mutation.py), and the new code. The project is copied to a temporary directory, the copy
is changed, and the tests with the `req` marker of the requirements run in it until one of each has failed.

With `--generate N` the trivial mutants are made instead: a condition is negated, a result dropped, `and` and `or` are
swapped, a number or a bool is changed. Only functions that a test with a `req` marker calls are mutated, and those
tests run. N mutants are chosen at random. The outcomes:

    killed           a test failed, as it should
    SURVIVED         all tests passed: the code can be broken without any test noticing
    does not apply   the function or the operator is not found; functions with a similar name are shown
    error            the tests could not be run, for example because the changed module can't be imported
"""

import argparse
import compileall
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from textwrap import indent

import pytest
from tools.mutation import OPERATORS, NoSuchPlaceError, find_file, read_source, trivial_changes

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT_S = 300
TESTS_PER_MUTANT = 40
PRISTINE_TIME_LIMIT_S = 1800

# Set by a test run that we are part of, and not meant for the runs that we start.
_OF_OTHER_RUNS = frozenset({"PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_TESTRUNUID"})


class Outcome(StrEnum):
    """The result of one mutant."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    DOES_NOT_APPLY = "does not apply"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One place of the source with other code in it."""

    requirements: tuple[str, ...]
    function: str
    at: str
    to: str
    file: str = ""
    tests: tuple[str, ...] = ()
    """The tests to run, by their ids; empty for all tests of the requirements."""

    def __str__(self) -> str:
        code = " ".join(self.to.split())
        return f"{self.function}: {self.at} -> {code[:70]}"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a mutant for one of its requirements, and an explanation where there is one."""

    requirement: str
    mutant: Mutant
    outcome: Outcome
    details: str = ""

    def __str__(self) -> str:
        return f"{self.outcome:<14}  {self.requirement:<15}  {self.mutant}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pristine:
    """A copy of the project as it is, from which the mutants are made."""

    root: Path
    package: Path
    """Relative to the root, such as `src/hookline`."""
    test_files: Mapping[str, Sequence[str]]
    """The files with tests of each requirement."""


def read_mutants(path: Path) -> list[Mutant]:
    """The mutants of the data file."""
    mutants: list[Mutant] = []
    for number, entry in enumerate(tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", ()), start=1):
        if missing := {"requirement", "function", "at", "to"} - entry.keys():
            raise SystemExit(f"{path}: mutant {number} lacks {', '.join(sorted(missing))}")
        names = entry.pop("requirement")
        mutants.append(Mutant(requirements=(names,) if isinstance(names, str) else tuple(names), **entry))
    return mutants


def mutated(mutant: Mutant, package: Path) -> tuple[Path, str]:
    """The file that the mutant changes, and its new text; raises `NoSuchPlaceError`."""
    file = find_file(package, mutant.function, mutant.file)
    source = read_source(file)
    return file, source.changed(source.find(mutant.function, mutant.at), mutant.to)


def why_not_applicable(mutant: Mutant, package: Path) -> str | None:
    """The reason why the mutant can't be made; None when it can."""
    try:
        mutated(mutant, package)
    except NoSuchPlaceError as error:
        return str(error)
    return None


def generate(pristine: Pristine, calls: Path, file: str) -> list[Mutant]:
    """All trivial mutants of the functions that a test of a requirement calls, from the plugin's list of calls."""
    callers: dict[tuple[str, str], list[str]] = {}
    reach: Counter[str] = Counter()
    for line in calls.read_text(encoding="utf-8").splitlines():
        path, function, test = line.split("\t")
        callers.setdefault((path, function), []).append(test)
        reach[test] += 1
    mutants = []
    for (path, function), tests in sorted(callers.items()):
        source = read_source(pristine.root / pristine.package / path)
        if file in path and function in source.functions:
            # The tests that call the fewest functions say the most about this one.
            chosen = tuple(sorted(tests, key=reach.__getitem__)[:TESTS_PER_MUTANT])
            for at, to in trivial_changes(source, function):
                mutants.append(Mutant(requirements=(path,), function=function, at=at, to=to, file=path, tests=chosen))
    return mutants


def record_calls(pristine: Pristine, tests: Path, listing: Path) -> None:
    """Runs the tests of all requirements and has the plugin write which functions of the package each of them calls."""
    print("the calls of the tests with a requirement ...", flush=True)
    chosen = [f"--requirement={name}" for name in pristine.test_files]
    limits = {"time_limit_s": PRISTINE_TIME_LIMIT_S}
    options = ("-p", "no:xdist", f"--list-calls={listing}", *chosen, str(tests))
    code, output = _pytest(pristine.root, pristine.package, *options, **limits)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"{output[-4000:]}\nthe tests could not be run on the source as it is; fix the errors first")


def make_pristine(root: Path, package: Path, tests: Path, target: Path) -> Pristine:
    """Copies the project, compiles it, and asks pytest which test files carry which requirement."""
    shutil.copytree(root, target, ignore=shutil.ignore_patterns(".*", "__pycache__", "dist", "build"))
    compileall.compile_dir(str(target / package), quiet=2)
    listing = target.with_name("requirements")
    code, output = _pytest(target, package, "--collect-only", "--list-requirements", str(listing), str(tests))
    if code != pytest.ExitCode.OK:
        raise SystemExit(f"{output}\nthe tests could not be collected; fix the errors above first")
    return Pristine(root=target, package=package, test_files=_read_pairs(listing))


def check_pristine(pristine: Pristine, requirements: Sequence[str], jobs: int) -> None:
    """Stops when the tests fail on the source as it is, because then a failure would prove nothing."""
    print(f"the tests of {len(requirements)} requirements on the source as it is ...", flush=True)
    parallel = ("-n", str(jobs), "--dist", "worksteal") if jobs > 1 else ()
    code, output = run_tests(pristine, pristine.root, requirements, *parallel, time_limit_s=PRISTINE_TIME_LIMIT_S)
    if code != pytest.ExitCode.OK:
        raise SystemExit(f"{output}\nthe tests do not pass on the source as it is; fix them first")


def try_mutant(mutant: Mutant, pristine: Pristine) -> list[Report]:
    """Copies the project, breaks the copy, and runs the tests of the requirements in it; one report for each."""
    try:
        file, text = mutated(mutant, pristine.root / pristine.package)
    except NoSuchPlaceError as error:
        return [Report(name, mutant, Outcome.DOES_NOT_APPLY, str(error)) for name in mutant.requirements]
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as scratch:
        copy = Path(shutil.copytree(pristine.root, Path(scratch) / "project"))
        _change(copy / file.relative_to(pristine.root), text)
        if mutant.tests:
            return [_try_generated(mutant, copy, pristine.package)]
        noticed = Path(scratch) / "noticed"
        listing = f"--list-noticed={noticed}"
        code, output = run_tests(pristine, copy, mutant.requirements, listing, time_limit_s=TIME_LIMIT_S)
        by_requirement = _read_pairs(noticed) if noticed.exists() else {}
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return [Report(name, mutant, Outcome.ERROR, output[-2000:]) for name in mutant.requirements]
    return [
        Report(name, mutant, Outcome.KILLED, by_requirement[name][0])
        if name in by_requirement
        else Report(name, mutant, Outcome.SURVIVED)
        for name in mutant.requirements
    ]


def _read_pairs(listing: Path) -> dict[str, list[str]]:
    """Read the plugin's output: a requirement and a test or file in each line."""
    found: dict[str, list[str]] = {}
    for line in listing.read_text(encoding="utf-8").splitlines():
        name, _, test = line.partition("\t")
        found.setdefault(name, []).append(test)
    return found


def _try_generated(mutant: Mutant, copy: Path, package: Path) -> Report:
    code, _ = _pytest(copy, package, "-x", *mutant.tests, time_limit_s=TIME_LIMIT_S)
    outcome = {pytest.ExitCode.OK: Outcome.SURVIVED, pytest.ExitCode.TESTS_FAILED: Outcome.KILLED}
    # A program that no longer ends, or that can't be imported, is noticed too.
    return Report(mutant.requirements[0], mutant, outcome.get(pytest.ExitCode(code), Outcome.KILLED))


def _change(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    # Python compares only the size and the whole second of a file with its compiled one.
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


def run_tests(
    pristine: Pristine, copy: Path, requirements: Sequence[str], *options: str, time_limit_s: float
) -> tuple[int, str]:
    """Runs the tests of these requirements in a copy; gives pytest's exit code and output."""
    files = sorted({file for name in requirements for file in pristine.test_files.get(name, ())})
    if not files:
        return pytest.ExitCode.NO_TESTS_COLLECTED, "no test carries this requirement"
    chosen = [f"--requirement={name}" for name in requirements]
    return _pytest(copy, pristine.package, *options, *chosen, *files, time_limit_s=time_limit_s)


def _pytest(copy: Path, package: Path, *words: str, time_limit_s: float | None = None) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if name not in _OF_OTHER_RUNS}
    environment["PYTHONPATH"] = os.pathsep.join((str((copy / package).parent), str(ROOT)))
    plugins = ("-p", "no:cacheprovider", "-p", "tools.mutate_plugin", f"--imports={copy / package}")
    with tempfile.TemporaryDirectory(prefix="mutant-tests-", ignore_cleanup_errors=True) as scratch:
        try:
            done = subprocess.run(  # noqa: S603 - our own command
                [sys.executable, "-m", "pytest", "-q", *plugins, f"--basetemp={scratch}/t", *words],
                cwd=copy,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
                timeout=time_limit_s,
            )
        except subprocess.TimeoutExpired:
            return pytest.ExitCode.INTERRUPTED, f"the tests did not end within {time_limit_s} s"
    return done.returncode, done.stdout


def try_all(mutants: Sequence[Mutant], pristine: Pristine, jobs: int) -> Iterator[Report]:
    """The reports as they come in."""
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(try_mutant, mutant, pristine) for mutant in mutants]
        for done in as_completed(running):
            yield from done.result()


def show(reports: Iterator[Report], total: int) -> list[Report]:
    """Prints each report as it comes in."""
    shown: list[Report] = []
    for report in reports:
        shown.append(report)
        print(f"[{len(shown)}/{total}] {report}")
        print(indent(report.details + "\n", "    ") if report.details else "", end="", flush=True)
    return shown


def summary(reports: Sequence[Report]) -> str:
    """The mutants that were not killed, then the counts."""
    counts = Counter(report.outcome for report in reports)
    alive = sorted(str(report) for report in reports if report.outcome is not Outcome.KILLED)
    mutants, requirements = len({report.mutant for report in reports}), len({report.requirement for report in reports})
    totals = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)
    return "\n".join([*alive, f"{mutants} mutants of {requirements} requirements: {totals}"])


def main(arguments: list[str] | None = None) -> int:
    """Tries the mutants; 0 when all were killed, else 1."""
    options = _options(arguments)
    if options.generate:
        return _try_generated_ones(options)
    mutants = list(_chosen(read_mutants(options.mutants), options.only, options.function))
    if not mutants:
        raise SystemExit(f"{options.mutants}: there is no such mutant")
    if options.apply_only:
        return _check_applicable(mutants, options.root / options.package)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as scratch:
        pristine = make_pristine(options.root, options.package, options.tests, Path(scratch) / "project")
        if not options.unchecked:
            check_pristine(pristine, sorted({name for mutant in mutants for name in mutant.requirements}), options.jobs)
        total = sum(len(mutant.requirements) for mutant in mutants)
        reports = show(try_all(mutants, pristine, options.jobs), total)
    print(f"{summary(reports)}; {time.monotonic() - started:.0f} s")
    return 0 if all(report.outcome is Outcome.KILLED for report in reports) else 1


def _try_generated_ones(options: argparse.Namespace) -> int:
    """Tries a random choice of trivial mutants; 0 whatever survives: a sample is to be read, not to be passed."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as scratch:
        pristine = make_pristine(options.root, options.package, options.tests, Path(scratch) / "project")
        record_calls(pristine, options.tests, Path(scratch) / "calls")
        mutants = generate(pristine, Path(scratch) / "calls", options.function)
        chosen = random.Random(options.seed).sample(mutants, min(options.generate, len(mutants)))  # noqa: S311 - no secret
        print(f"{len(chosen)} of {len(mutants)} trivial mutants", flush=True)
        reports = show(try_all(chosen, pristine, options.jobs), len(chosen))
    print(f"{summary(reports)}; {time.monotonic() - started:.0f} s")
    return 0


def _chosen(mutants: Sequence[Mutant], only: Sequence[str], function: str) -> Iterator[Mutant]:
    for mutant in mutants:
        requirements = tuple(name for name in mutant.requirements if not only or name in only)
        if requirements and function in f"{mutant.file} {mutant.function}":
            yield replace(mutant, requirements=requirements)


def _check_applicable(mutants: Sequence[Mutant], package: Path) -> int:
    reports = [
        Report(", ".join(mutant.requirements), mutant, Outcome.DOES_NOT_APPLY, problem)
        for mutant in mutants
        if (problem := why_not_applicable(mutant, package)) is not None
    ]
    show(iter(reports), len(reports))
    print(f"{len(mutants) - len(reports)} of {len(mutants)} mutants apply")
    return 1 if reports else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"Operators: {OPERATORS}.\n\nExit code: 0 when all listed mutants were killed, 1 when not.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="only the mutants of this requirement; may be repeated",
    )
    add("--function", default="", metavar="TEXT", help="only the mutants with this in the function's name or file")
    add("--generate", type=int, default=0, metavar="N", help="try N trivial mutants in place of the listed ones")
    add("--seed", type=int, default=0, metavar="N", help="choose other ones with another number (default: 0)")
    add("--apply-only", action="store_true", help="only check that every mutant applies, and run nothing")
    add("--unchecked", action="store_true", help="don't run the tests on the source as it is first")
    add("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="mutants at a time (default: the cores)")
    add("--mutants", type=Path, default=ROOT / "tools" / "mutants.toml", metavar="FILE", help="the list of mutants")
    add("--root", type=Path, default=ROOT, metavar="DIR", help="the project")
    add("--package", type=Path, default=Path("src/hookline"), metavar="DIR", help="the package, inside the project")
    add("--tests", type=Path, default=Path("tests"), metavar="DIR", help="the tests, inside the project")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
