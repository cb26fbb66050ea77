"""What a script does is the same, cold or warm."""

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.child.parked.conftest import PYTHONS, Garage
from tests.child.parked.probes import PROBES

from hookline.child.batch import ChildJob, ChildLimits, ChildOutcome

ROUNDS = 3
SEEN = {"PROBE": "x", "LANG": "C.UTF-8"}
# Files of these kinds have the time in them when they were made.
WITH_TIMES = (".pyc", ".zip")
# One for each thing that depends on the version of Python.
FEW = (
    *("answer", "streams", "exit 2", "exception", "syntax error", "recursion depth", "SIGINT", "argv", "main", "path"),
    *("environment", "environment in C", "environment in proc", "descriptors", "session", "signal handlers", "thread"),
    *(
        "atexit",
        "del of a module",
        "del in a cycle",
        "unclosed file",
        "native id",
        "asyncio",
        "multiprocessing",
        "fork",
    ),
    *("local module hides", "random without a seed", "sitecustomize", "deprecated module", "logging", "ctypes"),
)


def furnish(folder: Path, text: str) -> None:
    """Makes the folder of a probe, with what it imports."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "package").mkdir(parents=True)
    (folder / "script.py").write_text(text, encoding="latin-1" if "latin-1" in text else "utf-8")
    (folder / "helper.py").write_text("WORD = 'help'\n")
    (folder / "queue.py").write_text("WORD = 'ours'\n")
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "inner.py").write_text("NAME = __name__\n")


def seen(outcome: ChildOutcome, folder: Path) -> dict[str, Any]:
    """Everything that a run has left."""
    files = {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and path.suffix not in WITH_TIMES else b""
        for path in sorted(folder.rglob("*"))
    }
    return {
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "exit": outcome.exit_code,
        "signal": outcome.signal,
        "error": outcome.error,
        "files": files,
    }


def differences(garage: Garage, names: tuple[str, ...]) -> list[str]:
    """What is different when the probes run cold once and warm twice, all of them at once in each round."""
    jobs: dict[str, ChildJob] = {}
    folders = {name: garage.folder / name.replace(" ", "-") for name in names}
    for name, folder in folders.items():
        furnish(folder, PROBES[name])
        jobs[name] = garage.job(f"{garage.python} script.py one 'two words' ''", SEEN, cwd=folder)
    rounds = []
    for _ in range(ROUNDS):
        for name, folder in folders.items():
            furnish(folder, PROBES[name])
        outcomes = garage.run(*jobs.values(), limits=ChildLimits(max_concurrent=8))
        rounds.append({n: (o.way.value, seen(o, folders[n])) for n, o in zip(jobs, outcomes, strict=True)})
    cold, *warm = rounds
    assert {way for way, _ in cold.values()} == {"cold"}
    return [
        f"{name}\n  cold {cold[name][1]}\n  {each[name][0]} {each[name][1]}"
        for each in warm
        for name in names
        if each[name] != ("warm", cold[name][1])
    ]


# Of each topic more than half: those that are always tried.
SOME = tuple(name for number, name in enumerate(PROBES) if number % 9 < 5)


def compare(folder: Path, names: tuple[str, ...], python: str = sys.executable) -> None:
    """All of them do the same in each way."""
    garage = Garage(folder, most=len(names), python=python)
    found = differences(garage, names)
    garage.parking.close()
    assert not found, "\n".join(found)


@pytest.mark.req("WARM-011")
@pytest.mark.timeout(120)
def test_sixty_probes_do_the_same(tmp_path: Path) -> None:
    """Output, exit code, signal and files."""
    assert len(SOME) >= 60
    compare(tmp_path, SOME)


@pytest.mark.req("WARM-011")
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_every_probe_does_the_same(tmp_path: Path) -> None:
    """The others, too."""
    compare(tmp_path, tuple(name for name in PROBES if name not in SOME))


@pytest.mark.req("WARM-012")
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("python", [pytest.param(path, id=name) for name, path in PYTHONS])
def test_other_versions_of_python(tmp_path: Path, python: str) -> None:
    """Those that can be had here."""
    compare(tmp_path, FEW, python)


@pytest.mark.req("WARM-010")
def test_what_is_shared(garage: Garage) -> None:
    """The seed of hashes, and addresses: they are new for each run only when hooks are cold."""
    garage.script("import sys\nprint(hash('x'), id(sys))")
    run = partial(garage.run, garage.job(f"{garage.python} hook.py"))
    cold, _, one, other = [run()[0].stdout for _ in range(4)]
    assert (one == other, cold == one) == (True, False)


@pytest.mark.req("WARM-010")
def test_random_numbers_are_not_shared(garage: Garage) -> None:
    """Not even when `random` is one of the modules that were imported before."""
    garage.script(
        "import random, uuid, tempfile\nprint(random.random(), uuid.uuid4(), next(tempfile._get_candidate_names()))"
    )
    run = partial(garage.run, garage.job(f"{garage.python} hook.py"))
    outcomes = [run()[0] for _ in range(5)]
    assert [outcome.way for outcome in outcomes] == ["cold", *["warm"] * 4]
    for column in zip(*(outcome.stdout.split() for outcome in outcomes), strict=True):
        assert len(set(column)) == len(outcomes)
