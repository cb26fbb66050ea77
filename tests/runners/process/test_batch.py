import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
import uvloop
from tests.patience import LONG_S, is_alive, with_enough_time

from hookline.runners.process.batch import ChildLimits, ChildOutcome, run_children
from hookline.runners.process.command import spawn
from hookline.runners.process.features import FEATURES

if TYPE_CHECKING:
    from tests.conftest import HookScript
    from tests.runners.conftest import MakeJob, Run


def wait_until_gone(pid: int) -> bool:
    until = time.monotonic() + LONG_S
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_alive(pid)


async def pid_in(path: Path) -> int:
    """The number that a hook writes into a file when it is ready."""
    while True:
        text = read_if_there(path)
        if text.endswith("\n"):
            return int(text)
        await asyncio.sleep(0.01)


def read_if_there(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def facts(outcome: ChildOutcome) -> tuple[int | None, int | None, bool, bytes, bytes, bool, bool, str | None]:
    """Everything but the duration."""
    return (
        outcome.exit_code,
        outcome.signal,
        outcome.timed_out,
        outcome.stdout,
        outcome.stderr,
        outcome.stdout_truncated,
        outcome.stderr_truncated,
        outcome.error,
    )


@pytest.mark.req("HOOK-061")
@pytest.mark.parametrize("size", [0, 1, 1024, 65_536, 65_537, 1_000_000, 3_000_000])
def test_the_whole_input_arrives_and_ends(run: "Run", job: "MakeJob", size: int) -> None:
    """A hook reads exactly the bytes of its input, then the end."""
    data = os.urandom(size)
    (outcome,) = run(job("cat", stdin=data))
    assert facts(outcome) == (0, None, False, data, b"", False, False, None)


def test_stdin_is_a_pipe(run: "Run", job: "MakeJob") -> None:
    """Scripts may ask for a pipe, and open it by its name."""
    (outcome,) = run(job("[ -p /dev/stdin ] && cat /dev/stdin", stdin=b"data"))
    assert facts(outcome) == (0, None, False, b"data", b"", False, False, None)


@pytest.mark.req("HOOK-068", "HOOK-069")
def test_exit_code_and_both_streams_are_reported(run: "Run", job: "MakeJob") -> None:
    """The exit code, stdout and stderr of a hook arrive apart from each other."""
    (outcome,) = run(job("echo out; echo err >&2; exit 3"))
    assert facts(outcome) == (3, None, False, b"out\n", b"err\n", False, False, None)


def test_outcomes_come_in_the_order_of_the_jobs(run: "Run", job: "MakeJob") -> None:
    """The results have the order of the jobs, whichever ends first."""
    outcomes = run(job("sleep 0.3; echo slow"), job("echo quick"), job("sleep 0.1; echo middle"))
    assert [outcome.stdout for outcome in outcomes] == [b"slow\n", b"quick\n", b"middle\n"]


def test_no_jobs_have_no_outcomes(run: "Run") -> None:
    """Running nothing gives nothing."""
    assert run() == []


def test_all_jobs_run_at_the_same_time(run: "Run", job: "MakeJob") -> None:
    """Hooks of one call run together: each of these waits for the other."""
    meet = "touch {0}; until [ -e {1} ]; do sleep 0.01; done; echo met"
    outcomes = run(job(meet.format("x", "y")), job(meet.format("y", "x")))
    assert [outcome.stdout for outcome in outcomes] == [b"met\n", b"met\n"]


@pytest.mark.req("HOOK-117", "HOOK-119")
def test_at_its_deadline_a_hook_is_terminated_and_keeps_what_it_wrote(
    run: "Run", job: "MakeJob", tmp_path: Path
) -> None:
    """SIGTERM comes at the deadline; partial output is kept."""
    command = "echo partial; echo trouble >&2; touch written; exec sleep 60"
    given = list[float]()

    def attempt(timeout_ms: float) -> ChildOutcome:
        given.append(timeout_ms)
        return run(job(command, timeout_ms=timeout_ms))[0]

    outcome = with_enough_time(200, tmp_path / "written", attempt)
    assert facts(outcome) == (None, signal.SIGTERM, True, b"partial\n", b"trouble\n", False, False, None)
    assert given[-1] <= outcome.duration_ms < 50_000


@pytest.mark.req("HOOK-118")
def test_a_hook_that_ignores_term_is_killed_after_the_grace(run: "Run", job: "MakeJob", tmp_path: Path) -> None:
    """SIGKILL follows SIGTERM when the grace period is over, not before."""
    command, limits = "trap '' TERM; touch ready; while :; do sleep 0.05; done", ChildLimits(grace_s=0.4)
    outcome = with_enough_time(200, tmp_path / "ready", lambda ms: run(job(command, timeout_ms=ms), limits=limits)[0])
    assert facts(outcome)[:3] == (None, signal.SIGKILL, True)
    assert 600 <= outcome.duration_ms < 50_000


def test_survivors_of_the_group_are_killed_in_the_background(run: "Run", job: "MakeJob", tmp_path: Path) -> None:
    """A process that outlives the hook and ignores SIGTERM is killed after the grace period, in the background."""
    command = "(trap '' TERM; echo $BASHPID > survivor; touch ready; while :; do sleep 0.05; done) & wait"
    limits = ChildLimits(grace_s=1)
    outcome = with_enough_time(200, tmp_path / "ready", lambda ms: run(job(command, timeout_ms=ms), limits=limits)[0])
    assert facts(outcome)[:3] == (None, signal.SIGTERM, True)
    assert wait_until_gone(int((tmp_path / "survivor").read_text()))


def test_timeout_zero_is_at_once(run: "Run", job: "MakeJob", tmp_path: Path) -> None:
    """A timeout of 0 is a value: the hook has no time at all, so it is not started."""
    (outcome,) = run(job("touch ran", timeout_ms=0))
    assert facts(outcome) == (None, None, True, b"", b"", False, False, None)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "timeout_ms",
    [31_536_000_000, float("inf"), 1e300, 10**400, float("nan")],
    ids=["year", "inf", "1e300", "int", "nan"],
)
def test_any_size_of_timeout_is_allowed(run: "Run", job: "MakeJob", timeout_ms: float) -> None:
    """A very large timeout does not fire early."""
    (outcome,) = run(job("sleep 0.1; echo done", timeout_ms=timeout_ms))
    assert facts(outcome)[:4] == (0, None, False, b"done\n")


def test_background_output_within_the_grace_is_kept(run: "Run", job: "MakeJob") -> None:
    """Pipes are read for a moment after the hook's exit, or until EOF."""
    (outcome,) = run(job("(sleep 0.2; echo late) & echo early"), limits=ChildLimits(pipe_grace_s=10))
    assert facts(outcome)[:4] == (0, None, False, b"early\nlate\n")


@pytest.mark.req("HOOK-069")
def test_output_is_bounded_and_drained(run: "Run", job: "MakeJob") -> None:
    """Each stream is kept up to the limit; the rest is read and dropped, and the result is marked as cut."""
    command = "head -c 300000 /dev/zero; head -c 200 /dev/zero >&2; echo end >&2"
    (outcome,) = run(job(command), limits=ChildLimits(output_bytes=1000))
    assert facts(outcome) == (0, None, False, b"\0" * 1000, b"\0" * 200 + b"end\n", True, False, None)


def test_output_of_exactly_the_limit_is_whole(run: "Run", job: "MakeJob") -> None:
    """Output that just fits is not truncated."""
    (outcome,) = run(job("head -c 1000 /dev/zero"), limits=ChildLimits(output_bytes=1000))
    assert facts(outcome) == (0, None, False, b"\0" * 1000, b"", False, False, None)


def test_large_output_arrives_whole(run: "Run", job: "MakeJob") -> None:
    """More than a pipe holds arrives complete, on both streams."""
    (outcome,) = run(job("head -c 3000000 /dev/zero | tr '\\0' a; head -c 3000000 /dev/zero | tr '\\0' b >&2"))
    assert facts(outcome) == (0, None, False, b"a" * 3_000_000, b"b" * 3_000_000, False, False, None)


def test_every_hook_has_a_session_of_its_own(run: "Run", job: "MakeJob") -> None:
    """Process, group and session of a hook have the same number."""
    (outcome,) = run(job("ps -o pid=,pgid=,sid= -p $$; exit 0"))
    assert len(set(outcome.stdout.split())) == 1


def test_ignored_signals_are_not_inherited(run: "Run", job: "MakeJob") -> None:
    """SIGPIPE, which Python ignores, ends a hook's pipelines as usual."""
    (outcome,) = run(job("yes | head -n 1; echo ${PIPESTATUS[0]}"))
    assert outcome.stdout == b"y\n141\n"


def test_no_other_descriptor_is_inherited(run: "Run", job: "MakeJob") -> None:
    """A hook has its three standard descriptors and none of this program's, not even an inheritable one."""
    ours, other = os.pipe()
    os.set_inheritable(ours, True)
    try:
        (outcome,) = run(job("ls /proc/$$/fd; exit"))
    finally:
        os.close(ours)
        os.close(other)
    assert outcome.stdout.split() == [b"0", b"1", b"2"]


def test_the_environment_is_exactly_the_one_given(run: "Run", job: "MakeJob") -> None:
    """A hook gets only the variables of its job, and the mark of our children."""
    (outcome,) = run(job("env", env={"ONLY": "one\ntwo", "ÜMLAUT": "äöü"}))
    names = {line.partition(b"=")[0].decode() for line in outcome.stdout.split(b"\n") if b"=" in line}
    assert names == {"PATH", "HOME", "LLXPRT_PROJECT_DIR", "ONLY", "ÜMLAUT", "PWD", "SHLVL", "_", "HOOKLINE_RUN"}
    assert b"ONLY=one\ntwo\n" in outcome.stdout


@pytest.mark.req("HOOK-188")
def test_a_hook_runs_in_its_directory(run: "Run", job: "MakeJob", tmp_path: Path) -> None:
    """The working directory is that of the job."""
    inner = tmp_path / "in ner"
    inner.mkdir()
    (outcome,) = run(job("pwd", cwd=str(inner)))
    assert outcome.stdout == f"{inner}\n".encode()


@pytest.mark.parametrize(
    ("command", "cwd", "env", "sentence"),
    [
        pytest.param("true", "/no/dir", {}, "its working directory /no/dir can't be used: No such file", id="no dir"),
        pytest.param("true", "/dev/null", {}, "its working directory /dev/null can't be used: Not a dir", id="a file"),
        pytest.param("echo a\0b", None, {}, "embedded null byte", id="null byte in the command"),
        pytest.param("echo \ud800", None, {}, "surrogates not allowed", id="lone surrogate"),
        pytest.param("true", None, {"A=B": "c"}, "'A=B' is not a name of an environment variable", id="name with ="),
        pytest.param("true", None, {"A": "b\0"}, "embedded null byte", id="null byte in the environment"),
    ],
)
def test_a_hook_that_cannot_be_started_says_why_and_hurts_no_other(
    run: "Run", job: "MakeJob", command: str, cwd: str | None, env: dict[str, str], sentence: str
) -> None:
    """The error is written for people; the other hooks run."""
    good, refused = job("echo good"), job(command, cwd=cwd, env=env)
    first, second, third = run(good, refused, good)
    assert [first.stdout, third.stdout] == [b"good\n", b"good\n"]
    assert facts(second)[:7] == (None, None, False, b"", b"", False, False)
    assert second.error is not None
    assert second.error.startswith("could not be started: ")
    assert sentence in second.error


AUDITED = """
import asyncio, os, sys
from hookline.runners.process.batch import *
def refuse(event, _):
    if event == "subprocess.Popen":
        raise RuntimeError("no processes here")
sys.addaudithook(refuse)
job = ChildJob(command="true", stdin=b"", cwd="/", env=dict(os.environ), timeout_ms=15000)
print([outcome.error for outcome in asyncio.run(run_children([job, job]))], len(os.listdir("/proc/self/fd")))
"""


def test_a_program_that_forbids_processes_gets_a_refusal() -> None:
    """The exception of its audit hook is the reason for which the hook could not be started."""
    done = subprocess.run([sys.executable, "-c", AUDITED], capture_output=True, text=True, check=False)
    refused = "could not be started: no processes here"
    assert (done.stdout, done.stderr) == (f"{[refused, refused]} 4\n", "")


def test_the_limit_on_concurrent_hooks_makes_others_wait(run: "Run", job: "MakeJob", tmp_path: Path) -> None:
    """Above the limit jobs wait; all of them run."""
    (tmp_path / "now").mkdir()
    command = "touch now/$$; ls now | wc -l; sleep 0.05; rm now/$$"
    outcomes = run(*[job(command)] * 12, limits=ChildLimits(max_concurrent=3))
    counts = [int(outcome.stdout) for outcome in outcomes]
    assert len(counts) == 12
    assert max(counts) <= 3


@pytest.mark.usefixtures("each_path")
def test_the_limit_holds_for_all_loops_together(job: "MakeJob", tmp_path: Path) -> None:
    """Loops in several threads share one limit, and each gets its results."""
    (tmp_path / "now").mkdir()
    jobs = [job("touch now/$$; ls now | wc -l; sleep 0.05; rm now/$$")] * 4
    outcomes: list[ChildOutcome] = []

    def in_thread() -> None:
        outcomes.extend(asyncio.run(run_children(jobs, limits=ChildLimits(max_concurrent=2))))

    threads = [threading.Thread(target=in_thread) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = [int(outcome.stdout) for outcome in outcomes]
    assert len(counts) == 12
    assert max(counts) <= 2


@pytest.mark.usefixtures("each_path")
@pytest.mark.parametrize("kind", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_cancelling_ends_every_hook_and_its_group(kind: "type", job: "MakeJob", tmp_path: Path) -> None:
    """When the caller is cancelled nothing is left running."""

    async def main() -> list[int]:
        command = "sleep 60 & echo $! > {0}; wait"
        task = asyncio.create_task(run_children([job(command.format(name)) for name in "abc"]))
        pids = [await pid_in(tmp_path / name) for name in "abc"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids

    loop = kind()
    try:
        pids = loop.run_until_complete(main())
    finally:
        loop.close()
    assert [wait_until_gone(pid) for pid in pids] == [True] * 3


@pytest.mark.usefixtures("each_path")
def test_a_cancelled_hook_gets_its_grace(job: "MakeJob", tmp_path: Path) -> None:
    """A cancellation sends SIGTERM first, so that a hook can clean up, and waits for its exit."""

    async def main() -> None:
        command = "trap 'sleep 0.2; touch cleaned; exit' TERM; echo $$ > ready; while :; do sleep 0.02; done"
        task = asyncio.create_task(run_children([job(command)], limits=ChildLimits(grace_s=60)))
        await pid_in(tmp_path / "ready")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (tmp_path / "cleaned").exists()


@pytest.mark.usefixtures("each_path")
def test_being_cancelled_twice_kills_at_once(job: "MakeJob", tmp_path: Path) -> None:
    """An impatient caller does not wait for the grace period."""

    async def main() -> int:
        command = "trap '' TERM; echo $$ > ready; while :; do sleep 0.02; done"
        task = asyncio.create_task(run_children([job(command)], limits=ChildLimits(grace_s=600)))
        pid = await pid_in(tmp_path / "ready")
        task.cancel()
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pid

    assert wait_until_gone(asyncio.run(main()))


@pytest.mark.usefixtures("each_path")
def test_waiting_jobs_are_not_started_after_a_cancellation(job: "MakeJob", tmp_path: Path) -> None:
    """A job that waits for a slot when the caller is cancelled never runs, and blocks no other job."""

    async def main() -> None:
        jobs = [job("echo $$ > first; sleep 60"), job("touch second")]
        limits = ChildLimits(max_concurrent=1)
        task = asyncio.create_task(run_children(jobs, limits=limits))
        await pid_in(tmp_path / "first")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (after,) = await run_children([job("echo after")], limits=limits)
        assert after.stdout == b"after\n"

    asyncio.run(main())
    assert not (tmp_path / "second").exists()


@pytest.mark.usefixtures("each_path")
def test_the_loop_goes_on_while_hooks_run(job: "MakeJob", tmp_path: Path) -> None:
    """Running hooks never block the loop: they wait for another task, which has its turns during that."""
    go = tmp_path / "go"

    async def have_turns() -> None:
        for _ in range(10):
            await asyncio.sleep(0.01)
        go.touch()

    async def main() -> list[ChildOutcome]:
        turns = asyncio.create_task(have_turns())
        outcomes = await run_children([job(f"until [ -e {go} ]; do sleep 0.01; done", timeout_ms=30_000)] * 3)
        await turns
        return outcomes

    assert [(outcome.exit_code, outcome.timed_out) for outcome in asyncio.run(main())] == [(0, False)] * 3


def test_a_loop_outside_the_main_thread_will_do(run: "Run", job: "MakeJob") -> None:
    """Hooks run from a loop in any thread."""
    outcomes: list[ChildOutcome] = []
    thread = threading.Thread(target=lambda: outcomes.extend(run(job("cat", stdin=b"hello"))))
    thread.start()
    thread.join()
    assert [outcome.stdout for outcome in outcomes] == [b"hello"]


SURVIVOR = """
import asyncio, os, sys
from hookline.runners.process.batch import *
command = "(trap '' TERM; echo $BASHPID; touch ready; while :; do sleep 0.05; done) & wait"
job = ChildJob(command=command, stdin=b"", cwd=sys.argv[1], env=dict(os.environ), timeout_ms=float(sys.argv[2]))
(outcome,) = asyncio.run(run_children([job], limits=ChildLimits(grace_s=600)))
print(outcome.timed_out, *outcome.stdout.decode().split())
"""


def test_survivors_are_killed_when_the_program_ends(tmp_path: Path) -> None:
    """When the program ends, the rest of a timed-out process group is killed without a grace period."""

    def attempt(timeout_ms: float) -> list[str]:
        command = [sys.executable, "-c", SURVIVOR, str(tmp_path), str(timeout_ms)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONG_S).stdout.split()

    timed_out, pid = with_enough_time(400, tmp_path / "ready", attempt)
    assert timed_out == "True"
    assert wait_until_gone(int(pid))


INTERRUPTED = """
import asyncio, os, sys
from hookline.runners.process.batch import *
job = ChildJob(command="echo $$ > ready; sleep 60; :", stdin=b"", cwd=sys.argv[1], env=dict(os.environ), timeout_ms=1e9)
asyncio.run(run_children([job]))
"""


def test_ctrl_c_reaches_hooks(tmp_path: Path) -> None:
    """A hook has a separate session, so an interrupt of the program is passed on to it."""
    program = subprocess.Popen([sys.executable, "-c", INTERRUPTED, str(tmp_path)], stderr=subprocess.PIPE)
    pid = asyncio.run(pid_in(tmp_path / "ready"))
    program.send_signal(signal.SIGINT)
    _, stderr = program.communicate(timeout=LONG_S)
    assert b"KeyboardInterrupt" in stderr
    assert wait_until_gone(pid)


FORKED = """
import asyncio, os, sys, threading, time
from hookline.runners.process.batch import *
os.chdir(sys.argv[1])
command = "echo $$ > ready; until [ -e go ]; do sleep 0.02; done; echo hello"
job = ChildJob(command=command, stdin=b"", cwd=sys.argv[1], env=dict(os.environ), timeout_ms=15000)
thread = threading.Thread(target=lambda: print(asyncio.run(run_children([job]))[0].stdout))
thread.start()
while not os.path.exists("ready"):
    time.sleep(0.01)
pid = os.fork()
if not pid:
    sys.exit(0)
os.waitpid(pid, 0)
open("go", "w").close()
thread.join()
"""


def test_a_forked_copy_of_the_program_leaves_the_hooks_alone(tmp_path: Path) -> None:
    """Hooks belong to the process that started them; a fork of it may end without ending them."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG_S)
    assert (done.stdout, done.stderr) == ("b'hello\\n'\n", "")


CLOSED_STDIO = """
import asyncio, os
from hookline.runners.process.batch import *
for fd in (0, 1, 2):
    os.close(fd)
job = ChildJob(command="cat; echo err >&2", stdin=b"in", cwd="/", env=dict(os.environ), timeout_ms=15000)
outcome = asyncio.run(run_children([job]))[0]
missing = asyncio.run(run_children([ChildJob(command="x", stdin=b"", cwd="/nowhere", env={}, timeout_ms=15000)]))[0]
is_right = (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, b"in", b"err\\n") and missing.error
os._exit(42 if is_right else 1)
"""


@pytest.mark.parametrize("path", ["", "threads"])
def test_a_program_without_standard_descriptors_can_run_hooks(path: str) -> None:
    """Pipes that get the numbers 0 to 2 in our own process are not mixed up in the child."""
    env = {**os.environ, "HOOKLINE_CHILD": path}
    done = subprocess.run([sys.executable, "-c", CLOSED_STDIO], check=False, timeout=LONG_S, env=env)
    assert done.returncode == 42


def test_every_path_gives_the_same_outcomes(job: "MakeJob") -> None:
    """The outcome of a hook does not depend on how it was started and watched."""
    jobs = [job("echo a; exit 4"), job("cat", stdin=b"b" * 100_000), job("nonsense-command"), job("kill $$")]
    seen = []
    for pidfd in (True, False):
        for direct in (True, False):
            with patch.multiple(FEATURES, pidfd=pidfd, direct=direct):
                seen.append([facts(outcome) for outcome in asyncio.run(run_children(jobs))])
    assert seen == [seen[0]] * 4


def test_a_repeated_cancellation_counts_once(job: "MakeJob", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks keep their grace period when a framework cancels in every turn of the loop."""
    # On a busy machine a tenth of a second can pass between two turns.
    monkeypatch.setattr("hookline.runners.process.batch._SAME_CANCELLATION_S", 60.0)

    async def main() -> None:
        command = "trap 'sleep 0.2; touch cleaned; exit' TERM; echo $$ > ready; while :; do sleep 0.02; done"
        task = asyncio.create_task(run_children([job(command)], limits=ChildLimits(grace_s=60)))
        await pid_in(tmp_path / "ready")
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)

    asyncio.run(main())
    assert (tmp_path / "cleaned").exists()


def test_a_script_that_is_just_being_written(run: "Run", job: "MakeJob", hook_script: "HookScript") -> None:
    """The kernel refuses to start it then, so it is started a moment later: a guard must not be left out for that."""
    script = hook_script("echo ran")
    writer = script.open("a")
    threading.Timer(0.05, writer.close).start()
    (outcome,) = run(job(str(script)))
    assert (outcome.exit_code, outcome.stdout, outcome.error) == (0, b"ran\n", None)


def test_a_script_that_stays_open_for_writing(run: "Run", job: "MakeJob", hook_script: "HookScript") -> None:
    """It is tried five times more, whatever other hooks do during that; many such hooks share these five."""
    script = hook_script("echo ran")
    given_up = script.with_name("given_up")
    with script.open("a"), patch("hookline.runners.process.command.spawn", wraps=spawn) as starts:
        other, *outcomes, _ = run(
            job(f"while ! [ -e {given_up} ]; do sleep 0.01; done; echo other"),
            *[job(str(script))] * 40,
            job(f"touch {given_up}"),
        )
    assert other.stdout == b"other\n"
    assert starts.call_count == 40 + 5 + 2
    for outcome in outcomes:
        assert f"could not be started: {script}, or its interpreter, is open for writing" in str(outcome.error)
        assert not outcome.is_shortage
    assert outcomes[0].duration_ms >= 310


def test_a_script_that_stays_open_for_writing_longer_than_its_timeout(
    run: "Run", job: "MakeJob", hook_script: "HookScript"
) -> None:
    """It is not tried again once its time is over."""
    script = hook_script("echo ran")
    with script.open("a"), patch("hookline.runners.process.command.spawn", wraps=spawn) as starts:
        (outcome,) = run(job(str(script), timeout_ms=5))
    assert starts.call_count == 2
    assert "is open for writing" in str(outcome.error)
