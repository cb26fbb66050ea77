from typing import Any

import pytest

from hookline.protocol.constants import ConfigSource, OnError
from hookline.protocol.hook_entry import HookEntry, ResourceLimits, WorkerOptions
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer
from hookline.settings.trust.fingerprint import fingerprint

FAILS = "; the hook fails, and blocks where it can, until you fix or remove it"
COUNT = "(expected a whole number of at least 1)"
SIZE = '(expected a whole number of bytes, or a string such as "256MB")'


def decode(**options: Any) -> tuple[HookEntry, list[str]]:
    """A hook with these options, and the problems below its place."""
    hook = {"type": "command", "command": "x", **options}
    values = {"hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    settings = decode_settings([Layer(source=ConfigSource.USER, origin="user.json", values=values)])
    (entry,) = settings.hooks
    return entry, [str(problem).rpartition("hooks[0].")[2] for problem in settings.problems]


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"limits": None}, None, id="null"),
        pytest.param({"limits": {}}, None, id="empty"),
        pytest.param({"limits": {"cpu": None}}, None, id="a-null-limit"),
        pytest.param({"network": True}, None, id="network"),
        pytest.param({"network": False}, ResourceLimits(network=False), id="no-network"),
        pytest.param({"limits": {"memory": 1000}}, ResourceLimits(memory_bytes=1000), id="bytes"),
        pytest.param({"limits": {"memory": "64KB"}}, ResourceLimits(memory_bytes=65536), id="KB"),
        pytest.param({"limits": {"memory": "256MB"}}, ResourceLimits(memory_bytes=268435456), id="MB"),
        pytest.param({"limits": {"memory": "2 GiB"}}, ResourceLimits(memory_bytes=2147483648), id="GiB"),
        pytest.param(
            {"limits": {"cpu": 1, "processes": 2, "files": 3}, "network": False},
            ResourceLimits(cpu_s=1, processes=2, files=3, network=False),
            id="all-others",
        ),
    ],
)
def test_limits_are_read(options: dict[str, Any], limits: ResourceLimits | None) -> None:
    """Sizes are bytes or have a unit; what is not given, or null, is not limited."""
    entry, problems = decode(**options)
    assert (entry.limits, entry.refusal, problems) == (limits, None, [])


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        pytest.param(5, 'limits is a number, expected an object such as {"memory": "256MB", "cpu": 10}', id="number"),
        pytest.param({"memory": "much"}, f"limits.memory can't be used {SIZE}", id="no-size"),
        pytest.param({"memory": "1.5GB"}, f"limits.memory can't be used {SIZE}", id="fraction"),
        pytest.param({"memory": -1}, f"limits.memory can't be used {SIZE}", id="negative"),
        pytest.param({"memory": 1 << 64}, f"limits.memory can't be used {SIZE}", id="too-large"),
        pytest.param({"cpu": True}, f"limits.cpu can't be used {COUNT[:-1]}, in seconds)", id="bool"),
        pytest.param({"processes": 0}, f"limits.processes can't be used {COUNT}", id="zero"),
        pytest.param({"files": "10"}, f"limits.files can't be used {COUNT}", id="string"),
        pytest.param(
            {"mem": 1}, "limits.mem does not exist; the options are memory, cpu, processes, files", id="unknown"
        ),
    ],
)
def test_a_limit_that_can_not_be_understood_makes_the_hook_fail(limits: Any, problem: str) -> None:
    """It is never dropped: the hook stays planned, so that its onError counts, and does not run without the limit."""
    entry, problems = decode(limits=limits)
    assert (entry.refusal, entry.on_error, problems) == (f"its {problem}", OnError.BLOCK, [problem + FAILS])


def test_each_wrong_limit_is_reported() -> None:
    """The hook fails with the first one."""
    entry, problems = decode(limits={"cpu": "x", "mem": 1, "files": 5})
    assert entry.refusal == f"its limits.cpu can't be used {COUNT[:-1]}, in seconds)"
    assert [said.partition(" ")[0] for said in problems] == ["limits.cpu", "limits.mem"]


@pytest.mark.parametrize(
    ("worker", "options"),
    [
        (True, WorkerOptions()),
        ({}, WorkerOptions()),
        (False, None),
        (None, None),
        ({"fallback": "cold"}, WorkerOptions(runs_cold=True)),
        (
            {"fallback": "fail", "restartAfter": 7, "memory": "64MB"},
            WorkerOptions(restart_after=7, memory_bytes=1 << 26),
        ),
        ({"memory": 5}, WorkerOptions(memory_bytes=5)),
    ],
)
def test_workers_are_read(worker: Any, options: WorkerOptions | None) -> None:
    """True, or an object with options."""
    entry, problems = decode(worker=worker)
    assert (entry.worker, entry.refusal, problems) == (options, None, [])


@pytest.mark.parametrize(
    ("worker", "problem"),
    [
        ("yes", 'worker is a string, expected true or an object such as {"restartAfter": 1000}'),
        ({"restart": 1}, "worker.restart does not exist; the options are fallback, restartAfter, memory"),
        ({"restartAfter": 0}, "worker.restartAfter can't be used (expected a whole number of at least 1)"),
        ({"fallback": "warm"}, 'worker.fallback can\'t be used (expected "fail" or "cold")'),
        ({"memory": "lots"}, "worker.memory can't be used (expected a whole number of bytes, or a string such as"),
    ],
)
def test_a_worker_that_is_not_understood_fails_and_blocks(worker: Any, problem: str) -> None:
    """Its program may be written to stay: started for one event it would let everything through."""
    entry, (found,) = decode(worker=worker)
    assert found.startswith(problem)
    assert found.endswith(FAILS)
    assert (entry.worker, entry.on_error) == (None, OnError.BLOCK)
    assert entry.refusal is not None


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "a hook whose settings are wrong blocks until you fix them"),
        ({"onError": "allow"}, "a hook whose settings are wrong blocks until you fix them"),
        ({"onError": "block"}, "its onError is block"),
        ({"onFailure": "block"}, "its onError is block"),
        ({"required": True}, "it is required"),
    ],
)
@pytest.mark.parametrize("wrong", [{"worker": "yes"}, {"limits": "few"}])
def test_a_message_says_why_a_wrong_hook_blocks(wrong: dict[str, Any], options: dict[str, Any], why: str) -> None:
    """Not that its onError is block, where the file says allow."""
    assert decode(**wrong, **options)[0].fail_closed_reason == why


def test_a_worker_speaks_no_other_dialect() -> None:
    """The lines are ours, and the answers in them are read by our rules."""
    entry, (found,) = decode(worker=True, dialect="claude")
    assert found == f"worker needs the dialect hookline, and this hook has the dialect claude{FAILS}"
    assert entry.refusal is not None


def test_other_types_are_no_workers() -> None:
    """A server stays in any case."""
    entry, (found,) = decode(type="http", command=None, url="http://localhost/", worker=True)
    assert (entry.worker, entry.refusal) == (None, None)
    assert found == 'worker has no effect on a hook of type "http"; remove it'


def test_trust_covers_how_it_is_run() -> None:
    """A command that was accepted to run once is another thing than one that stays."""
    prints = {fingerprint(decode(worker=worker)[0], "/").digest for worker in (None, True, {"restartAfter": 2})}
    assert len(prints) == 3
