from typing import Any

import pytest

from hookline.protocol.constants import ConfigSource, OnError
from hookline.protocol.hook_entry import HookEntry, WorkerOptions
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer
from hookline.settings.trust.fingerprint import fingerprint

FAILS = "; the hook fails, and blocks where it can, until you fix or remove it"


def decode(**options: Any) -> tuple[HookEntry, list[str]]:
    """A hook with these options, and the problems below its place."""
    hook = {"type": "command", "command": "x", **options}
    values = {"hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    settings = decode_settings([Layer(source=ConfigSource.USER, origin="user.json", values=values)])
    (entry,) = settings.hooks
    return entry, [str(problem).rpartition("hooks[0].")[2] for problem in settings.problems]


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
