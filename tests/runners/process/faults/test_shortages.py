"""Programs and systems that make it hard to run hooks. Each runs in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import asyncio, gc, os, resource, signal, sys, time
from hookline.runners.process.batch import *
def job(command, **more):
    usual = {"stdin": b"in", "cwd": "/", "env": dict(os.environ), "timeout_ms": 15000}
    return ChildJob(command=command, **{**usual, **more})
def run(*jobs, **more):
    return asyncio.run(run_children(jobs, **more))
def descriptors():
    return len(os.listdir("/proc/self/fd"))
def is_alive(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
"""

PATHS = pytest.mark.parametrize("path", ["", "threads"], ids=["best", "plain"])


def program(code: str, path: str, *arguments: str, timeout: float = 45) -> list[str]:
    """The lines that a Python program prints."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, *arguments],
        env={**os.environ, "HOOKLINE_CHILD": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@PATHS
def test_more_hooks_at_once_than_descriptors(path: str) -> None:
    """500 hooks under `ulimit -n 256` take their turns, and leave descriptors for others."""
    code = """
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
before = descriptors()
async def main():
    running = asyncio.create_task(run_children([job("cat")] * 500))
    most = 0
    while not running.done():
        most = max(most, descriptors())
        await asyncio.sleep(0.001)
    return most, await running
most, outcomes = asyncio.run(main())
print({(o.exit_code, o.stdout, o.error) for o in outcomes}, len(outcomes), most < 250, descriptors() - before)
"""
    assert program(code, path) == ["{(0, b'in', None)} 500 True 0"]


@PATHS
def test_descriptors_taken_by_others_are_waited_for(path: str) -> None:
    """When the program itself has used up its descriptors, hooks wait a moment for some of them."""
    code = """
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
async def main():
    asyncio.get_running_loop().call_later(0.1, lambda: [os.close(fd) for fd in taken])
    running = asyncio.create_task(run_children([job("cat")] * 3))
    await asyncio.sleep(0)
    return await running
taken = []
async def occupied():
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        return await main()
print([(o.exit_code, o.stdout, o.error) for o in asyncio.run(occupied())])
"""
    assert program(code, path) == [str([(0, b"in", None)] * 3)]


@PATHS
def test_no_descriptor_at_all(path: str) -> None:
    """A hook that can't get a pipe fails open with the reason."""
    code = """
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
async def main():
    taken = []
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        outcomes = await run_children([job("cat")] * 2)
    for fd in taken:
        os.close(fd)
    return outcomes
print([(o.exit_code, o.timed_out, o.error) for o in asyncio.run(main())])
"""
    expected = (None, False, "could not be started: Too many open files")
    assert program(code, path) == [str([expected, expected])]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become the test user that is refused processes")
@PATHS
def test_the_system_refuses_processes(path: str) -> None:
    """With EAGAIN from the system a hook fails open with the reason; when there is room again, hooks run again."""
    code = """
# A separate user, in this process alone: no other process on the machine is counted or refused.
for module in ("asyncio", "encodings.idna", "selectors"):
    __import__(module)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 4096))
os.setresgid(64217, 64217, 64217)
os.setresuid(64217, 64217, 64217)
os.environ["HOME"] = "/"
print([(o.exit_code, o.timed_out, o.error) for o in run(job("cat"), job("echo b; :"))])
resource.setrlimit(resource.RLIMIT_NPROC, (64, 4096))
print([(o.exit_code, o.stdout) for o in run(job("cat"), job("echo b; :"))])
"""
    if path and sys.platform == "linux":
        code = code.replace('"selectors"', '"selectors", "subprocess", "threading"')
    refused = (None, False, "could not be started: Resource temporarily unavailable")
    lines = program(code, path)
    assert lines == [str([refused, refused]), str([(0, b"in"), (0, b"b\n")])]


@PATHS
def test_the_program_ignores_sigchld(path: str) -> None:
    """The kernel then throws the status away, so a program in front of the hook reports it."""
    code = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
before = descriptors()
for o in run(job("cat; exit 3"), job("sleep 60", timeout_ms=400), job("echo quick"), job("kill -9 $$"), job("nosuch")):
    print(o.exit_code, o.signal, o.timed_out, o.stdout, o.error, o.is_status_lost)
inherited = "import signal; print(signal.getsignal(signal.SIGCHLD))"
print(*[o.stdout for o in run(job(f"{sys.executable} -c '{inherited}'"))], descriptors() == before)
"""
    assert program(code, path) == [
        "3 None False b'in' None False",
        "None 15 True b'' None False",
        "0 None False b'quick\\n' None False",
        "None 9 False b'' None False",
        "127 None False b'' None False",
        "b'0\\n' True",
    ]


@PATHS
def test_the_report_of_a_status_is_prevented(path: str) -> None:
    """A hook that ends the program in front of it, which would report its status, has an unknown one."""
    code = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for o in run(job("kill -9 $PPID; exit 3")):
    print(o.exit_code, o.timed_out, o.is_status_lost, "exit status was lost" in o.error)
"""
    assert program(code, path) == ["None False True True"]


@PATHS
def test_a_thread_of_the_program_reaps_every_child(path: str) -> None:
    """The first status may be lost, and that is known; from then on all of them are reported."""
    code = """
import threading, time
def reap():
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            time.sleep(0.001)
threading.Thread(target=reap, daemon=True).start()
is_known = lambda o: o.is_status_lost or (o.exit_code, o.error) == (3, None)
lost = False
while not lost:
    seen = run(job("cat; exit 3"))
    assert all(map(is_known, seen))
    lost = any(o.is_status_lost for o in seen)
print([(o.exit_code, o.error) for o in run(*[job("cat; exit 3")] * 10)] == [(3, None)] * 10)
"""
    assert program(code, path) == ["True"]


@PATHS
def test_the_program_dies_of_broken_pipes(path: str) -> None:
    """With SIGPIPE as filters have it, a hook that does not read its input does not end the program."""
    code = """
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
large = b"x" * 3_000_000
outcomes = run(*[job("exit 3", stdin=large), job("exec <&-; sleep 0.1", stdin=large), job("wc -c", stdin=large)] * 2)
print([o.exit_code for o in outcomes], outcomes[2].stdout, signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL)
print(signal.sigpending(), signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""
    assert program(code, path) == ["[3, 0, 0, 3, 0, 0] b'3000000\\n' True", "set() set()"]


@PATHS
def test_the_program_reaps_every_child(path: str) -> None:
    """With a handler that waits for any child, the statuses are reported."""
    code = """
def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
signal.signal(signal.SIGCHLD, reap)
for o in run(*[job("cat; exit 3")] * 20):
    print(o.exit_code, o.error, o.signal, o.stdout)
"""
    assert program(code, path) == ["3 None None b'in'"] * 20


@PATHS
def test_the_loop_is_closed_while_hooks_run(path: str, tmp_path: Path) -> None:
    """When loop and task are gone, so are the hooks, their zombies and their descriptors."""
    code = """
before = descriptors()
ready = sys.argv[1]
loop = asyncio.new_event_loop()
async def until_ready():
    while not (os.path.exists(ready) and open(ready).read().endswith("\\n")):
        await asyncio.sleep(0.01)
task = loop.create_task(run_children([job(f"echo $$ > {ready}; sleep 60; :")] * 1))
loop.run_until_complete(until_ready())
pid = int(open(ready).read())
loop.set_exception_handler(lambda *_: None)
task._log_destroy_pending = False
loop.close()
del task, loop
gc.collect()
until = time.monotonic() + 45
# A thread looks for strays of the hook in /proc meanwhile, and has files open there for a moment.
left = None
while left != (False, 0) and time.monotonic() < until:
    time.sleep(0.01)
    left = (os.path.exists(f"/proc/{pid}"), descriptors() - before)
print(*left)
"""
    assert program(code, path, str(tmp_path / "ready")) == ["False 0"]


@PATHS
def test_the_program_ends_while_hooks_run(path: str, tmp_path: Path) -> None:
    """Hooks of a loop that was never finished end with the program."""
    code = """
ready = sys.argv[1]
loop = asyncio.new_event_loop()
async def until_ready():
    while not (os.path.exists(ready) and open(ready).read().endswith("\\n")):
        await asyncio.sleep(0.01)
task = loop.create_task(run_children([job(f"trap '' TERM; echo $$ > {ready}; while :; do sleep 0.1; done")]))
loop.run_until_complete(until_ready())
task._log_destroy_pending = False
print(open(ready).read())
"""
    (pid, _) = program(code, path, str(tmp_path / "ready"))
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


@PATHS
def test_the_wall_clock_jumps(path: str) -> None:
    """Only the monotonic clock counts: neither deadlines nor durations follow the wall clock."""
    code = """
import itertools
jumps = itertools.cycle((0.0, 4e9, 1e9))
time.time = lambda: next(jumps)
time.time_ns = lambda: int(next(jumps) * 1e9)
late, early = run(job("sleep 60", timeout_ms=500), job("sleep 0.2; cat"))
print(late.timed_out, 500 <= late.duration_ms < 10000, early.timed_out, early.stdout, 200 <= early.duration_ms < 10000)
"""
    assert program(code, path) == ["True True False b'in' True"]


@pytest.mark.slow
@pytest.mark.timeout(240)
@PATHS
def test_ten_thousand_hooks_in_a_row(path: str) -> None:
    """Descriptors, memory and our own processor time per hook stay flat."""
    code = """
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
async def main():
    hook = job("/bin/true")
    spans = []
    for span in range(10):
        begin = time.process_time()
        for _ in range(1000):
            (outcome,) = await run_children([hook])
            assert outcome.exit_code == 0
        spans.append((time.process_time() - begin, descriptors(), resident()))
    return spans
spans = asyncio.run(main())
times, fds, memory = zip(*spans)
print(len(set(fds)), memory[-1] - memory[1] < 4_000_000, min(times[5:]) < 3 * min(times[:5]))
"""
    assert program(code, path, timeout=220) == ["1 True True"]
