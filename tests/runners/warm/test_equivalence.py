"""A script's effects are the same, cold or warm."""

import shutil
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.runners.warm.conftest import PYTHONS, Garage
from tests.runners.warm.probes import PROBES

from hookline.runners.process.batch import ChildJob, ChildLimits, ChildOutcome

# Cold, then warm with a report of modules, then with these loaded and a report of pages, then with these copied ahead.
ROUNDS, ALL_ROUNDS = 3, 5
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
        "handler with a file",
        "del in a cached class",
        "lazy module",
        "native id",
        "asyncio",
        "multiprocessing",
        "fork",
    ),
    *("local module hides", "random without a seed", "sitecustomize", "deprecated module", "logging", "ctypes"),
)


def furnish(folder: Path, text: str) -> None:
    """Makes the folder of a probe, with what it imports. The script stays the same file: its runs report in turn."""
    script, before = folder / "script.py", folder.with_name(f"{folder.name}.py")
    if script.exists():
        script.rename(before)
        shutil.rmtree(folder)
    else:
        before.write_text(text, encoding="latin-1" if "latin-1" in text else "utf-8")
    (folder / "package").mkdir(parents=True)
    before.rename(script)
    (folder / "helper.py").write_text("WORD = 'help'\n")
    (folder / "queue.py").write_text("WORD = 'ours'\n")
    (folder / "loud.py").write_text("print('imported')\n")
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


def differences(garage: Garage, names: tuple[str, ...], times: int) -> list[str]:
    """Return the differences between cold probes and warm ones, all of them at once in each round."""
    jobs: dict[str, ChildJob] = {}
    folders = {name: garage.folder / name.replace(" ", "-") for name in names}
    for name, folder in folders.items():
        furnish(folder, PROBES[name])
        jobs[name] = garage.job(f"{garage.python} script.py one 'two words' ''", SEEN, cwd=folder)
    rounds = []
    for _ in range(times):
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


# Nothing else shows these.
ALWAYS = (
    *("session", "native id", "umask", "del in a cycle", "lazy module", "attributes of everything"),
    *("handler with a file", "file in a cached class", "del in a cached class", "del without the collector"),
    *("generator in a cached class", "temporary file in a cached class", "callback in a cached class"),
    *("patched library", "frozen by the script", "replaced builtins"),
)
# Of each topic more than half: those that are always tried.
SOME = tuple(name for number, name in enumerate(PROBES) if number % 9 < 5 or name in ALWAYS)


def compare(folder: Path, names: tuple[str, ...], python: str = sys.executable, times: int = ROUNDS) -> None:
    """All of them do the same in each way."""
    garage = Garage(folder, most=len(names), python=python)
    found = differences(garage, names, times)
    garage.pool.close()
    assert not found, "\n".join(found)


@pytest.mark.req("WARM-011")
@pytest.mark.timeout(120)
def test_sixty_probes_do_the_same(tmp_path: Path) -> None:
    """Output, exit code, signal and files."""
    assert len(SOME) >= 60
    compare(tmp_path, SOME)


@pytest.mark.req("WARM-011")
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_probe_does_the_same(tmp_path: Path) -> None:
    """All of them, and in each kind of warm run."""
    compare(tmp_path, tuple(PROBES), times=ALL_ROUNDS)


@pytest.mark.req("WARM-012")
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("python", [pytest.param(path, id=name) for name, path in PYTHONS])
def test_other_versions_of_python(tmp_path: Path, python: str) -> None:
    """The interpreters that this machine has."""
    compare(tmp_path, FEW, python, ALL_ROUNDS)


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


def test_times_count_from_the_event(garage: Garage) -> None:
    """Not from the time when the interpreter was parked, and `logging` imported."""
    garage.script("import logging\nr = logging.makeLogRecord({})\nprint(r.created - r.relativeCreated / 1000)")
    job = garage.job(f"{garage.python} hook.py")
    for _ in range(3):
        before = time.time()
        (outcome,) = garage.run(job)
        assert float(outcome.stdout) > before - 0.001  # rounded
    assert outcome.way == "warm"


ORDER = """
import asyncio, sys, xml.etree.ElementTree
async def main():
    print(await asyncio.get_running_loop().run_in_executor(None, abs, -3), asyncio.current_task() is not None)
    print(await asyncio.wait_for(asyncio.sleep(0, 'slept'), 60))
asyncio.run(main())
print(sorted(name for name in ('asyncio.tasks', 'xml.etree.ElementTree') if name in sys.modules))
"""


@pytest.mark.parametrize("python", [sys.executable, *(pytest.param(path, id=name) for name, path in PYTHONS[-1:])])
def test_modules_are_loaded_in_an_order_that_works(tmp_path: Path, python: str) -> None:
    """Some private modules must not be the first of their kind: with Python 3.13 tasks would not know themselves."""
    garage = Garage(tmp_path, python=python)
    garage.script(ORDER)
    outcomes = [garage.run(garage.job(f"{python} hook.py"))[0] for _ in range(3)]
    garage.pool.close()
    assert [(o.stdout, o.stderr) for o in outcomes] == [(outcomes[0].stdout, b"")] * 3
    assert (outcomes[-1].way, outcomes[0].exit_code) == ("warm", 0)
