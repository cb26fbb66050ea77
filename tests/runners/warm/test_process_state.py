"""The state that an interpreter inherits when it starts: each part of it makes a difference."""

import os
import re
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from hookline.runners.process.command import Invocation
from hookline.runners.warm import process_state
from hookline.runners.warm.launch_spec import LaunchSpec, signature
from hookline.runners.warm.process_state import facts_of, own_state

SPEC = LaunchSpec((sys.executable,), sys.executable, "hook.py", "", False)


@pytest.mark.req("WARM-003")
@pytest.mark.parametrize(
    "name",
    [
        *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LD_PRELOAD", "LD_LIBRARY_PATH", "TZ", "TZDIR", "HOME", "LOCPATH"),
        *("PYTHONPATH", "PYTHONHOME", "PYTHONUTF8", "PYENV_VERSION", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX"),
        "OPENSSL_CONF",
    ],
)
def test_variables_that_are_read_at_the_start(name: str) -> None:
    """With another value, or with none, a run would start in another way."""
    found = [
        facts_of(SPEC, Invocation(b"python", ("python",), env), "/")
        for env in ((), (f"{name}=1".encode(),), (f"{name}=2".encode(),))
    ]
    assert None not in found
    assert len({*found}) == 3


@pytest.mark.req("WARM-003")
@pytest.mark.parametrize(
    "name",
    [
        *("Umask", "Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Cpus_allowed"),
        *("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"),
    ],
)
def test_what_a_child_inherits_is_compared(name: str) -> None:
    """Most of it can't be changed by a test, or not without privileges."""
    line = re.search(rf"^{name}:.*", Path("/proc/self/status").read_text(), re.MULTILINE)
    if line is None:
        pytest.skip("this kernel has none")
    assert line[0].encode() in own_state()


@pytest.mark.parametrize("name", ["PATH", "USER", "TMPDIR", "XDG_CONFIG_HOME", "HOMEPAGE"])
def test_other_variables(name: str) -> None:
    """They are passed on, so they need no other interpreter."""
    found = [facts_of(SPEC, Invocation(b"python", ("python",), env), "/") for env in ((), (f"{name}=1".encode(),))]
    assert found[0] == found[1]


@pytest.mark.req("WARM-003")
def test_another_time_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The C library has read the file of it when it started."""
    invocation = Invocation(b"python", ("python",), ())
    before = facts_of(SPEC, invocation, "/")
    assert before == facts_of(SPEC, invocation, "/")
    changed = "/etc/localtime"  # which is not ours to change
    monkeypatch.setattr(process_state, "signature", lambda path: (1,) if path == changed else signature(path))
    assert before != facts_of(SPEC, invocation, "/")


@pytest.mark.req("WARM-003")
def test_what_a_thread_hands_on() -> None:
    """Its blocked signals, its priority and how it is scheduled; the system keeps them for each thread."""

    def in_a_thread() -> tuple[bool, bool, bool]:
        before = own_state()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        blocked = own_state()
        os.setpriority(os.PRIO_PROCESS, 0, priority + 1)
        lower = own_state()
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        return before != blocked, blocked != lower, lower != own_state()

    priority = os.getpriority(os.PRIO_PROCESS, 0)
    with ThreadPoolExecutor(1) as pool:
        # There is no lower priority than 19.
        assert pool.submit(in_a_thread).result() == (True, priority < 19, True)


@pytest.mark.req("WARM-003")
def test_which_process_the_system_ends_first() -> None:
    """Children also inherit that."""
    score = Path("/proc/self/oom_score_adj")
    before, known = score.read_text(), own_state()
    if int(before) >= 1000:
        pytest.skip("there is no higher score")
    score.write_text(str(int(before) + 1))
    try:
        assert own_state() != known
    finally:
        with suppress(PermissionError):  # only root may set a lower one
            score.write_text(before)
