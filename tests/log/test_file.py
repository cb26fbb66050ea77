import contextlib
import fcntl
import gc
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from tests.patience import until

from hookline.log.paths import default_log_path
from hookline.log.write.logger import HookLogger, Loggable
from hookline.log.write.sink import FileSink
from hookline.protocol.records import AdviceRecord, LogLevel, LogRecord, OverrideRecord
from hookline.protocol.text.strings import printable


@pytest.fixture(name="path")
def path_fixture(tmp_path: Path) -> Path:
    return tmp_path / "state" / "deep" / "hooks.jsonl"


def record(message: str = "m", **fields: Any) -> OverrideRecord:
    return OverrideRecord(time="1970-01-01T00:00:00.000Z", level=LogLevel.INFO, message=message, **fields)


def lines_in(*paths: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]


def backups_of(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


def run_python(program: str, *arguments: Path | str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=45)


def test_the_default_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is below HOOKLINE_STATE_DIR, or in the state directory that is usual on the platform."""
    assert default_log_path() == tmp_path / "state" / "hooks.jsonl"
    monkeypatch.delenv("HOOKLINE_STATE_DIR")
    assert default_log_path().parts[-2:] == ("hookline", "hooks.jsonl")


def test_importing_the_log_is_cheap() -> None:
    """Nobody pays for what logging may need later."""
    done = run_python(
        "import sys, hookline.log.write.sink; print({'asyncio', 'logging', 'platformdirs'} & set(sys.modules))"
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


@pytest.mark.req("DELTA-HTEL-001")
def test_records_become_lines_in_order(path: Path) -> None:
    """Each record is one line of JSON, in the order they were given."""
    sink = FileSink(path)
    for number in range(1000):
        sink.write(record("hook ran", count=number))
    sink.close()
    assert lines_in(path) == [
        {
            "kind": "override",
            "time": "1970-01-01T00:00:00.000Z",
            "level": "info",
            "message": "hook ran",
            "count": number,
            "seq": number + 1,
            "hash": ANY,
        }
        for number in range(1000)
    ]


class Event:
    """An entry of several records, which remembers the threads that asked for them."""

    def __init__(self, *records: LogRecord) -> None:
        self._records = records
        self.threads: list[str] = []

    def records(self) -> Sequence[LogRecord]:
        """The records."""
        self.threads.append(threading.current_thread().name)
        return self._records


class Slow:
    """An entry without records that keeps the writer waiting."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def records(self) -> Sequence[LogRecord]:
        """Wait."""
        self.go_on.wait(60)
        return ()


class Broken:
    """An entry that fails."""

    def records(self) -> Sequence[LogRecord]:
        """Fail."""
        raise RuntimeError("no records")


def test_records_are_made_in_the_writer_s_thread(path: Path) -> None:
    """They stand where their entry was written, and an entry that fails costs no other."""
    log, event = HookLogger([FileSink(path)]), Event(record("one"), record("two"))
    for entry in (record("before"), event, Broken(), record("after")):
        log.write(entry)
    log.close()
    assert event.threads == ["hookline-log"]
    messages = [line["message"] for line in lines_in(path)]
    assert messages == ["before", "one", "two", "an entry of the log could not be made", "after"]


def test_nothing_is_made_before_the_first_record(path: Path) -> None:
    """A sink that is never written to leaves no trace, not even when it is closed."""
    before = set(threading.enumerate())
    FileSink(path).close()
    assert (path.parent.exists(), set(threading.enumerate()) - before) == (False, set())


def test_the_log_is_its_owners_alone(path: Path) -> None:
    """File and directories are closed to others, whatever the umask."""
    mask = os.umask(0)
    try:
        sink = FileSink(path)
        sink.write(record())
        sink.close()
    finally:
        os.umask(mask)
    modes = [stat.S_IMODE(item.stat().st_mode) for item in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_the_file_is_rotated(path: Path) -> None:
    """A full file becomes `.1`, that one `.2`, and the oldest goes; no file is larger than the limit."""
    line = (
        len(b'{"kind":"override","time":"1970-01-01T00:00:00.000Z","level":"info","message":"m","count":100}\n') + 100
    )
    sink = FileSink(path, max_bytes=line * 10, backups=2)
    for number in range(100, 135):
        sink.write(record(count=number))
    sink.close()
    files = [path.with_name("hooks.jsonl.2"), path.with_name("hooks.jsonl.1"), path]
    assert backups_of(path) == ["hooks.jsonl", "hooks.jsonl.1", "hooks.jsonl.2"]
    assert all(file.stat().st_size <= line * 10 for file in files)
    numbers = [entry["count"] for entry in lines_in(*files)]
    assert numbers == list(range(numbers[0], 135))
    assert len(numbers) >= 20


def test_without_backups_nothing_old_is_kept(path: Path) -> None:
    """With no backups there are no old files, and the newest records are there."""
    sink = FileSink(path, max_bytes=500, backups=0)
    for number in range(100, 135):
        sink.write(record(count=number))
    sink.close()
    assert backups_of(path) == ["hooks.jsonl"]
    assert path.stat().st_size <= 500
    assert [entry["count"] for entry in lines_in(path)][-1] == 134


def test_a_line_larger_than_the_file_may_be_is_written(path: Path) -> None:
    """A record is never lost for its size."""
    sink = FileSink(path, max_bytes=10, backups=1)
    sink.write(record("first"))
    sink.write(record("second"))
    sink.close()
    assert [entry["message"] for entry in lines_in(path.with_name("hooks.jsonl.1"), path)] == ["first", "second"]


_WRITE_MANY = """
import pathlib, sys
from hookline.protocol.records import OverrideRecord
from hookline.log.write.sink import FileSink
from hookline.log.write.logger import HookLogger

logger = HookLogger([FileSink(pathlib.Path(sys.argv[1]), max_bytes=20_000, backups=1000)])
for number in range(1500):
    logger.write(OverrideRecord(level="info", message="x" * (number % 200), hook=sys.argv[2], count=number))
logger.close()
"""


def test_processes_share_a_file_and_its_rotation(path: Path) -> None:
    """Lines of several processes never mix, none is lost, and each process finds the new file after a rotation."""
    names = ["a", "b", "c"]
    writers = [subprocess.Popen([sys.executable, "-c", _WRITE_MANY, str(path), name]) for name in names]
    assert [writer.wait(45) for writer in writers] == [0, 0, 0]
    files = list(path.parent.iterdir())
    written = [(line["hook"], line["count"]) for line in lines_in(*files)]
    assert len(files) > 3
    assert sorted(written) == [(name, number) for name in names for number in range(1500)]


def test_a_rotation_that_fails_leaves_no_lock(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Other programs can go on writing, and so can this one when there is room for the names again."""
    obstacle = path.with_name("hooks.jsonl.2")
    (obstacle / "inside").mkdir(parents=True)
    path.with_name("hooks.jsonl.1").touch()
    sink = FileSink(path, max_bytes=10, backups=1)
    sink.write_now(record("first"))
    sink.write_now(record("lost"))
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert "(Is a directory); hooks run, but unrecorded" in capfd.readouterr().err
    shutil.rmtree(obstacle)
    sink.write_now(record("second"))
    sink.close()
    assert [line["message"] for line in lines_in(path.with_name("hooks.jsonl.1"), path)] == ["first", "second"]


def test_fewer_backups_remove_what_is_beyond(path: Path) -> None:
    """The number of rotated files is what the settings say now."""
    for backups in (5, 1):
        sink = FileSink(path, max_bytes=10, backups=backups)
        for number in range(8):
            sink.write_now(record(count=number))
        sink.close()
    assert backups_of(path) == ["hooks.jsonl", "hooks.jsonl.1"]


def test_a_file_that_was_taken_away_is_made_anew(path: Path) -> None:
    """Deleting the log while it is written to costs what it held, not what comes."""
    sink = FileSink(path)
    sink.write(record("first"))
    until(lambda: path.exists() and path.stat().st_size > 0)
    path.unlink()
    sink.write(record("second"))
    sink.close()
    assert [line["message"] for line in lines_in(path)] == ["second"]


def test_a_link_stays_and_its_target_is_rotated(path: Path, tmp_path: Path) -> None:
    """A log that is kept elsewhere and linked to stays linked."""
    path.parent.mkdir(parents=True)
    target = tmp_path / "elsewhere.jsonl"
    path.symlink_to(target)
    sink = FileSink(path, max_bytes=10)
    sink.write(record("first"))
    sink.write(record("second"))
    sink.close()
    rotated = target.with_name("elsewhere.jsonl.1")
    assert path.readlink() == target
    assert [line["message"] for line in lines_in(rotated, target)] == ["first", "second"]


_NOT_REGULAR = "not a regular file; name a file in hooksConfig.log.path, or set hooksConfig.log.enabled to false"


@pytest.mark.parametrize("kind", ["no directory", "null character", "FIFO", "directory", "socket", "device"])
def test_what_cannot_be_written_is_said_once(tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str) -> None:
    """A log that cannot be written costs one clear line on stderr, and the agent nothing."""
    (tmp_path / "file").write_text("")
    path, reason = {
        "no directory": (tmp_path / "file" / "hooks.jsonl", "Not a directory"),
        "null character": (tmp_path / "a\0b", "[^)]*embedded null [^)]*"),
        "FIFO": (tmp_path / "fifo", f"it is a FIFO, {_NOT_REGULAR}"),
        "directory": (tmp_path, f"it is a directory, {_NOT_REGULAR}"),
        "socket": (tmp_path / "socket", f"it is a socket, {_NOT_REGULAR}"),
        "device": (Path("/dev/null"), f"it is a device, {_NOT_REGULAR}"),
    }[kind]
    os.mkfifo(tmp_path / "fifo")
    listening = socket.socket(socket.AF_UNIX)
    with contextlib.chdir(tmp_path):
        listening.bind("socket")
    listening.close()
    started = time.monotonic()
    logger = HookLogger([FileSink(path)])
    for number in range(600):
        logger.write(record(count=number))
    logger.close()
    said = re.escape(f"hookline: cannot write the log {printable(str(path))} ")
    assert re.fullmatch(rf"{said}\({reason}\); hooks run, but unrecorded\n", capfd.readouterr().err)
    assert time.monotonic() - started < 30


_FULL_THEN_FREE = """
import os, pathlib, resource, sys, time
from hookline.protocol.records import OverrideRecord
from hookline.log.write.sink import FileSink
from hookline.log.write.logger import HookLogger

path = pathlib.Path(sys.argv[1])
logger = HookLogger([FileSink(path)])
resource.setrlimit(resource.RLIMIT_FSIZE, (40, resource.RLIM_INFINITY))
logger.write(OverrideRecord(level="info", message="cut"))
while not path.exists() or path.stat().st_size < 40:
    time.sleep(0.005)
sys.stdin.readline()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
logger.write(OverrideRecord(level="info", message="whole"))
logger.close()
"""


def test_a_line_that_was_cut_short_does_not_spoil_the_next(path: Path) -> None:
    """After the disk was full, the log continues on a new line."""
    writer = subprocess.Popen(
        [sys.executable, "-c", _FULL_THEN_FREE, str(path)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert writer.stderr is not None
    complaint = writer.stderr.readline()
    _, rest = writer.communicate("go on\n", timeout=45)
    assert complaint == f"hookline: cannot write the log {path} (File too large); hooks run, but unrecorded\n"
    cut, whole = path.read_text().splitlines()
    assert (rest, len(cut), json.loads(whole)["message"]) == ("", 40, "whole")


def test_too_many_records_are_counted(path: Path) -> None:
    """When the file cannot keep up, the caller waits for a second at most, and the log says what is missing."""
    sink, slow = FileSink(path), Slow()
    sink.write(slow)
    started = time.monotonic()
    for number in range(12_000):
        sink.write(record(count=number))
    assert time.monotonic() - started < 30
    slow.go_on.set()
    sink.close()
    lines = lines_in(path)
    (note,) = [line for line in lines if "lost" in line]
    lines.remove(note)
    assert note["message"] == "log records were lost: they came faster than they could be written"
    assert (len(lines) + note["lost"], [line["count"] for line in lines]) == (12_000, list(range(len(lines))))
    assert len(lines) >= 10_000


def test_nothing_is_lost_while_the_file_can_be_written(path: Path) -> None:
    """A writer waits for records that come faster than they can be written, before the queue is full."""
    sink = FileSink(path, max_bytes=100_000_000)
    for number in range(30_000):
        sink.write(record(count=number))
    sink.close()
    assert [line.get("count") for line in lines_in(path)] == list(range(30_000))


def test_closing_takes_bounded_time(path: Path) -> None:
    """A file that accepts no records delays the end of the program by a few seconds only."""
    sink, slow = FileSink(path), Slow()
    sink.write(slow)
    started = time.monotonic()
    sink.close()
    assert 2 < time.monotonic() - started < 30
    slow.go_on.set()


def test_after_closing_records_are_dropped(path: Path) -> None:
    """A closed sink takes nothing more, and closing it again does nothing."""
    sink = FileSink(path)
    sink.write(record("before"))
    sink.close()
    sink.write(record("after"))
    sink.close()
    assert [line["message"] for line in lines_in(path)] == ["before"]


def test_a_forgotten_sink_ends_its_thread(path: Path) -> None:
    """A sink that is dropped without being closed still writes what it has, and leaves no thread."""
    before = set(threading.enumerate())
    sink = FileSink(path)
    sink.write(record())
    (thread,) = set(threading.enumerate()) - before
    del sink
    gc.collect()
    thread.join(45)
    assert (thread.is_alive(), len(lines_in(path))) == (False, 1)


_HEADER = """
import atexit, os, pathlib, sys
from hookline.protocol.records import OverrideRecord
from hookline.log.write.sink import FileSink
from hookline.log.write.logger import HookLogger

logger = HookLogger([FileSink(pathlib.Path(sys.argv[1]))])

def log(message, n, **more):
    logger.write(OverrideRecord(level="info", message=message, count=n, **more))
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("for n in range(3): log('m', n)", id="never-closed"),
        pytest.param("log('m', 0); log('m', 1); log('m', 2); sys.exit(3)", id="sys.exit"),
        pytest.param("for n in range(3): log('m', n)\nraise ValueError", id="exception"),
        pytest.param("atexit.register(lambda: [log('m', n) for n in range(3)])", id="first-at-exit"),
        pytest.param("log('m', 0); atexit.register(lambda: [log('m', n) for n in (1, 2)])", id="more-at-exit"),
    ],
)
def test_the_end_of_the_program_loses_nothing(path: Path, program: str) -> None:
    """However the interpreter ends, what was logged is in the file."""
    run_python(_HEADER + program, path)
    assert [line["count"] for line in lines_in(path)] == [0, 1, 2]


_FORK = """
import warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
path = pathlib.Path(sys.argv[1])
for n in range(500):
    log("parent", n)
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        log("child", number)
        logger.close() if number else sys.exit(0)
        os._exit(0)
    children.append(child)
for n in range(500, 1000):
    log("parent", n)
logger.close()
print([os.waitpid(child, 0)[1] for child in children])
"""


def test_a_forked_child_writes_its_own_records(path: Path) -> None:
    """A child neither hangs nor repeats what its parent was about to write, and its own records arrive."""
    done = run_python(_HEADER + _FORK, path)
    assert (done.stdout, done.stderr) == ("[0, 0, 0]\n", "")
    lines = lines_in(path)
    assert [line["count"] for line in lines if line["message"] == "parent"] == list(range(1000))
    assert sorted(line["count"] for line in lines if line["message"] == "child") == [0, 1, 2]


_NO_THREADS = """
import resource, threading
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 2**28, resource.RLIM_INFINITY))
threading.stack_size(2**30)
for n in range(3):
    log("m", n, exit_code=threading.active_count())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to learn the process's size")
def test_without_threads_the_caller_writes(path: Path) -> None:
    """Where no thread can be started any more, records are written all the same."""
    done = run_python(_HEADER + _NO_THREADS, path)
    assert done.stderr == ""
    assert [(line["count"], line["exitCode"]) for line in lines_in(path)] == [(0, 1), (1, 1), (2, 1)]


def test_a_sink_can_choose_among_the_records_of_an_event(path: Path) -> None:
    """Overriding `write` is enough to leave out a level."""

    class Quiet(FileSink):
        def write(self, entry: Loggable) -> None:
            for one in entry.records():
                if one.level is not LogLevel.DEBUG:
                    super().write(one)

    log = HookLogger([Quiet(path)])
    log.write(Event(AdviceRecord(level=LogLevel.DEBUG, message="left out"), record("kept")))
    log.close()
    assert [line["message"] for line in lines_in(path)] == ["kept"]
