"""When a script is parked, and when it is not; `test_ghosts.py` has that it never runs without an event."""

import asyncio
import errno
import gc
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.patience import children, descriptors, traced, until
from tests.runners.warm.conftest import Garage

from hookline.runners.process.batch import ChildLimits, ChildOutcome
from hookline.runners.process.reaper import REAPER
from hookline.runners.warm.interpreter import Interpreter
from hookline.runners.warm.pool import WarmPool
from hookline.runners.warm.process_state import facts_of
from hookline.runners.warm.standby import Standby

PYENV = Path.home() / ".pyenv"
COUNTS = "open('runs', 'a').write('x')\nimport json, sys\njson.load(sys.stdin)\nprint('ran')\n"


def count(garage: Garage) -> int:
    """How often the script has run."""
    path = garage.folder / "runs"
    return len(path.read_text()) if path.exists() else 0


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    until(condition)


@pytest.fixture
def parked(garage: Garage) -> Garage:
    """A script that writes a letter for each run, and is parked."""
    garage.script(COUNTS)
    assert garage.ways(garage.job(f"{garage.python} hook.py"), 2) == ["cold", "warm"]
    return garage


def test_parked_after_it_was_asked_for(garage: Garage) -> None:
    """The first run that gets here is a script's second one; then each run is warm, and none more than once."""
    garage.script(COUNTS)
    assert garage.ways(garage.job(f"{garage.python} hook.py"), 5) == ["cold", *["warm"] * 4]
    assert count(garage) == 5


@pytest.mark.req("WARM-001")
@pytest.mark.parametrize("options", ["-I", "-E", "-S", "-IS"])
def test_the_probe_finds_an_interpreter_that_ignores_us(garage: Garage, options: str) -> None:
    """Even if these options were unknown, the script would not run without an event."""
    garage.script(COUNTS)
    with patch("hookline.shell.python._OPTIONS", re.compile("-[IES]+")):
        assert garage.ways(garage.job(f"{garage.python} {options} hook.py"), 4) == ["cold"] * 4
    assert (count(garage), garage.pool.pids) == (4, ())


def test_python_without_what_it_takes_is_not_parked(garage: Garage) -> None:
    """An exception on our side of the start ends the process: the script does not run."""
    (garage.folder / "broken").mkdir()
    (garage.folder / "broken" / "_ctypes.py").write_text("raise ImportError('none here')")
    garage.script(COUNTS)
    job = garage.job(f"{garage.python} hook.py", {"PYTHONPATH": str(garage.folder / "broken")})
    assert garage.ways(job, 3) == ["cold"] * 3
    assert count(garage) == 3


@pytest.mark.req("WARM-002")
@pytest.mark.parametrize(
    "first_line",
    [
        pytest.param("#!{python}", id="path"),
        pytest.param("#!{python} -u", id="option"),
        pytest.param("#! /usr/bin/env python3", id="env"),
        pytest.param("#!/usr/bin/env -S python3 -uB", id="env with options"),
    ],
)
def test_scripts_with_a_shebang(garage: Garage, first_line: str) -> None:
    """They are what most hooks are."""
    bin_folder = garage.folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "python3").symlink_to(os.path.realpath(sys.executable))
    garage.script(f"{first_line.format(python=sys.executable)}\n{COUNTS}", mode=0o755)
    job = garage.job("./hook.py", {"PATH": f"{bin_folder}:/usr/bin:/bin"})
    assert garage.ways(job, 3) == ["cold", "warm", "warm"]
    assert count(garage) == 3


@pytest.mark.req("WARM-002")
@pytest.mark.parametrize(
    "command",
    [
        '{python} -c \'open("runs", "a").write("x")\'',
        "{python} -m hook",
        "{python} -X utf8 hook.py",
        "{python} -I hook.py",
        "{python} hook.py | cat",
        "exec {python} hook.py",
        "{python} < hook.py",
        "cd . && {python} hook.py",
        "./wrapper hook.py",
    ],
)
def test_other_commands_run_cold(garage: Garage, command: str) -> None:
    """Commands that are more than an interpreter and a file."""
    garage.script(COUNTS)
    garage.script(f'#!/bin/sh\nexec {sys.executable} -I "$@"\n', "wrapper", mode=0o755)
    assert garage.ways(garage.job(command.format(python=sys.executable)), 3) == ["cold"] * 3
    assert (count(garage), garage.pool.pids) == (3, ())


@pytest.mark.req("WARM-002")
def test_programs_of_other_names_run_cold(garage: Garage) -> None:
    """Such as `uv run hook.py`, even if the program is Python: what its words mean is not known."""
    garage.script(COUNTS)
    garage.script(COUNTS, "run")
    (garage.folder / "uv").symlink_to(os.path.realpath(sys.executable))
    job = garage.job("uv run hook.py", {"PATH": f"{garage.folder}:/usr/bin:/bin"})
    assert garage.ways(job, 3) == ["cold"] * 3
    assert (count(garage), garage.pool.pids) == (3, ())


def test_a_wrapper_of_the_name_python_runs_cold(garage: Garage) -> None:
    """It may do anything before it starts Python."""
    garage.script(COUNTS)
    garage.script(f'#!/bin/sh\nexec {sys.executable} -I "$@"\n', "bin/python3", mode=0o755)
    job = garage.job("python3 hook.py", {"PATH": f"{garage.folder}/bin:/usr/bin:/bin"})
    assert garage.ways(job, 3) == ["cold"] * 3
    assert count(garage) == 3


def test_an_interpreter_that_is_gone_for_one_event(tmp_path: Path) -> None:
    """For example while a virtual environment is replaced: then the script also gets another interpreter."""
    cold: set[str] = set()
    garage = Garage(tmp_path)
    garage.pool = WarmPool(cold=cold)
    garage.script("print('ran')")
    python = tmp_path / "python"
    python.symlink_to(os.path.realpath(sys.executable))
    job = garage.job(f"{python} hook.py")
    assert garage.ways(job, 2) == ["cold", "warm"]
    python.unlink()
    assert garage.run(job)[0].exit_code == 127
    python.symlink_to(os.path.realpath(sys.executable))
    assert (garage.ways(job, 3), cold) == (["cold", "cold", "warm"], set())
    assert garage.ways(garage.job("true"), 2) == ["cold"] * 2
    assert cold == {"true"}
    garage.pool.close()


@pytest.mark.parametrize("command", ["{python} hook.py", "./hook.py"])
def test_a_script_that_is_not_there_yet(tmp_path: Path, command: str) -> None:
    """It may be being replaced: when it is there, it is parked, after two runs as always."""
    cold: set[str] = set()
    garage = Garage(tmp_path)
    garage.pool = WarmPool(cold=cold)
    job = garage.job(command.format(python=garage.python))
    assert garage.ways(job, 2) == ["cold"] * 2
    path = garage.script(f"#!{garage.python}\n{COUNTS}")
    if command.startswith("./"):  # nor may it be executed yet
        assert garage.ways(job, 2) == ["cold"] * 2
    path.chmod(0o755)
    assert (garage.ways(job, 3), cold) == (["cold", "cold", "warm"], set())
    garage.pool.close()


def test_commands_that_are_no_python_scripts_are_not_looked_at_again(tmp_path: Path) -> None:
    """Files without a Python shebang, and an interpreter that is a script itself."""
    cold: set[str] = set()
    garage = Garage(tmp_path)
    garage.pool = WarmPool(cold=cold)
    garage.script(COUNTS)
    garage.script("#!/bin/sh\n", "hook.sh", mode=0o755)
    garage.script(f'#!/bin/sh\nexec {sys.executable} "$@"\n', "bin/python3", mode=0o755)
    commands = {"./hook.sh", "bin/python3 hook.py", "true"}
    for command in commands:
        garage.run(garage.job(command))
    assert cold == commands
    garage.pool.close()


@pytest.mark.req("WARM-002", "WARM-003")
def test_virtual_environments(garage: Garage) -> None:
    """The packages of the environment are found, and a change of pyvenv.cfg is noticed."""
    env = garage.folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    (site,) = env.glob("lib/python*/site-packages")
    (site / "only_here.py").write_text("WORD = 'inside'\n")
    garage.script("import only_here, sys\nprint(only_here.WORD, sys.prefix)")
    job = garage.job("env/bin/python hook.py")
    for way in ("cold", "warm", "warm"):
        (outcome,) = garage.run(job)
        assert (outcome.way, outcome.stdout.decode()) == (way, f"inside {env}\n")
    with (env / "pyvenv.cfg").open("a") as file:
        file.write("# changed\n")
    assert garage.ways(job, 3) == ["cold", "cold", "warm"]
    (site / "more.pth").write_text("import sys; sys.from_pth = True\n")
    garage.script("import sys\nprint(sys.from_pth)")
    outcomes = [garage.run(job)[0] for _ in range(3)]
    assert [(o.way, o.stdout) for o in outcomes] == [("cold", b"True\n"), ("cold", b"True\n"), ("warm", b"True\n")]


@pytest.mark.req("WARM-002")
@pytest.mark.skipif(not (PYENV / "shims/python3").exists(), reason="pyenv is not installed")
def test_shims_of_pyenv(garage: Garage) -> None:
    """The version is that of the nearest .python-version at the time of the event."""
    root = PYENV
    versions = sorted(path.name for path in (root / "versions").glob("3.1[1-3].*"))
    if len(versions) < 2:
        pytest.skip("one version of Python is not enough")
    garage.script("import sys, os\nprint('.'.join(map(str, sys.version_info[:3])), os.environ.get('PYENV_VERSION'))")
    choice = garage.folder / ".python-version"
    job = garage.job("python3 hook.py", {"PATH": f"{root}/shims:{root}/bin:/usr/bin:/bin", "PYENV_ROOT": str(root)})
    seen = []
    for version, times in ((versions[0], 3), (versions[1], 3)):
        choice.write_text(f"{version}\n")
        seen += [(o.way.value, o.stdout.decode().split()[0]) for o in (garage.run(job)[0] for _ in range(times))]
    assert seen == [
        ("cold", versions[0]), ("warm", versions[0]), ("warm", versions[0]),
        ("cold", versions[1]), ("cold", versions[1]), ("warm", versions[1]),
    ]  # fmt: skip


@contextmanager
def _umask() -> Iterator[None]:
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def _limit() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0 if before[0] else 1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)


@contextmanager
def _ignored_signal() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.req("WARM-003")
@pytest.mark.parametrize("process_state", [_umask, _limit, _ignored_signal])
def test_what_a_process_inherits(parked: Garage, process_state: Callable[[], AbstractContextManager[None]]) -> None:
    """With another umask, limit or ignored signal the next run is cold, and the one after the next is warm again."""
    job = parked.job(f"{parked.python} hook.py")
    with process_state():
        assert parked.ways(job, 3) == ["cold", "cold", "warm"]
    assert parked.ways(job, 3) == ["cold", "cold", "warm"]
    assert count(parked) == 8


@pytest.mark.req("WARM-003")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="there is one processor")
def test_a_process_inherits_its_processors(parked: Garage) -> None:
    """With others the runs are cold: the thread that parks has those of before."""
    job = parked.job(f"{parked.python} hook.py")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert parked.ways(job, 2) == ["cold", "cold"]
    finally:
        os.sched_setaffinity(0, before)
    assert parked.ways(job, 3) == ["cold", "cold", "warm"]


@pytest.mark.req("WARM-003")
def test_a_process_inherits_that_it_gets_no_new_privileges(tmp_path: Path) -> None:
    """A cold run would not get any, so a warm one must not."""
    Garage(tmp_path).script(COUNTS)
    program = textwrap.dedent(f"""
        import ctypes
        from pathlib import Path
        from tests.runners.warm.conftest import Garage
        garage = Garage(Path({str(tmp_path)!r}))
        job = garage.job(garage.python + " hook.py")
        ways = garage.ways(job, 2)
        assert not ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
        print(*ways, *garage.ways(job, 1))
        garage.pool.close()
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("cold warm cold\n", "")


@pytest.mark.req("WARM-003")
def test_variables_that_are_read_at_the_start(parked: Garage) -> None:
    """Variables of Python, of the loader and of locales; each set of them has another interpreter."""
    for name, value in (("TZ", "Asia/Tokyo"), ("PYTHONHASHSEED", "7"), ("LC_ALL", "C"), ("LD_X", "1"), ("HOME", "/")):
        job = parked.job(f"{parked.python} hook.py", {name: value})
        assert parked.ways(job, 3) == ["cold", "cold", "warm"], name
    assert parked.ways(parked.job(f"{parked.python} hook.py", {"PYTHONVERBOSE": "1"}), 3) == ["cold"] * 3


@pytest.mark.req("WARM-003")
def test_hooks_with_the_same_command_and_other_variables(parked: Garage) -> None:
    """Each has a separate interpreter, so that they don't end each other's."""
    jobs = [parked.job(f"{parked.python} hook.py", {"LANG": value}) for value in ("C", "C.UTF-8")]
    ways = [[parked.run(job)[0].way.value for job in jobs] for _ in range(4)]
    assert ways == [["cold", "cold"], ["cold", "cold"], ["warm", "warm"], ["warm", "warm"]]
    assert parked.ways(parked.job(f"{parked.python} hook.py"), 1) == ["warm"]


@pytest.mark.req("WARM-003")
def test_other_variables_are_passed_on(garage: Garage) -> None:
    """Changed, added and removed ones arrive, in Python and for its children."""
    garage.script("import os, subprocess\nprint(sorted((k, v) for k, v in os.environ.items() if k.startswith('X_')))\n"
                  "subprocess.run('env | grep ^X_ | sort', shell=True)")  # fmt: skip
    command = f"{garage.python} -u hook.py"
    assert garage.ways(garage.job(command, {"X_A": "1", "X_B": "2"}), 2) == ["cold", "warm"]
    (outcome,) = garage.run(garage.job(command, {"X_B": "changed ü", "X_C": "new"}))
    assert (outcome.way, outcome.stdout.decode()) == (
        "warm",
        "[('X_B', 'changed ü'), ('X_C', 'new')]\nX_B=changed ü\nX_C=new\n",
    )
    (outcome,) = garage.run(garage.job(command, {"X_B": "x" * 10_000}))
    assert (outcome.way, len(outcome.stdout) > 20_000) == ("cold", True)


@pytest.mark.req("WARM-004")
def test_the_script_is_read_at_the_event(parked: Garage) -> None:
    """A change takes effect at the next event, and needs no new interpreter."""
    job = parked.job(f"{parked.python} hook.py")
    parked.script("print('changed')")
    (outcome,) = parked.run(job)
    assert (outcome.way, outcome.stdout) == ("warm", b"changed\n")
    (parked.folder / "hook.py").unlink()
    (outcome,) = parked.run(job)
    assert (outcome.exit_code, b"can't open file" in outcome.stderr) == (2, True)


@pytest.mark.req("WARM-003")
def test_a_module_that_appears_beside_the_script(garage: Garage) -> None:
    """It hides the one of the standard library, also if that was imported before."""
    garage.script(
        "import json\nprint(json.__file__.endswith('hidden.py') or json.WORD if hasattr(json, 'WORD') else 'std')"
    )
    job = garage.job(f"{garage.python} hook.py")
    assert [garage.run(job)[0].stdout for _ in range(3)] == [b"std\n"] * 3
    garage.script("WORD = 'ours'\n", "json.py")
    outcomes = [garage.run(job)[0] for _ in range(4)]
    assert [o.stdout for o in outcomes] == [b"ours\n"] * 4
    assert [o.way for o in outcomes] == ["cold", "cold", "warm", "warm"]


def test_own_sitecustomize(garage: Garage) -> None:
    """One that the environment has is imported for each run, at the event, as always; and so is its failure."""
    garage.script("open('customized', 'a').write('x')\nimport sys\nsys.custom = __file__\n", "lib/sitecustomize.py")
    garage.script("import sys\nprint(sys.custom, sys.modules['sitecustomize'].__file__, sys.path[1])")
    job = garage.job(f"{garage.python} hook.py", {"PYTHONPATH": str(garage.folder / "lib")})
    outcomes = [garage.run(job)[0] for _ in range(3)]
    assert [o.way for o in outcomes] == ["cold", "warm", "warm"]
    assert len({o.stdout for o in outcomes}) == 1
    assert (garage.folder / "customized").read_text() == "xxx"
    garage.script("1/0", "lib/sitecustomize.py")
    errors = [garage.run(job)[0] for _ in range(3)]
    assert len({(o.stdout, o.stderr, o.exit_code) for o in errors}) == 1
    assert b"Error in sitecustomize" in errors[-1].stderr


@pytest.mark.req("WARM-005")
def test_at_most_so_many(tmp_path: Path) -> None:
    """The others run cold; none is ended for another one that is used as much."""
    garage = Garage(tmp_path, most=2)
    jobs = []
    for name in "abc":
        garage.script("", f"{name}.py")
        jobs.append(garage.job(f"{garage.python} {name}.py"))
    for _ in range(3):
        outcomes = garage.run(*jobs)
    assert sorted(outcome.way for outcome in outcomes) == ["cold", "warm", "warm"]
    assert len(garage.pool.pids) == 4
    garage.pool.close()


@pytest.mark.req("WARM-005")
def test_a_script_that_was_not_used_for_a_minute_makes_room(tmp_path: Path) -> None:
    """Before that it keeps its interpreter."""
    garage = Garage(tmp_path, most=1)
    old, new = (garage.job(f"{garage.python} {garage.script('', name)}") for name in ("old.py", "new.py"))
    assert garage.ways(old, 2) == ["cold", "warm"]
    (slot,) = garage.pool._pool._slots.values()
    slot.last_used = time.monotonic() - 50
    assert garage.ways(new, 2) == ["cold", "cold"]
    kept, _ = garage.pool.pids
    slot.last_used -= 11
    assert garage.ways(new, 2) == ["cold", "warm"]
    assert kept not in garage.pool.pids
    garage.pool.close()


@pytest.mark.req("WARM-005")
def test_an_idle_interpreter_ends(tmp_path: Path) -> None:
    """After five minutes, or here sooner."""
    garage = Garage(tmp_path)
    garage.script(COUNTS)
    pids: tuple[int, ...] = ()
    events = 0
    for idle_s in (1, 5, 25):
        garage.pool.close()
        garage.pool = WarmPool(idle_s=idle_s)
        garage.run(garage.job(f"{garage.python} hook.py"))
        events += 1
        # On a busy machine the time may be over before it is parked.
        if pids := garage.pool.pids:
            break
    assert len(pids) == 2
    wait_for(lambda: not any(map(is_alive, pids)))
    assert (count(garage), garage.pool.pids) == (events, ())
    garage.pool.close()


@pytest.mark.req("WARM-005")
def test_five_minutes_are_what_it_waits(parked: Garage) -> None:
    """As the documentation says, unless the caller asks for another time."""
    pool = parked.pool._pool
    (slot,) = pool._slots.values()
    slot.last_used = time.monotonic() - 240
    with pool._lock:
        assert pool.end_idle()
        assert len(pool.pids()) == 2
        assert 0 < pool.until_idle() <= 60
        slot.last_used -= 61
        assert not pool.end_idle()
    assert parked.pool.pids == ()


def test_nobody_refers_to_it_any_more(tmp_path: Path) -> None:
    """An engine that is never closed leaves nothing behind."""
    garage = Garage(tmp_path)
    garage.script(COUNTS)
    garage.run(garage.job(f"{garage.python} hook.py"))
    pids = garage.pool.pids
    assert len(pids) == 2
    del garage.pool
    gc.collect()
    wait_for(lambda: not any(map(is_alive, pids)))


@pytest.mark.req("WARM-005")
def test_closed_while_spares_are_to_end(garage: Garage) -> None:
    """Standbys that were announced an event and got none have yet to answer: they end all the same, and are reaped."""
    jobs = []
    for name in "abcdef":
        garage.script("", f"{name}.py")
        jobs.append(garage.job(f"{garage.python} {name}.py"))
    for _ in range(2):
        garage.run(*jobs)
    assert len(garage.pool.pids) == 12
    with _umask():
        asyncio.run(garage.fire(*jobs))
    garage.pool.close()
    wait_for(lambda: not garage.children())


def _when_started(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something once an interpreter has started, before it is taken for one that is parked."""

    def start(*arguments: Any) -> Interpreter:
        interpreter = Interpreter(*arguments)
        act()
        return interpreter

    monkeypatch.setattr("hookline.runners.warm.pool.Interpreter", start)


@pytest.mark.req("WARM-005")
def test_closed_while_an_interpreter_starts(garage: Garage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends, too."""
    garage.script(COUNTS)
    _when_started(monkeypatch, garage.pool.close)
    garage.run(garage.job(f"{garage.python} hook.py"))
    wait_for(lambda: not garage.children())
    assert count(garage) == 1


@pytest.mark.req("WARM-005")
def test_forgotten_while_an_interpreter_starts(garage: Garage, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter whose slot was dropped for other commands ends: no event would find it."""
    pool = garage.pool._pool

    def forget() -> None:
        monkeypatch.setattr("hookline.runners.warm.pool._MOST_SLOTS", -pool._most)
        with pool._lock:
            pool._forget_oldest()

    garage.script(COUNTS)
    _when_started(monkeypatch, forget)
    garage.run(garage.job(f"{garage.python} hook.py"))
    wait_for(lambda: not garage.children())


@pytest.mark.req("WARM-003")
def test_what_a_process_inherits_changes_while_an_interpreter_starts(
    garage: Garage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whether it has the old or the new umask, so it is not used."""
    garage.script(COUNTS)
    job = garage.job(f"{garage.python} hook.py")
    with monkeypatch.context() as patch, _umask():
        os.umask(0o022)
        _when_started(patch, lambda: os.umask(0o077))
        garage.run(job)
        assert garage.pool.pids == ()
        wait_for(lambda: not garage.children())
        patch.undo()
        assert garage.ways(job, 3) == ["cold", "cold", "warm"]


@pytest.mark.req("WARM-005")
@pytest.mark.usefixtures("stays_stopped")
def test_closed_while_a_spare_is_late(parked: Garage) -> None:
    """It is waited for after that, and then the thread also ends."""
    pool = parked.pool._pool
    (slot,) = pool._slots.values()
    assert slot.interpreter is not None
    os.kill(slot.interpreter.pid, signal.SIGSTOP)
    pool.discard(slot.interpreter.fork())
    parked.settle()
    assert len(pool._late) == 1
    parked.pool.close()
    wait_for(lambda: not pool._late and not parked.children() and pool.pool_thread._thread is None)


@pytest.mark.req("WARM-005", "WARM-013")
@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)", "sys.exit()", "os.execvp('true', ['true'])"])
def test_the_program_ends(tmp_path: Path, end: str) -> None:
    """However it ends, what it has parked ends with it, and nothing has run."""
    Garage(tmp_path).script(COUNTS)
    program = textwrap.dedent(f"""
        import asyncio, os, sys
        from pathlib import Path
        from tests.runners.warm.conftest import Garage
        garage = Garage(Path({str(tmp_path)!r}))
        garage.run(garage.job(garage.python + " hook.py"))
        print(*garage.pool.pids, flush=True)
        {end}
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    pids = [*map(int, done.stdout.split())]
    assert (len(pids), done.stderr) == (2, "")
    wait_for(lambda: not any(map(is_alive, pids)))
    assert (tmp_path / "runs").read_text() == "x"


def test_a_program_that_ends_after_its_report(tmp_path: Path) -> None:
    """Nothing is left in the temporary directory, even if the report is never read."""
    Garage(tmp_path).script(COUNTS)
    (tmp_path / "tmp").mkdir()
    program = textwrap.dedent(f"""
        import asyncio, os
        from pathlib import Path
        from tests.runners.warm.conftest import Garage
        garage = Garage(Path({str(tmp_path)!r}))
        job = garage.job(garage.python + " hook.py")
        garage.run(job)
        (outcome,) = asyncio.run(garage.fire(job))
        print(outcome.way, flush=True)
        os._exit(0)
    """)
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("warm\n", "")
    assert [*(tmp_path / "tmp").iterdir()] == []


def test_a_forked_program_does_not_use_what_its_parent_has_parked(parked: Garage) -> None:
    """Nor does it keep it alive."""
    pids = parked.pool.pids
    child = os.fork()
    if not child:
        way = asyncio.run(parked.fire(parked.job(f"{parked.python} hook.py")))[0].way
        # The child may have a warm interpreter by now.
        os._exit(way == "cold" and {*pids}.isdisjoint(parked.pool.pids))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert parked.pool.pids == pids
    assert parked.ways(parked.job(f"{parked.python} hook.py"), 1) == ["warm"]


@pytest.mark.req("WARM-005")
def test_nobody_refers_to_it_any_more_in_a_forked_program(garage: Garage) -> None:
    """The child's interpreters end with the child's engine."""
    garage.script(COUNTS)
    child = os.fork()
    if not child:
        garage.run(garage.job(f"{garage.python} hook.py"))
        pids = garage.pool.pids
        del garage.pool
        gc.collect()
        with suppress(AssertionError):
            wait_for(lambda: not any(map(is_alive, pids)))
        os._exit(len(pids) == 2 and not any(map(is_alive, pids)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@pytest.mark.req("WARM-006")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("whom", ["the spare", "the interpreter", "both"])
def test_it_dies_before_the_event(parked: Garage, number: signal.Signals, whom: str) -> None:
    """The event runs all the same, and once."""
    interpreter, standby = parked.pool.pids
    for pid in {"the spare": [standby], "the interpreter": [interpreter], "both": [interpreter, standby]}[whom]:
        os.kill(pid, number)
        wait_for(lambda pid=pid: not is_alive(pid))  # type: ignore[misc]
    job = parked.job(f"{parked.python} hook.py")
    outcomes = [parked.run(job)[0] for _ in range(4)]
    assert [(o.exit_code, o.stdout, o.error) for o in outcomes] == [(0, b"ran\n", None)] * 4
    assert (outcomes[-1].way, count(parked)) == ("warm", 6)


@pytest.mark.req("WARM-013")
@pytest.mark.parametrize("whom", ["the spare", "the interpreter", "both"])
def test_it_was_stopped_before_the_event(parked: Garage, whom: str) -> None:
    """A guard must not time out because its standby was stopped; the event runs, and once."""
    interpreter, standby = parked.pool.pids
    for pid in {"the spare": [standby], "the interpreter": [interpreter], "both": [interpreter, standby]}[whom]:
        os.kill(pid, signal.SIGSTOP)
    parked.script(f"import decimal\n{(parked.folder / 'hook.py').read_text()}")  # to be loaded
    outcomes = [parked.run(parked.job(f"{parked.python} hook.py"))[0] for _ in range(3)]
    assert [(o.exit_code, o.stdout, o.way) for o in outcomes] == [(0, b"ran\n", "warm")] * 3
    assert count(parked) == 5


@pytest.fixture
def stays_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spare that hangs, for the reason that can be had here."""
    for module in ("standby", "interpreter"):
        monkeypatch.setattr(f"hookline.runners.warm.{module}.wake_stopped", lambda _pid: None)


@pytest.mark.req("WARM-006")
@pytest.mark.usefixtures("stays_stopped")
def test_it_dies_with_the_event_on_its_way(parked: Garage) -> None:
    """It has got the event and not taken it: the hook is started, once."""
    _, standby = parked.pool.pids
    os.kill(standby, signal.SIGSTOP)

    async def killed_meanwhile() -> tuple[str, bytes]:
        running = asyncio.ensure_future(parked.fire(parked.job(f"{parked.python} hook.py")))
        await asyncio.sleep(0.05)
        os.kill(standby, signal.SIGKILL)
        (outcome,) = await running
        return outcome.way, outcome.stdout

    assert asyncio.run(killed_meanwhile()) == ("cold", b"ran\n")
    assert count(parked) == 3


@pytest.mark.req("WARM-006")
@pytest.mark.usefixtures("stays_stopped")
def test_it_does_not_take_the_event(parked: Garage) -> None:
    """A spare that hangs is ended at the timeout, and its script is not started after that."""
    _, standby = parked.pool.pids
    os.kill(standby, signal.SIGSTOP)
    (outcome,) = parked.run(parked.job(f"{parked.python} hook.py", timeout_ms=300), limits=ChildLimits(grace_s=0.3))
    assert (outcome.timed_out, outcome.way, count(parked)) == (True, "warm", 2)
    wait_for(lambda: not is_alive(standby))


def _end_unseen(standby: int) -> None:
    """End a spare that has got its event and not taken it, while the loop is too busy to see the exit."""
    os.kill(standby, signal.SIGKILL)
    wait_for(lambda: not is_alive(standby))


@pytest.mark.req("WARM-006")
@pytest.mark.usefixtures("stays_stopped")
def test_a_cancelled_event_is_not_started_cold(parked: Garage) -> None:
    """Nobody waits for it any more, although its spare has died without it."""
    _, standby = parked.pool.pids
    os.kill(standby, signal.SIGSTOP)

    async def cancelled() -> None:
        running = asyncio.ensure_future(parked.fire(parked.job(f"{parked.python} hook.py")))
        await asyncio.sleep(0.05)
        _end_unseen(standby)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert count(parked) == 2
    parked.settle()
    assert parked.ways(parked.job(f"{parked.python} hook.py"), 3)[-1] == "warm"


@pytest.mark.req("WARM-006")
@pytest.mark.usefixtures("stays_stopped")
def test_an_event_is_not_started_cold_after_its_timeout(parked: Garage) -> None:
    """Its spare has died without it, and that is seen only after the timeout."""
    _, standby = parked.pool.pids
    os.kill(standby, signal.SIGSTOP)

    async def timed_out() -> ChildOutcome:
        running = asyncio.ensure_future(parked.fire(parked.job(f"{parked.python} hook.py", timeout_ms=1000)))
        await asyncio.sleep(0.05)
        _end_unseen(standby)
        time.sleep(1)  # noqa: ASYNC251 - the loop is busy
        return (await running)[0]

    outcome = asyncio.run(timed_out())
    assert (outcome.timed_out, outcome.error, outcome.way, count(parked)) == (True, None, "warm", 2)


@pytest.mark.req("WARM-006")
@pytest.mark.usefixtures("stays_stopped")
def test_waiting_for_a_spare_is_part_of_the_run(parked: Garage) -> None:
    """It ends at half of the hook's timeout, so that there is time for a cold start, and the duration has it."""
    interpreter, _ = parked.pool.pids
    os.kill(interpreter, signal.SIGSTOP)
    # The first one gets the spare that is there.
    first, second = asyncio.run(parked.fire(*[parked.job(f"{parked.python} hook.py", timeout_ms=2000)] * 2))
    assert (first.way, second.way) == ("warm", "cold")
    assert 1000 <= second.duration_ms < 25_000
    os.kill(interpreter, signal.SIGCONT)


@pytest.mark.req("WARM-005", "WARM-006")
@pytest.mark.usefixtures("stays_stopped")
def test_cancelled_while_it_waits_for_a_spare(parked: Garage) -> None:
    """The spare that comes later is not left behind."""
    interpreter, _ = parked.pool.pids
    os.kill(interpreter, signal.SIGSTOP)
    job = parked.job(f"{parked.python} hook.py")

    async def cancelled() -> None:
        (first,) = await parked.fire(job)
        assert first.way == "warm"
        running = asyncio.ensure_future(parked.fire(job))
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    os.kill(interpreter, signal.SIGCONT)
    parked.settle()
    assert (count(parked), parked.ways(job, 1)) == (3, ["warm"])
    wait_for(lambda: len(parked.children()) == len(parked.pool.pids))


@pytest.mark.req("WARM-006")
def test_its_status_is_lost(tmp_path: Path) -> None:
    """If the program ignores SIGCHLD, the kernel throws it away: then scripts run cold, and it is reported."""
    Garage(tmp_path).script(COUNTS)
    program = textwrap.dedent(f"""
        import signal
        from pathlib import Path
        from tests.runners.warm.conftest import Garage
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        garage = Garage(Path({str(tmp_path)!r}))
        for _ in range(6):
            (outcome,) = garage.run(garage.job(garage.python + " hook.py"))
            print(outcome.way, outcome.exit_code, outcome.stdout, outcome.error)
        garage.pool.close()
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (["cold 0 b'ran\\n' None"] * 6, "")
    assert (tmp_path / "runs").read_text() == "x" * 6


def test_many_events_at_once(parked: Garage) -> None:
    """There is one spare; the others are made as they are needed."""
    outcomes = parked.run(*[parked.job(f"{parked.python} hook.py")] * 6)
    assert [(o.exit_code, o.stdout, o.way) for o in outcomes] == [(0, b"ran\n", "warm")] * 6
    assert count(parked) == 8


@pytest.mark.req("WARM-014")
def test_descriptors_and_processes_stay(parked: Garage) -> None:
    """From event to event nothing is left behind."""
    _flat(parked, 60)


SESSION = """
import os
def session(pid):
    try: return os.getsid(int(pid))
    except OSError: return None
print(*[pid for pid in os.listdir('/proc') if pid.isdigit() and session(pid) == os.getpid()])
"""


def test_memory_is_freed_after_the_run(garage: Garage) -> None:
    """A second process keeps the memory of a run, so that its exit is seen at once; it ends when the run is over."""
    garage.script(SESSION)
    job = garage.job(f"{garage.python} hook.py")
    cold, *warm = [garage.run(job)[0].stdout.split() for _ in range(4)]
    assert [len(cold), *map(len, warm)] == [1, 2, 2, 2]
    wait_for(lambda: len(garage.children()) == len(garage.pool.pids))
    assert not any(is_alive(int(pid)) for pids in warm for pid in pids)


def test_a_spare_that_was_announced_an_event_and_gets_none(parked: Garage) -> None:
    """Neither it nor its keeper is left."""
    job = parked.job(f"{parked.python} hook.py")
    for _ in range(2):
        with _umask():
            assert parked.run(job)[0].way == "cold"
        assert parked.ways(job, 3) == ["cold", "cold", "warm"]
    wait_for(lambda: len(parked.children()) == len(parked.pool.pids))


def test_no_descriptors_for_an_event(garage: Garage) -> None:
    """The spare that was to get it ends, and so does all that is parked: hooks need more what it uses."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
    fillers: list[int] = []
    try:
        garage.script(COUNTS)
        job = garage.job(f"{garage.python} hook.py")
        assert garage.ways(job, 2) == ["cold", "warm"]

        async def without() -> str | None:
            with suppress(OSError):
                while True:
                    fillers.append(os.open("/dev/null", os.O_RDONLY))
            for _ in range(3):  # less than a hook takes
                os.close(fillers.pop())
            return (await garage.fire(job))[0].error

        assert asyncio.run(without()) == "could not be started: Too many open files"
    finally:
        for fd in fillers:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    garage.settle()
    assert (garage.pool.pids, count(garage)) == ((), 2)
    wait_for(lambda: not garage.children())


@pytest.mark.req("WARM-005")
def test_no_descriptors_while_an_interpreter_starts(garage: Garage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has started, and can't be compared with what was before: it ends, and nothing waits for it any more."""
    looks = []

    def look(*arguments: Any) -> Any:
        looks.append(arguments)
        if len(looks) == 2:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return facts_of(*arguments)

    monkeypatch.setattr("hookline.runners.warm.pool.facts_of", look)
    garage.script(COUNTS)
    before = {*REAPER.running}
    garage.run(garage.job(f"{garage.python} hook.py"))
    assert (len(looks), garage.pool.pids) == (2, ())
    wait_for(lambda: not garage.children() and before >= REAPER.running)


@pytest.mark.usefixtures("stays_stopped")
def test_a_spare_that_comes_too_late(parked: Garage) -> None:
    """It is waited for: no other code would reap it."""
    pool = parked.pool._pool
    (slot,) = pool._slots.values()
    assert slot.interpreter is not None
    os.kill(slot.interpreter.pid, signal.SIGSTOP)
    pool.discard(slot.interpreter.fork())
    parked.settle()
    assert len(pool._late) == 1
    os.kill(slot.interpreter.pid, signal.SIGCONT)
    assert parked.ways(parked.job(f"{parked.python} hook.py"), 1) == ["warm"]
    wait_for(lambda: not pool._late and len(parked.children()) == len(parked.pool.pids))


def test_a_keeper_without_a_descriptor() -> None:
    """Where none is left for its pidfd, its number is enough to reap it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    standby = Standby(ours)
    standby.announce()
    pid = os.posix_spawn("/bin/true", ["true"], {})
    with theirs:
        theirs.send(b"kept %d" % pid)
        standby.close()
    wait_for(lambda: pid not in children())


@pytest.mark.req("WARM-007")
def test_a_spare_must_be_a_child_that_lives() -> None:
    """Its number is used for signals: another process may have it by now."""
    dead = os.posix_spawn("/bin/true", ["true"], {})
    os.waitid(os.P_PID, dead, os.WEXITED | os.WNOWAIT)
    for pid in (os.getppid(), dead):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            theirs.send(b"%d" % pid)
            standby = Standby(ours)
            with pytest.raises(OSError):  # noqa: PT011 - of several kinds
                standby.look()
            assert standby.pid == 0
    wait_for(lambda: dead not in children())


@pytest.mark.req("WARM-014")
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_events(parked: Garage) -> None:
    """Descriptors, processes and memory stay as they are."""
    _flat(parked, 10_000)


def _flat(garage: Garage, events: int) -> None:
    # A run begins with the memory of the interpreter that it is a copy of.
    garage.script(f"{COUNTS}print(sys.getallocatedblocks())\n")
    job = garage.job(f"{garage.python} hook.py")
    ways: Counter[str] = Counter()

    async def fire(times: int) -> int:
        """Returns the blocks of memory that a warm run begins with."""
        blocks: list[int] = []
        for _ in range(times):
            (outcome,) = await garage.fire(job)
            word, number = outcome.stdout.split()
            assert word == b"ran"
            ways[outcome.way] += 1
            blocks += [int(number)] * (outcome.way == "warm")
        return min(blocks[-10:])

    def state() -> tuple[int, set[str]]:
        garage.settle()
        # Standbys that were just replaced are reaped within a moment.
        wait_for(lambda: len(garage.children()) == len(garage.pool.pids))
        return len(garage.pool.pids), descriptors()

    def used() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    with traced():
        garage.ways(job, 10)  # the first ones report what they used, and the interpreter loads that
        blocks = asyncio.run(fire(20))
        before, memory = state(), used()
        pages = _resident(garage.pool.pids[0])
        # What is loaded once may be loaded in either half; a leak shows in both.
        halves = [asyncio.run(fire(events // 2)) for _ in range(2)]
        after = state()
        # Less than one small object of each event.
        wait_for(lambda: used() - memory < max(24 * events, 8192))
    assert min(halves[0] - blocks, halves[1] - halves[0]) < events // 4
    assert after[0] == before[0]
    # Numbers and pipes of spares are others each time; files of other tests' threads come and go.
    assert len({each for each in after[1] if " /" not in each}) <= len({each for each in before[1] if " /" not in each})
    # Objects that its own loop holds are freed before a script runs, so that only its pages show it.
    assert _resident(garage.pool.pids[0]) - pages < (64 << 10) + 8 * events
    # A busy machine may take longer for a new spare than an event waits.
    assert ways["warm"] > 0.99 * (events + 20)


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
