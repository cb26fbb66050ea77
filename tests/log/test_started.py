import fcntl
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.contract.records import LogRecord, Start
from hookline.log.file import FileSink
from hookline.log.started import MOST_SLOTS, SLOT_BYTES, StartFile, recover
from hookline.log.verify import verify_log

_WHY = "the program ended before this event did"


@pytest.fixture(name="log")
def log_fixture(tmp_path: Path) -> Path:
    log = tmp_path / "state" / "hooks.jsonl"
    log.parent.mkdir()
    log.touch()
    return log


def start(number: int = 0, **fields: Any) -> Start:
    facts = {"time": "t", "session": "s1", "event": "BeforeTool", "subject": "ls", "hooks": ("guard",), **fields}
    return Start(fire=f"{number:010x}", **facts)


def kept(log: Path) -> list[Path]:
    """The files beside the log that hold starts."""
    return list(log.parent.glob(".hooks.jsonl.*.started"))


def lines_in(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_bytes().splitlines()]


def wait_until(is_true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 45
    while not is_true():
        assert time.monotonic() < deadline, "this never became true"
        time.sleep(0.005)


def open_sink(log: Path) -> FileSink:
    """A sink that stores starts; the one that shows it is not stored any more."""
    sink = FileSink(log)
    sink.write(start(10**9))
    wait_until(lambda: kept(log))
    while not kept(log)[0].stat().st_size:
        sink.write_start(start(10**9))
    wait_until(lambda: not kept(log)[0].read_bytes().strip(b"\0"))
    return sink


def own(lines: list[dict[str, Any]]) -> list[str]:
    """The events of a test, without those that `open_sink` needs."""
    return [line["fire"] for line in lines if line["fire"] != f"{10**9:010x}"]


class Recovered:
    """What `recover` finds."""

    def __init__(self, *, works: bool = True) -> None:
        self.records: list[LogRecord] = []
        self._works = works

    def __call__(self, records: Any) -> bool:
        """Keeps the records."""
        self.records += records
        return self._works

    @property
    def fires(self) -> list[str]:
        """The events that they are about."""
        return sorted(record.fire or "" for record in self.records)


# From some moment on the log's thread waits for a minute before it writes.
_STORE_AND_DIE = """
import os, pathlib, signal, sys, time
import hookline.log.file
from hookline.contract.records import Start
from hookline.log.file import FileSink

log = pathlib.Path(sys.argv[1])
sink = FileSink(log)
sink.write(warm := Start("t", "f" * 10, "s1", "BeforeTool", "ls", ("warm",)))
while not (found := list(log.parent.glob(".*.started"))):
    time.sleep(0.001)
while not found[0].stat().st_size:
    sink.write_start(warm)
while found[0].read_bytes().strip(bytes(1)):
    time.sleep(0.001)
hookline.log.file._GATHER_S = 60
for number in range(int(sys.argv[2])):
    sink.write_start(Start("t", f"{number:010x}", "s1", "BeforeTool", "ls", (f"guard {number}", *sys.argv[3:])))
os.kill(os.getpid(), signal.SIGKILL)
"""


def leave_behind(log: Path, count: int = 1, *labels: str) -> None:
    """Starts so many events in a program that is then killed."""
    command = [sys.executable, "-c", _STORE_AND_DIE, str(log), str(count), *labels]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=45)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(kept(log)) == 1


@pytest.mark.parametrize("count", [1, 700])
def test_the_next_program_writes_what_a_killed_one_left(log: Path, count: int) -> None:
    """With its first record, each start once, marked, in the chain; nothing is left of the file."""
    leave_behind(log, count)
    for _ in range(2):
        sink = FileSink(log)
        sink.write(start(10**9))
        sink.close()
    starts = [line for line in lines_in(log) if "reason" in line]
    assert sorted(line["fire"] for line in starts) == [f"{number:010x}" for number in range(count)]
    assert "BeforeTool ls: guard 0 started" in {line["message"] for line in starts}
    assert {(line["kind"], line["reason"], line["time"], line["session"]) for line in starts} == {
        ("start", _WHY, "t", "s1")
    }
    assert verify_log(log).findings == []
    assert kept(log) == []


def test_a_secret_in_a_name_is_not_written(log: Path) -> None:
    """A hook without a name is called by its command, which may hold a token."""
    leave_behind(log, 1, "curl -H 'Authorization: Bearer abcdefghijklmnop0123456789'")
    sink = FileSink(log)
    sink.write(start(10**9))
    sink.close()
    assert b"abcdefghijklmnop" not in log.read_bytes()
    assert b"guard 0" in log.read_bytes()


def test_a_start_stays_until_the_log_has_its_record(log: Path) -> None:
    """Its slot is private, is overwritten then, and is used again; closing removes the file."""
    sink = open_sink(log)
    (file,) = kept(log)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with log.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        sink.write_start(start(1, hooks=("my-secret-name",)))
        assert b"my-secret-name" in file.read_bytes()
    wait_until(lambda: b"my-secret-name" in log.read_bytes() and not file.read_bytes().strip(b"\0"))
    size = file.stat().st_size
    for number in range(2, 5):
        sink.write_start(start(number))
        wait_until(lambda: not file.read_bytes().strip(b"\0"))
    assert file.stat().st_size == size
    sink.close()
    assert kept(log) == []
    assert own(lines_in(log)) == [f"{number:010x}" for number in range(1, 5)]


def test_a_stored_start_is_written_ahead_of_the_next_entry(log: Path) -> None:
    """It outlives the program at once, and nothing is woken up for it; closing writes it, too."""
    sink = open_sink(log)
    (file,) = kept(log)
    sink.store_start(start(1, hooks=("stored",)))
    assert b"stored" in file.read_bytes()
    sink.write(start(2))
    wait_until(lambda: own(lines_in(log)) == [f"{number:010x}" for number in (1, 2)])
    sink.store_start(start(3))
    sink.write_stored()
    wait_until(lambda: own(lines_in(log)) == [f"{number:010x}" for number in (1, 2, 3)])
    sink.store_start(start(4))
    sink.close()
    assert own(lines_in(log)) == [f"{number:010x}" for number in (1, 2, 3, 4)]
    assert verify_log(log).findings == []


def test_a_start_that_the_log_has_is_not_written_again(log: Path) -> None:
    """A program can be killed between its write and the clearing of the slot."""
    leave_behind(log, 3)
    FileSink(log).write_now(start(1).records())
    found = Recovered()
    recover(log, found)
    assert found.fires == [f"{number:010x}" for number in (0, 2)]


def test_what_cannot_be_written_is_kept_for_the_next(log: Path) -> None:
    """Such as on a full disk."""
    leave_behind(log)
    recover(log, Recovered(works=False))
    again = Recovered()
    recover(log, again)
    assert len(again.records) == 1
    assert kept(log) == []


def test_the_file_of_a_running_program_is_left_alone(log: Path) -> None:
    """Its lock says that it lives, also to another sink of the same program."""
    running = open_sink(log)
    found = Recovered()
    with log.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        running.write_start(start(1))
        recover(log, found)
    assert found.records == []
    assert len(kept(log)) == 1
    running.close()


_RECOVER = """
import pathlib, sys
from hookline.log.file import FileSink
from hookline.log.started import recover
print("ready", flush=True)
sys.stdin.readline()
log = pathlib.Path(sys.argv[1])
recover(log, FileSink(log).write_now)
"""


def test_programs_that_recover_at_the_same_time_write_each_start_once(log: Path) -> None:
    """The one that holds the lock does it."""
    leave_behind(log, 50)
    (left,) = kept(log)
    for number in range(20):
        left.with_name(f".hooks.jsonl.{number + 1}.{number:08x}.started").write_bytes(
            left.read_bytes().replace(b'"00000000', b'"%08x' % (number + 1))
        )
    command = [sys.executable, "-c", _RECOVER, str(log)]
    programs = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    for program in programs:
        program.communicate("\n", timeout=45)
    fires = [line["fire"] for line in lines_in(log) if "reason" in line]
    assert len(fires) == len(set(fires)) == 50 * 21
    assert kept(log) == []
    assert verify_log(log).findings == []


def plant(log: Path, kind: str) -> Path:
    place = log.with_name(".hooks.jsonl.7.0badcafe.started")
    elsewhere = log.parent.parent / "elsewhere"
    elsewhere.write_bytes(b'["t","f","s","e",null,["planted"]]')
    match kind:
        case "symlink":
            place.symlink_to(elsewhere)
        case "FIFO":
            os.mkfifo(place)
        case "directory":
            place.mkdir()
        case "other user":
            elsewhere.rename(place)
            os.chown(place, 12345, 12345)
        case "too large":
            elsewhere.rename(place)
            os.truncate(place, MOST_SLOTS * SLOT_BYTES + 1)
    return place


@pytest.mark.parametrize("kind", ["symlink", "FIFO", "directory", "other user", "too large"])
def test_what_hookline_did_not_leave_is_left_alone(log: Path, kind: str) -> None:
    """Whoever can write into the directory can't make us read, wait or remove."""
    if kind == "other user" and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    place = plant(log, kind)
    found = Recovered()
    recover(log, found)
    assert found.records == []
    assert os.path.lexists(place)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"garbage", id="text"),
        pytest.param(b'["t","f","s","e",null,[1]]', id="type"),
        pytest.param(b'{"kind":"event"}', id="object"),
        pytest.param(b'["t","f","s","e",null,["a"],null,null,null,null,null,"more"]', id="length"),
        pytest.param(b"\xff\xfe\x00[[[", id="bytes"),
    ],
)
def test_garbage_is_told_once_and_hides_nothing(log: Path, content: bytes) -> None:
    """The starts beside it are recovered."""
    leave_behind(log, 2)
    (file,) = kept(log)
    with file.open("r+b") as slots:
        slots.seek(file.read_bytes().index(b'"guard 1"') // SLOT_BYTES * SLOT_BYTES)
        slots.write(content.ljust(SLOT_BYTES, b"\0"))
    found = Recovered()
    recover(log, found)
    good, fault = found.records
    assert good.fire == "0000000000"
    assert fault.message == "a program was ended while hooks ran, and 1 of their starts can't be read"
    assert kept(log) == []


def test_a_forked_child_neither_shares_slots_nor_keeps_the_lock(log: Path) -> None:
    """The starts of a killed program are found although a child of it lives on."""
    program = _STORE_AND_DIE.replace(
        "os.kill(",
        """child = os.fork()
if not child:
    sink.write_start(Start("t", "c" * 10, "s1", "BeforeTool", "ls", ("child",)))
    print(os.getpid(), flush=True)
    os.close(1)
    time.sleep(60)
os.kill(""",
    )
    command = [sys.executable, "-c", program, str(log), "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline() or 0)
    try:
        found = Recovered()
        recover(log, found)
        assert found.fires == ["0" * 10]
        assert kept(log) == []
        assert [line["hooks"] for line in lines_in(log) if line["fire"] == "c" * 10] == [["child"]]
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"hooks": ("x" * 5000,)}, id="too-long"),
        pytest.param({"subject": "\ud800"}, id="lone-surrogate"),
        pytest.param({"session": 1j}, id="no-text"),
    ],
)
def test_a_start_that_no_slot_takes_is_written_at_once(log: Path, odd: dict[str, Any]) -> None:
    """Before its hooks run, as where there is no file for starts."""
    sink = open_sink(log)
    sink.write_start(start(1, **odd))
    assert own(lines_in(log)) == ["0000000001"]
    sink.close()


def test_without_a_file_for_starts_they_are_written_at_once(tmp_path: Path) -> None:
    """Its name may be too long, or the directory not ours."""
    log = tmp_path / ("x" * 240)
    sink = FileSink(log)
    sink.write(start(10**9))
    wait_until(lambda: log.exists() and lines_in(log))
    time.sleep(0.05)
    for number in range(3):
        sink.write_start(start(number))
        assert len(lines_in(log)) == number + 2
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []
    sink.close()


def test_on_a_full_disk_the_slot_is_not_lost(log: Path) -> None:
    """When there is room again, the same slot is used."""
    starts = StartFile(log)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        assert [starts.store(start(number)) for number in range(3)] == [None] * 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    stored = starts.store(start(3))
    assert stored is not None
    assert stored.slot == 0
    starts.close()


def test_starts_that_are_not_stored_take_no_slots(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is too long, or of which only a part could be written; later ones use the same slot."""
    starts = StartFile(log)
    assert starts.store(start(1, hooks=("x" * SLOT_BYTES,))) is None
    real = os.pwrite

    def write_a_part(descriptor: int, data: bytes, offset: int) -> int:
        return real(descriptor, data[:40], offset)

    with monkeypatch.context() as patch:
        patch.setattr("os.pwrite", write_a_part)
        assert starts.store(start(2)) is None
    assert not kept(log)[0].read_bytes().strip(b"\0")
    stored = starts.store(start(3))
    assert stored is not None
    assert stored.slot == 0
    starts.close()


def test_slots_are_used_again(log: Path) -> None:
    """A program stores any number of starts, as long as few of them are open."""
    starts = StartFile(log)
    slots = set()
    for number in range(100):
        stored = [starts.store(start(number)), starts.store(start(number))]
        slots |= {each.slot for each in stored if each is not None}
        starts.clear(each for each in stored if each is not None)
    assert slots == {0, 1}
    starts.close()


def test_a_closed_sink_keeps_no_start(log: Path) -> None:
    """Nothing is written, and no file comes back."""
    sink = open_sink(log)
    sink.close()
    before = log.read_bytes()
    sink.write_start(start(1))
    assert (log.read_bytes(), kept(log)) == (before, [])
