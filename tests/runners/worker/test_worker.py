"""Workers: a process that stays, asked line by line. Each test runs real processes on a separate loop."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from tests.patience import LONG_S, is_alive, with_enough_time

from hookline.protocol.hook_entry import ResourceLimits, WorkerOptions
from hookline.runners.process.job import ChildOutcome
from hookline.runners.worker import worker as worker_module
from hookline.runners.worker.event import WorkerEvent
from hookline.runners.worker.process import WorkerProcess
from hookline.runners.worker.worker import MOST_WAITING, Worker

if TYPE_CHECKING:
    from tests.conftest import HookScript
    from tests.runners.conftest import MakeJob

BEGIN = """echo '{"ready": true}'"""


def loop(body: str) -> str:
    """A worker in sh, after its first line: what it does for each event."""
    read_id = "id=${line#*'\"id\":\"'}; id=${id%%'\"'*}"
    return f"while read -r line; do {read_id}; echo $id >> asked; {body}; done"


def answer(fields: str, *words: str) -> str:
    """The command that answers with these fields of JSON; %s in them stands for a word."""
    more = "".join(f' "{word}"' for word in words)
    return f"""printf '{{"id":"%s",{fields}}}\\n' "$id\"{more}"""


ANSWER = answer('"output":{"decision":"allow"}')
GOOD = f"{BEGIN}; {loop(ANSWER)}"
# A whole answer, but for its line break.
UNENDED = """printf '{"id":"%s","exit":2}' "$id\""""
ALLOWED = b'{"decision":"allow"}'
# It answers the first event at once, and the others when the file `go` is there.
_UNTIL_GO = "if [ -e first ]; then while ! [ -e go ]; do sleep 0.02; done; fi; touch first"
WAITING = f"{BEGIN}; {loop(f'{_UNTIL_GO}; {ANSWER}')}"


class Shop:
    """A worker, and what was noted about it."""

    def __init__(self, worker: Worker, notes: list[tuple[str, bytes]]) -> None:
        self.worker = worker
        self.notes = notes

    def begin(self, *, timeout_ms: float = 15_000, stdin: bytes = b"{}") -> "asyncio.Future[ChildOutcome | None]":
        """Asks about an event."""
        answer: asyncio.Future[ChildOutcome | None] = asyncio.get_running_loop().create_future()
        event = WorkerEvent("BeforeTool", stdin, timeout_ms, answer.set_result)
        self.worker.enqueue(event)
        return answer

    async def ask(self, **options: Any) -> ChildOutcome:
        """Asks about an event and waits for the outcome, which there must be."""
        outcome = await self.begin(**options)
        assert outcome is not None
        return outcome

    @property
    def texts(self) -> str:
        """All notes together."""
        return "\n".join(text for text, _ in self.notes)


Use = Callable[[Shop], Awaitable[None]]
RunWorker = Callable[..., None]


@pytest.fixture
def run_worker(job: "MakeJob") -> RunWorker:
    """Runs a test with a worker of this command, which is closed afterwards."""

    def run(command: str, use: Use, options: WorkerOptions | None = None, **more: Any) -> None:
        async def main() -> None:
            notes: list[tuple[str, bytes]] = []
            most_bytes = more.pop("most_bytes", 100_000)
            outdated = more.pop("is_outdated", lambda: False)
            worker = Worker(
                replace(job(command, **more), ends_with_us=True),
                options or WorkerOptions(),
                most_bytes=most_bytes,
                note=lambda text, stderr: notes.append((text, stderr)),
                is_outdated=outdated,
            )
            try:
                await use(Shop(worker, notes))
            finally:
                for process in worker.close("the test is over"):
                    await until(lambda process=process: process.is_over)  # type: ignore[misc]

        asyncio.run(main())

    return run


async def until(condition: Callable[[], bool]) -> None:
    """Waits until something is so."""
    deadline = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


@pytest.mark.req("WARM-021")
def test_one_process_answers_one_event_after_another(run_worker: RunWorker, tmp_path: Path) -> None:
    """It is started once, and each event has a separate answer."""

    async def use(shop: Shop) -> None:
        outcomes = [await shop.ask() for _ in range(5)]
        assert [(each.exit_code, each.stdout, each.error) for each in outcomes] == [(0, ALLOWED, None)] * 5

    run_worker(f"echo $$ >> started; {GOOD}", use)
    assert len((tmp_path / "started").read_text().split()) == 1
    asked = (tmp_path / "asked").read_text().split()
    assert len(set(asked)) == 5


@pytest.mark.req("WARM-021")
def test_a_line_has_the_id_the_event_and_the_input(run_worker: RunWorker, tmp_path: Path) -> None:
    """As the documentation of the protocol says, and in one line whatever the input is."""

    async def use(shop: Shop) -> None:
        await shop.ask(stdin=b'{"a":"\\n\xe2\x80\xa8"}\n')

    body = f'printf "%s\\n" "$line" >> lines; {ANSWER}'
    run_worker(f"{BEGIN}; {loop(body)}", use)
    line = (tmp_path / "lines").read_bytes()
    asked = (tmp_path / "asked").read_text().strip().encode()
    # Also for languages that end a line at U+2028.
    assert line == b'{"id":"%b","event":"BeforeTool","input":{"a":"\\n\\u2028"}}\n' % asked


@pytest.mark.req("WARM-021")
@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ('"output":"plain text"', (0, b"plain text", b"")),
        ('"output":null', (0, b"", b"")),
        ('"output":{ "a" : 1 }', (0, b'{ "a" : 1 }', b"")),
        ('"output":{"reason":"\\\\ud800"}', (0, b'{"reason":"\\ud800"}', b"")),
        ('"exit":2,"stderr":"not this"', (2, b"", b"not this")),
        ('"exit":3', (3, b"", b"")),
        ('"exit":0,"output":"x","stderr":"y","more":[]', (0, b"x", b"y")),
    ],
)
def test_answers(run_worker: RunWorker, fields: str, outcome: tuple[int, bytes, bytes]) -> None:
    """The output and the exit code of an equivalent command, in one line."""

    async def use(shop: Shop) -> None:
        got = await shop.ask()
        assert (got.exit_code, got.stdout, got.stderr, got.error) == (*outcome, None)

    run_worker(f"{BEGIN}; {loop(answer(fields))}", use)


WRONG = {
    "not JSON": ("echo hello", "its worker wrote a line that is no JSON object"),
    "no object": ("echo [1]", "its worker wrote a line that is no JSON object"),
    "unknown id": ('echo \'{"id":"1","output":{}}\'', "that it was not asked about"),
    "no id": ("echo '{\"output\":{}}'", "without the id of an event"),
    "nothing in it": (answer('"other":1'), "its worker answered with neither output nor exit"),
    "a list": (answer('"output":[]'), "its worker gave an output that is neither an object nor a text"),
    "no exit code": (answer('"exit":256'), "not an exit code"),
    "true is no code": (answer('"exit":true'), "an exit that is not a number"),
    "too long": ("head -c 200000 /dev/zero | tr '\\0' x", "a line of more than 100000 bytes"),
    "only empty lines": ("yes ''", "more than 65536 bytes of empty lines"),
    "too much on stderr": ("head -c 200000 /dev/zero >&2; sleep 60", "more than 100000 bytes to its stderr"),
    "exits": ("exit 3", "exited with code 3"),
    "killed": ("kill -9 $$", "was ended by signal 9"),
    "closes stdout": ("exec >&-; sleep 60", "closed its stdout"),
}


@pytest.mark.req("WARM-022", "WARM-023")
@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_line_or_an_exit_fails_the_event_and_ends_the_group(
    run_worker: RunWorker, tmp_path: Path, fault: str
) -> None:
    """Nothing of it is left, the next event gets a new process, and no event is sent twice."""
    body, why = WRONG[fault]

    async def use(shop: Shop) -> None:
        outcome = await shop.ask()
        assert outcome.exit_code is None
        assert why in str(outcome.error)
        assert why in shop.texts
        assert (await shop.ask()).stdout == ALLOWED
        first, second = map(int, (tmp_path / "started").read_text().split())
        await until(lambda: not is_alive(first) and not is_alive(int((tmp_path / "beside").read_text())))
        assert is_alive(second)

    command = (
        f"echo $$ >> started; {BEGIN}; "
        f"if [ -e second ]; then {loop(ANSWER)}; fi; "
        f"touch second; sleep 60 > /dev/null & echo $! > beside; {loop(body)}"
    )
    run_worker(command, use)
    asked = (tmp_path / "asked").read_text().split()
    assert len(asked) == len(set(asked)) == 2


PIECES = {
    "at once": (ANSWER, ""),
    "in two parts": ("""printf '{"id":"%s",' "$id"; sleep 0.1; echo '"output":{}}'""", ""),
    "after an empty line": (f"echo; {ANSWER}", ""),
    "with stderr before it": (f"echo seen >&2; {ANSWER}", "seen"),
    "late": (f"sleep 0.1; {ANSWER}", ""),
}


@pytest.mark.parametrize("piece", PIECES)
def test_an_answer_may_come_in_pieces_or_late(run_worker: RunWorker, tmp_path: Path, piece: str) -> None:
    """A line ends where its line break is, and stderr before it belongs to the event."""
    body, stderr = PIECES[piece]

    async def use(shop: Shop) -> None:
        for _ in range(8):
            outcome = await shop.ask()
            assert (outcome.exit_code, outcome.error) == (0, None)
        assert b"".join(text for _, text in shop.notes).decode().split() == [stderr] * 8 if stderr else not shop.notes

    run_worker(f"{BEGIN}; {loop(body)}", use, WorkerOptions(restart_after=5))
    asked = (tmp_path / "asked").read_text().split()
    assert len(asked) == len(set(asked)) == 8


def test_two_answers_are_never_taken_for_another_event(run_worker: RunWorker) -> None:
    """The second answer is reported; events that were sent before it have failed."""

    async def use(shop: Shop) -> None:
        first, second = shop.begin(), shop.begin()
        outcome = await first
        assert outcome is not None
        assert outcome.stdout == ALLOWED
        other = await second
        assert other is not None
        assert "answered twice" in str(other.error)
        assert "answered twice" in shop.texts

    run_worker(f"{BEGIN}; {loop(f'{ANSWER}; {ANSWER}')}", use)


def test_an_event_can_not_be_answered_before_it_was_sent(run_worker: RunWorker) -> None:
    """Nobody knows its id: the number in it is not all of it."""
    early = """printf '{"id":"%s-%s","output":{}}\\n' "${id%-*}" "$((${id##*-} + 1))\""""

    async def use(shop: Shop) -> None:
        assert (await shop.ask()).stdout == ALLOWED
        assert (await shop.ask()).stdout != b"{}"
        assert "answered an event that it was not asked about" in shop.texts

    run_worker(f"{BEGIN}; {loop(f'{ANSWER}; {early}')}", use)


@pytest.mark.parametrize("space", ["", "\\r", " \\t"], ids=["nothing", "CR", "spaces"])
@pytest.mark.parametrize("end", ["exit 0", "exec >&-; sleep 60"], ids=["exits", "closes stdout"])
def test_a_last_answer_counts_without_its_line_break(run_worker: RunWorker, end: str, space: str) -> None:
    """A deny must not be lost for it, nor for white space in its place."""

    async def use(shop: Shop) -> None:
        assert (await shop.ask()).exit_code == 2

    body = f"{UNENDED}; printf '{space}'; {end}"
    run_worker(f"{BEGIN}; {loop(body)}", use)


@pytest.mark.req("WARM-023")
def test_a_process_that_can_not_answer_gets_no_event(run_worker: RunWorker, tmp_path: Path) -> None:
    """It has closed its stdout: the event waits for the next process."""

    async def use(shop: Shop) -> None:
        assert (await shop.ask()).stdout == ALLOWED
        first = shop.worker._process
        assert first is not None
        await until(lambda: not first.can_answer)
        assert (await shop.ask()).stdout == ALLOWED

    closing = loop(f"{ANSWER}; exec >&-; sleep 60")
    run_worker(f"{BEGIN}; if [ -e second ]; then {loop(ANSWER)}; fi; touch second; {closing}", use)
    asked = (tmp_path / "asked").read_text().split()
    assert len(asked) == len(set(asked)) == 2


@pytest.mark.req("WARM-025")
def test_stderr_behind_an_answer_does_not_add_up(run_worker: RunWorker, tmp_path: Path) -> None:
    """It is noted when the next event is sent, and the limit is for one event."""

    async def use(shop: Shop) -> None:
        def noted() -> int:
            return sum(len(stderr) for _, stderr in shop.notes)

        def is_read(size: int) -> bool:
            process = shop.worker._process
            return process is not None and noted() + len(process._stderr_kept) == size

        for number in range(8):
            assert (await shop.ask()).stdout == ALLOWED
            assert noted() == 300 * number
            (tmp_path / "late").touch()
            await until(partial(is_read, 300 * (number + 1)))
        assert {text for text, _ in shop.notes} == {""}

    late = "while ! [ -e late ]; do sleep 0.01; done; rm late; printf %300s >&2"
    run_worker(f"{BEGIN}; {loop(f'{ANSWER}; {late}')}", use, most_bytes=1000)


@pytest.mark.parametrize(
    ("first", "body"),
    [("""printf '{"ready": true}'""", ANSWER), (BEGIN, UNENDED)],
    ids=["ready", "answer"],
)
def test_a_line_without_its_end_is_shown(run_worker: RunWorker, tmp_path: Path, first: str, body: str) -> None:
    """A forgotten line break is a usual mistake."""

    async def use(shop: Shop, timeout_ms: float) -> None:
        stuck = shop.begin(timeout_ms=timeout_ms)
        await until(lambda: stuck.done() or bool(shop.worker._process and shop.worker._process.unfinished))
        if not stuck.done():
            (tmp_path / "seen").touch()
            assert "without a line break behind it" in str((await stuck or ChildOutcome()).error)

    def attempt(timeout_ms: float) -> None:
        run_worker(f"{first}; {loop(body)}", partial(use, timeout_ms=timeout_ms))

    with_enough_time(300, tmp_path / "seen", attempt)


@pytest.mark.req("WARM-025")
def test_what_it_writes_to_stderr_is_noted(run_worker: RunWorker) -> None:
    """And it is not part of the answer, where it could be taken for a reason."""

    async def use(shop: Shop) -> None:
        outcome = await shop.ask()
        assert outcome.stderr == b""
        assert ("", b"careful\n") in shop.notes

    run_worker(f"{BEGIN}; {loop(f'echo careful >&2; {ANSWER}')}", use)


@pytest.mark.parametrize(
    ("end", "restart_after"),
    [("while ! [ -e go ]; do sleep 0.02; done; exit 0", None), (":", 1)],
    ids=["ends between two events", "is replaced"],
)
def test_the_last_words_of_a_process_are_noted(
    run_worker: RunWorker, tmp_path: Path, end: str, restart_after: int | None
) -> None:
    """Also where nothing went wrong."""

    async def use(shop: Shop) -> None:
        assert (await shop.ask()).stdout == ALLOWED
        (tmp_path / "go").touch()
        await until(lambda: ("", b"bye\n") in shop.notes)

    command = f"trap 'echo bye >&2' EXIT; {BEGIN}; {loop(f'{ANSWER}; {end}')}"
    run_worker(command, use, WorkerOptions(restart_after=restart_after))


@pytest.mark.req("WARM-007")
def test_the_group_is_signalled_before_its_leader_is_reaped(
    run_worker: RunWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After that, another process may have its number."""
    calls: list[tuple[str, int]] = []
    kill, wait = os.killpg, os.waitpid

    def record_signal(group: int, number: int) -> None:
        if number:
            calls.append(("signal", group))
        kill(group, number)

    def record_reaping(pid: int, options: int) -> tuple[int, int]:
        found = wait(pid, options)
        if found[0]:
            calls.append(("reap", pid))
        return found

    monkeypatch.setattr("os.killpg", record_signal)
    monkeypatch.setattr("os.waitpid", record_reaping)

    async def use(shop: Shop) -> None:
        await shop.ask()

    run_worker(f"{BEGIN}; {loop('exit 1')}", use)
    ((last, leader),) = [call for call in calls if call[0] == "reap"]
    assert [name for name, pid in calls if pid == leader] == ["signal", "signal", last]


def test_a_crash_shows_its_stderr(run_worker: RunWorker) -> None:
    """The end of the text has the cause."""

    async def use(shop: Shop) -> None:
        assert (await shop.ask()).stderr == b"Traceback\n"

    run_worker(f"{BEGIN}; {loop('echo Traceback >&2; exit 1')}", use)


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ("echo ready", "wrote a line that is no JSON object"),
        ("echo '{\"ready\": 1}'", 'began with \'{"ready": 1}\'; its first line is to be {"ready": true}'),
        ("no-such-program", "exited with code 127"),
    ],
)
def test_a_worker_that_is_never_ready(run_worker: RunWorker, first: str, why: str) -> None:
    """Each start fails one event; after three in a minute nothing is started, and the reason is known."""

    async def use(shop: Shop) -> None:
        began = time.monotonic()
        for _ in range(3):
            assert f"its worker {why}" in str((await shop.ask()).error)
        assert time.monotonic() - began > 1.1  # the pauses before the second start and the third
        assert await shop.begin() is None
        given_up = shop.worker.why_given_up()
        assert given_up is not None
        assert f"because it {why}" in given_up
        assert "3 times within a minute" in given_up

    run_worker(f"{first}; exec {first}; {loop(ANSWER)}", use)


def test_a_script_that_is_just_being_written(run_worker: RunWorker, hook_script: "HookScript") -> None:
    """The kernel refuses to start it then, so it is tried again for a moment."""
    script = hook_script(GOOD)

    async def use(shop: Shop) -> None:
        writer = script.open("a")
        asyncio.get_running_loop().call_later(0.15, writer.close)
        assert (await shop.ask()).stdout == ALLOWED
        assert not shop.notes

    run_worker(str(script), use)


@pytest.mark.req("WARM-022")
def test_it_is_started_again_later_each_time(run_worker: RunWorker, tmp_path: Path) -> None:
    """A pause of a tenth of a second, and then of a whole one."""

    async def use(shop: Shop) -> None:
        for _ in range(3):
            assert (await shop.ask()).error is not None

    run_worker("date +%s%N >> started; exit 1", use)
    first, second, third = [int(each) / 1e9 for each in (tmp_path / "started").read_text().split()]
    assert second - first > 0.09
    assert third - second > 0.99


@pytest.mark.req("WARM-022")
def test_a_minute_later_it_is_started_again(run_worker: RunWorker, tmp_path: Path) -> None:
    """The user may have fixed it."""

    async def use(shop: Shop) -> None:
        for _ in range(3):
            assert (await shop.ask()).error is not None
        assert await shop.begin() is None
        (tmp_path / "mended").touch()
        shop.worker.crash_backoff.times = deque((at - 61 for at in shop.worker.crash_backoff.times), maxlen=3)
        assert (await shop.ask()).stdout == ALLOWED

    run_worker(f"[ -e mended ] || exit 1; {GOOD}", use)


@pytest.mark.req("WARM-022")
def test_a_pause_before_a_start_is_not_the_workers_fault(run_worker: RunWorker, tmp_path: Path) -> None:
    """An event that times out during that reports it. It is not a third crash, and the process continues to start."""

    async def use(shop: Shop) -> None:
        for _ in range(2):
            assert "exited with code 1" in str((await shop.ask()).error)
        early = await shop.ask(timeout_ms=300)
        why = "its worker exited with code 1, and is started again in a moment"
        assert (early.timed_out, early.error) == (True, f"was not asked within 300ms: {why}")
        (tmp_path / "slow").touch()
        late = await shop.ask(timeout_ms=1000)
        assert (late.timed_out, late.error) == (True, f"was not asked within 1000ms: {why}")
        assert (await shop.ask()).stdout == ALLOWED
        assert shop.worker.why_given_up() is None

    slow = f"echo x >> started; while ! [ -e go ]; do [ $SECONDS -lt 3 ] || touch go; sleep 0.02; done; {GOOD}"
    run_worker(f"[ -e slow ] || exit 1; {slow}", use)
    assert (tmp_path / "started").read_text() == "x\n"


class Shortage:
    """Lets starts of processes fail for lack of descriptors."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
        self.left = failures
        self.asked = 0
        monkeypatch.setattr(worker_module, "WorkerProcess", self)
        monkeypatch.setattr(worker_module, "ON_SHORTAGE", [self.give_up])

    def give_up(self) -> None:
        """Called before the start is tried again."""
        self.asked += 1

    def __call__(self, *arguments: Any, **options: Any) -> WorkerProcess:
        """In place of the constructor."""
        if self.left:
            self.left -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return WorkerProcess(*arguments, **options)


@pytest.mark.req("WARM-022")
def test_a_short_lack_of_descriptors_is_waited_for(run_worker: RunWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that wait for other events are ended, and the start is tried again."""

    async def use(shop: Shop) -> None:
        shortage = Shortage(monkeypatch, 5)
        assert (await shop.ask()).stdout == ALLOWED
        assert shortage.asked == 5
        assert not shop.notes

    run_worker(GOOD, use)


@pytest.mark.req("WARM-022")
def test_a_lack_of_descriptors_is_no_crash(run_worker: RunWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """All events that wait fail for it, `onFault` decides, and the next one is asked as soon as it is over."""

    async def use(shop: Shop) -> None:
        shortage = Shortage(monkeypatch, 100)
        outcomes = await asyncio.gather(*[shop.ask() for _ in range(4)])
        assert [outcome.is_shortage for outcome in outcomes] == [True] * 4
        assert str(outcomes[0].error) == "was not asked: its worker could not be started: Too many open files"
        shortage.left = 0
        assert (await shop.ask()).stdout == ALLOWED

    run_worker(GOOD, use)


def test_a_line_that_comes_at_once_has_a_limit_too(run_worker: RunWorker) -> None:
    """Not only one that does not end."""

    async def use(shop: Shop) -> None:
        assert "wrote a line of more than 100 bytes" in str((await shop.ask()).error)

    long = answer(f'"output":"{"x" * 200}"')
    run_worker(f"{BEGIN}; {loop(long)}", use, most_bytes=100)


@pytest.mark.parametrize("then", ["fails", "runs cold"])
def test_what_waits_when_it_is_given_up_gets_no_answer(run_worker: RunWorker, then: str) -> None:
    """So that it can be run cold: it was never sent."""

    async def use(shop: Shop) -> None:
        waiting = [shop.begin() for _ in range(5)]
        outcomes = [await each for each in waiting]
        assert [each is None for each in outcomes] == [False] * 3 + [True] * 2
        assert shop.notes[0] == ("its worker exited with code 1; all of its processes were ended", b"")
        assert shop.notes[-1][0].endswith(f"; until then the hook {then} at each event")

    run_worker("exit 1", use, WorkerOptions(runs_cold=then == "runs cold"))


def test_events_wait_for_their_turn_in_order(run_worker: RunWorker, tmp_path: Path) -> None:
    """With one at a time, which is usual."""

    async def use(shop: Shop) -> None:
        ended: list[int] = []
        waiting = [shop.begin() for _ in range(10)]
        for index, each in enumerate(waiting):
            each.add_done_callback(lambda _, index=index: ended.append(index))  # type: ignore[misc]
        await asyncio.gather(*waiting)
        assert ended == list(range(10))

    run_worker(GOOD, use)
    numbers = [int(line.partition("-")[2]) for line in (tmp_path / "asked").read_text().split()]
    assert numbers == sorted(numbers)


@pytest.mark.req("WARM-021")
def test_concurrency_lets_several_be_answered_in_any_order(run_worker: RunWorker, tmp_path: Path) -> None:
    """Two are sent before one is answered; the answers belong to their events by their ids."""

    async def use(shop: Shop) -> None:
        first, second = await asyncio.gather(shop.ask(stdin=b'"one"'), shop.ask(stdin=b'"two"'))
        assert (first.stdout, second.stdout) == (b"one", b"two")

    worker = tmp_path / "worker.py"
    worker.write_text(
        "import json, sys\n"
        'print(json.dumps({"ready": True, "concurrency": 2}), flush=True)\n'
        "both = [json.loads(sys.stdin.readline()) for _ in range(2)]\n"
        'for each in reversed(both): print(json.dumps({"id": each["id"], "output": each["input"]}), flush=True)\n'
        "sys.stdin.read()\n"
    )
    run_worker(f"{sys.executable} {worker}", use)


@pytest.mark.req("WARM-022")
def test_a_timeout_ends_the_group_and_all_that_it_was_asked(run_worker: RunWorker, tmp_path: Path) -> None:
    """The event has timed out; whatever waited unsent gets the next process."""

    async def use(shop: Shop, timeout_ms: float) -> None:
        stuck = shop.begin(timeout_ms=timeout_ms)
        waiting = shop.begin(timeout_ms=40_000)
        outcome = await stuck
        if not (tmp_path / "second").exists():
            return  # it was not even asked in time
        assert outcome is not None
        assert outcome.timed_out
        assert str(outcome.error).endswith("its worker has answered nothing yet; each line must be flushed")
        other = await waiting
        assert other is not None
        assert other.stdout == ALLOWED
        await until(lambda: not is_alive(int((tmp_path / "started").read_text().split()[0])))

    hang = "if [ -e second ]; then :; else touch second; trap '' TERM; kill -STOP $$; sleep 60; fi"
    command = f"echo $$ >> started; {BEGIN}; {loop(f'{hang}; {ANSWER}')}"

    def attempt(timeout_ms: float) -> None:
        (tmp_path / "started").unlink(missing_ok=True)
        run_worker(command, partial(use, timeout_ms=timeout_ms))

    with_enough_time(300, tmp_path / "second", attempt)


FAULTS = {
    "hangs": "sleep 60",
    "ignores TERM": "trap '' TERM; while :; do sleep 0.1; done",
    "is stopped": "kill -STOP $$; sleep 60",
    "crashes": "kill -SEGV $$",
    "floods stdout": "yes",
    "floods stderr": "yes >&2",
}


@pytest.mark.req("WARM-013")
@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_left_after_a_fault(run_worker: RunWorker, tmp_path: Path, fault: str) -> None:
    """Neither the worker, nor what it forked, nor what left its session; the event has failed, in bounded time."""
    orphans = "setsid sleep 61 & echo $! > away; (sleep 62 & echo $! > forked) & wait $!; touch reached"

    async def use(shop: Shop, timeout_ms: float) -> None:
        outcome = await shop.ask(timeout_ms=timeout_ms)
        if not (tmp_path / "reached").exists():
            return
        assert outcome.timed_out or outcome.error is not None
        pids = [int((tmp_path / name).read_text()) for name in ("started", "away", "forked")]
        await until(lambda: not any(map(is_alive, pids)))

    def attempt(timeout_ms: float) -> None:
        (tmp_path / "asked").unlink(missing_ok=True)
        command = f"echo $$ > started; {BEGIN}; {loop(f'{orphans}; {FAULTS[fault]}')}"
        run_worker(command, partial(use, timeout_ms=timeout_ms))

    with_enough_time(500, tmp_path / "reached", attempt)
    assert len((tmp_path / "asked").read_text().split()) == 1


def test_each_event_has_its_own_deadline(run_worker: RunWorker) -> None:
    """Though all of them share one timer: a short time after a long one, and a long one after a short one."""

    async def use(shop: Shop) -> None:
        assert (await shop.ask(timeout_ms=60_000)).stdout == ALLOWED
        began = time.monotonic()
        assert (await shop.ask(timeout_ms=300, stdin=b'"hang"')).timed_out
        assert 0.25 < time.monotonic() - began < 30
        assert (await shop.ask(timeout_ms=60_000)).stdout == ALLOWED
        short_s = 0.3
        while (await shop.ask(timeout_ms=1000 * short_s)).stdout != ALLOWED:
            short_s *= 3  # a busy machine
            assert short_s < 10
        slow = f'"slow {short_s + 0.3:.1f}"'.encode()
        assert (await shop.ask(timeout_ms=40_000, stdin=slow)).stdout == ALLOWED

    body = """case $line in *hang*) sleep 60;; *slow*) line=${line#*slow }; sleep ${line%%\\"*};; esac"""
    run_worker(f"{BEGIN}; {loop(f'{body}; {ANSWER}')}", use)


def test_an_event_that_is_not_sent_in_time_does_not_end_the_worker(run_worker: RunWorker, tmp_path: Path) -> None:
    """It waited for others, and the message reports that."""

    async def use(shop: Shop) -> None:
        await shop.ask()
        first, second = shop.begin(), shop.begin(timeout_ms=50)
        late = await second
        assert late is not None
        assert late.timed_out
        assert "busy with other events" in str(late.error)
        (tmp_path / "go").touch()
        outcome = await first
        assert outcome is not None
        assert outcome.stdout == ALLOWED

    run_worker(WAITING, use)
    assert len((tmp_path / "asked").read_text().split()) == 2


def test_the_queue_is_bounded(run_worker: RunWorker) -> None:
    """An agent that fires faster than the worker answers does not fill the memory."""

    async def use(shop: Shop) -> None:
        for _ in range(MOST_WAITING):
            shop.begin()
        refused = await shop.begin()
        assert refused is not None
        assert "wait for its worker already" in str(refused.error)

    run_worker(f"sleep 60; {GOOD}", use)


def test_a_long_input_does_not_wait_for_the_pipe(run_worker: RunWorker) -> None:
    """The rest is written when there is room; the loop continues during that."""

    async def use(shop: Shop) -> None:
        outcome = await shop.ask(stdin=b'"' + b"x" * 3_000_000 + b'"')
        assert outcome.stdout == b"3000002"

    code = (
        "import json, sys, time\n"
        'print(json.dumps({"ready": True}), flush=True)\n'
        "time.sleep(0.1)\n"
        "for line in sys.stdin:\n"
        " asked = json.loads(line)\n"
        ' print(json.dumps({"id": asked["id"], "output": str(len(asked["input"]) + 2)}), flush=True)\n'
    )
    run_worker(f"{sys.executable} -c '{code}'", use)


@pytest.mark.req("WARM-025")
@pytest.mark.parametrize(
    ("options", "processes"),
    [(WorkerOptions(restart_after=2), 3), (WorkerOptions(), 1)],
)
def test_it_is_replaced_after_a_number_of_events(
    run_worker: RunWorker, tmp_path: Path, options: WorkerOptions, processes: int
) -> None:
    """Without a failed event, and the old one ends by itself."""

    async def use(shop: Shop) -> None:
        assert [(await shop.ask()).stdout for _ in range(5)] == [ALLOWED] * 5
        assert "failed" not in shop.texts

    run_worker(f"echo $$ >> started; {GOOD}", use, options)
    assert len((tmp_path / "started").read_text().split()) == processes


def test_what_waits_is_answered_before_a_worker_leaves(run_worker: RunWorker, tmp_path: Path) -> None:
    """By the process that it was meant for; none is started for it, and none is left."""

    async def use(shop: Shop) -> None:
        await shop.ask()
        events = [shop.begin() for _ in range(3)]
        await until(lambda: len((tmp_path / "asked").read_text().split()) == 2)
        shop.worker.drain()
        assert not shop.worker.is_at_rest
        (tmp_path / "go").touch()
        outcomes = [await each for each in events]
        assert [outcome and outcome.stdout for outcome in outcomes] == [ALLOWED] * 3
        await until(lambda: shop.worker.is_at_rest)

    run_worker(f"echo $$ >> started; {WAITING}", use)
    assert len((tmp_path / "started").read_text().split()) == 1


def test_a_worker_that_leaves_while_it_is_started(run_worker: RunWorker, tmp_path: Path) -> None:
    """The event that it was started for is answered."""

    async def use(shop: Shop) -> None:
        event = shop.begin()
        shop.worker.drain()
        outcome = await event
        assert outcome is not None
        assert outcome.stdout == ALLOWED
        await until(lambda: shop.worker.is_at_rest)

    run_worker(f"echo $$ >> started; {GOOD}", use)
    assert len((tmp_path / "started").read_text().split()) == 1


@pytest.mark.req("WARM-025")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_it_is_replaced_when_it_uses_too_much_memory(run_worker: RunWorker, tmp_path: Path) -> None:
    """Looked at between events, now and then."""

    async def use(shop: Shop) -> None:
        for _ in range(40):
            assert (await shop.ask()).stdout == ALLOWED
        assert "of memory and is replaced" in shop.texts

    run_worker(f"echo $$ >> started; {GOOD}", use, WorkerOptions(memory_bytes=4096))
    assert len((tmp_path / "started").read_text().split()) == 2


def test_a_clean_end_between_events_is_no_crash(run_worker: RunWorker, tmp_path: Path) -> None:
    """A worker may end by itself while no event waits."""

    async def use(shop: Shop) -> None:
        for _ in range(5):
            assert (await shop.ask()).stdout == ALLOWED
            await until(lambda: shop.worker.is_at_rest)
        assert shop.notes == []

    run_worker(f"echo $$ >> started; {BEGIN}; {loop(f'{ANSWER}; exit 0')}", use)
    assert len((tmp_path / "started").read_text().split()) == 5


@pytest.mark.req("WARM-024")
@pytest.mark.parametrize("starts", [0, 1], ids=["before it was started", "while it was started"])
def test_a_program_that_has_changed_is_not_used(run_worker: RunWorker, tmp_path: Path, starts: int) -> None:
    """Events that wait are handed back unsent; that is not a crash, and another start may be right."""
    looks = iter([False] * starts + [True] + [False] * 2)

    async def use(shop: Shop) -> None:
        replies: list[ChildOutcome | None] = []
        events = [WorkerEvent("BeforeTool", b"{}", 15_000, replies.append) for _ in range(2)]
        for event in events:
            # Not `submit`, which could start it for the first alone.
            shop.worker._waiting.append(event)
        shop.worker._advance()
        await until(lambda: len(replies) == 2)
        assert replies == [None, None]
        assert [event.is_returned for event in events] == [True, True]
        assert shop.worker.is_at_rest
        assert (await shop.ask()).stdout == ALLOWED
        assert not shop.notes

    run_worker(f"echo $$ >> started; {GOOD}", use, is_outdated=lambda: next(looks))
    assert len((tmp_path / "asked").read_text().split()) == 1
    assert len((tmp_path / "started").read_text().split()) == starts + 1


def test_limits_hold_for_workers(run_worker: RunWorker) -> None:
    """They are set before the program starts."""

    async def use(shop: Shop) -> None:
        assert (await shop.ask()).stdout == b"17"

    body = answer('"output":"%s"', "$(ulimit -n)")
    run_worker(f"{BEGIN}; {loop(body)}", use, limits=ResourceLimits(files=17))


def test_a_cancelled_event_keeps_its_place_and_its_answer_is_dropped(run_worker: RunWorker, tmp_path: Path) -> None:
    """One that was not sent is never sent."""

    async def use(shop: Shop) -> None:
        await shop.ask()
        events = []
        for _ in range(2):
            answer: asyncio.Future[ChildOutcome | None] = asyncio.get_running_loop().create_future()
            events.append(WorkerEvent("BeforeTool", b"{}", 15_000, answer.set_result))
            shop.worker.enqueue(events[-1])
        for event in events:
            shop.worker.cancel(event)
        assert (await shop.ask()).stdout == ALLOWED

    run_worker(GOOD, use)
    assert len((tmp_path / "asked").read_text().split()) == 3


@pytest.mark.parametrize(
    "stray",
    [
        "setsid sh -c 'echo $$ > stray; exec sleep 60' &",
        "(sleep 60 & echo $! > stray) &",
        "sh -c 'echo $$ > stray; trap \"\" TERM; while :; do sleep 0.1; done' &",
    ],
    ids=["setsid", "double fork", "ignores TERM"],
)
def test_nothing_that_it_started_is_left_when_it_is_closed(run_worker: RunWorker, tmp_path: Path, stray: str) -> None:
    """Neither in its group nor outside of it."""

    async def use(shop: Shop) -> None:
        assert (await shop.ask()).stdout == ALLOWED

    run_worker(f"{stray} while ! [ -s stray ]; do sleep 0.01; done; {GOOD}", use)
    pid = int((tmp_path / "stray").read_text())
    asyncio.run(until(lambda: not is_alive(pid)))


@pytest.mark.req("WARM-013")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only EOF on stdin ends it")
def test_the_death_of_the_program_ends_a_worker_that_does_not_read(tmp_path: Path) -> None:
    """Even if it ignores the end of its stdin and hangs."""
    code = f"""
import asyncio, os
from hookline.runners.process.job import ChildJob
from hookline.runners.worker.worker import *
from hookline.protocol.hook_entry import WorkerOptions
async def main():
    job = ChildJob(command="echo $$ > started; trap '' TERM PIPE HUP; while :; do sleep 0.1; done", stdin=b"",
                   cwd={str(tmp_path)!r}, env=dict(os.environ), timeout_ms=60000, ends_with_us=True)
    worker = Worker(job, WorkerOptions(), most_bytes=1000, note=print)
    worker.enqueue(WorkerEvent("BeforeTool", b"{{}}", 60000, print))
    await asyncio.sleep(60)
asyncio.run(main())
"""
    program = subprocess.Popen([sys.executable, "-c", code])
    try:
        started = tmp_path / "started"
        asyncio.run(until(lambda: started.exists() and started.read_text().strip() != ""))
    finally:
        program.send_signal(signal.SIGKILL)
        program.wait()
    pid = int(started.read_text())
    asyncio.run(until(lambda: not is_alive(pid)))


def test_an_environment_says_that_it_is_a_worker_only_where_it_is_set(run_worker: RunWorker) -> None:
    """The engine sets it; see tests/engine/test_workers.py."""

    async def use(shop: Shop) -> None:
        assert (await shop.ask()).stdout == b"unset"

    body = answer('"output":"%s"', "${HOOKLINE_WORKER-unset}")
    assert "HOOKLINE_WORKER" not in os.environ
    run_worker(f"{BEGIN}; {loop(body)}", use)
