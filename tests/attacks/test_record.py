"""Attacks on the record: a changed log, a hook that ends its parent, and files that are not logs."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader
from hookline.log.read.verify import Verification, log_head, verify_log
from hookline.log.write.chain import Head
from hookline.log.write.sink import FileSink
from hookline.protocol.records import LogLevel, OverrideRecord


@pytest.fixture(name="path")
def path_fixture(tmp_path: Path) -> Path:
    return tmp_path / "log" / "hooks.jsonl"


def write(path: Path, count: int = 30, *, max_bytes: int = 3_000, backups: int = 100) -> None:
    """Appends records; ten of them fill a file."""
    sink = FileSink(path, max_bytes=max_bytes, backups=backups)
    for number in range(count):
        record = OverrideRecord(level=LogLevel.INFO, message=f"record {number}", hook="guard", decision="deny")
        # One by one: how many the log's thread takes at once must not decide where a file ends.
        sink.write_now(record)
    sink.close()


def files_of(path: Path) -> list[Path]:
    """Oldest first."""
    numbers = sorted((int(file.suffix[1:]) for file in path.parent.glob("hooks.jsonl.*")), reverse=True)
    return [*(path.with_name(f"hooks.jsonl.{number}") for number in numbers), path]


def messages(found: Verification) -> list[str]:
    return [finding.message for finding in found.findings]


def edit(file: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))


def test_a_log_that_nobody_touched_is_intact_across_its_rotation(path: Path) -> None:
    """Every record is counted, from the first to the last."""
    write(path)
    found = verify_log(path)
    assert len(files_of(path)) > 2
    assert (found.findings, found.incomplete, found.records, found.first) == ([], [], 30, 1)
    assert found.last == log_head(path)
    assert found.last is not None
    assert found.last.seq == 30


def changed(old: bytes, new: bytes) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [lines[0], lines[1], lines[2].replace(old, new), *lines[3:]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(
            changed(b'"deny"', b'"allow"'), ["record 3, or the hash of the record before it, was changed"], id="field"
        ),
        pytest.param(
            changed(b"record 2", b"record 9"),
            ["record 3, or the hash of the record before it, was changed"],
            id="one-byte",
        ),
        pytest.param(
            changed(b'"hash":"', b'"hash":"0'),
            [
                "has no sequence number and hash: inserted, changed, or written while the log could not be locked",
                "record 3 is missing before record 4, or that one was changed",
            ],
            id="hash-removed",
        ),
        pytest.param(
            changed(b'"seq":3', b'"seq":5'),
            ["records 3 to 4 are missing before record 5, or that one was changed"],
            id="changed-number",
        ),
        pytest.param(
            lambda lines: [*lines[:2], *lines[3:]],
            ["record 3 is missing before record 4, or that one was changed"],
            id="removed-line",
        ),
        pytest.param(
            lambda lines: [*lines[:3], lines[2], *lines[3:]],
            ["record 3 stands after record 3: it was copied, moved or inserted"],
            id="copied-line",
        ),
        pytest.param(
            lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
            [
                "record 3 is missing before record 4, or that one was changed",
                "record 3 stands after record 4: it was copied, moved or inserted",
            ],
            id="swapped-lines",
        ),
        pytest.param(
            lambda lines: [*lines[:3], b'{"kind":"hook","message":"all is well"}\n', *lines[3:]],
            ["has no sequence number and hash: inserted, changed, or written while the log could not be locked"],
            id="inserted-line",
        ),
        pytest.param(lambda lines: lines[1:], ["the records before record 2 are missing"], id="removed-first-line"),
        pytest.param(lambda lines: [b"", *lines[1:]], ["the records before record 2 are missing"], id="emptied-first"),
    ],
)
def test_a_manipulated_line_is_found(path: Path, change: Callable[[list[bytes]], list[bytes]], said: list[str]) -> None:
    """Each manipulation is found where it is, and the records behind it are not accused."""
    write(path)
    edit(files_of(path)[0], change)
    found = verify_log(path)
    assert messages(found) == said
    assert {finding.file for finding in found.findings} == {str(files_of(path)[0])}


def test_a_hash_that_was_computed_again_accuses_the_next_record(path: Path) -> None:
    """To change a record with its hash, an attacker must change all that follow."""

    def forge(lines: list[bytes]) -> list[bytes]:
        before = json.loads(lines[1])["hash"]
        body = lines[2].partition(b',"hash":')[0].replace(b'"deny"', b'"allow"')
        return [
            *lines[:2],
            b'%b,"hash":"%b"}\n' % (body, hashlib.sha256(before.encode() + body).hexdigest().encode()),
            *lines[3:],
        ]

    write(path)
    edit(files_of(path)[0], forge)
    assert messages(verify_log(path)) == ["record 4, or the hash of the record before it, was changed"]


def test_a_rotated_file_in_the_middle_that_is_gone_is_found(path: Path) -> None:
    """The next file names the hash that it follows."""
    write(path)
    oldest, middle, *_ = files_of(path)
    first = json.loads(middle.read_bytes().splitlines()[0])["seq"]
    last = json.loads(middle.read_bytes().splitlines()[-1])["seq"]
    middle.unlink()
    assert messages(verify_log(path)) == [f"records {first} to {last} are missing before record {last + 1}"]
    oldest.unlink()
    found = verify_log(path)
    assert (found.findings, found.first) == ([], last + 1)


def test_a_file_that_was_replaced_by_another_log_is_found(path: Path, tmp_path: Path) -> None:
    """Its records are in order among themselves, and do not belong here."""
    write(path)
    write(tmp_path / "other.jsonl", 5)
    middle = files_of(path)[1]
    middle.write_bytes((tmp_path / "other.jsonl").read_bytes())
    stands, missing = messages(verify_log(path))
    assert stands.startswith("record 1 stands after record ")
    assert " are missing before record " in missing


def test_a_cut_off_end_is_found_against_a_head_that_was_kept(path: Path) -> None:
    """Without one, it can't be."""
    write(path, max_bytes=100_000)
    head = log_head(path)
    assert head is not None
    edit(path, lambda lines: lines[:20])
    assert verify_log(path).findings == []
    for kept in (head, Head(0, head.hash)):
        (message,) = messages(verify_log(path, [kept]))
        assert message.endswith("is not in the log: its end was cut off, or it was replaced")
    write(path, 10, max_bytes=100_000)
    assert len(messages(verify_log(path, [head]))) == 1, "a new record 30 is not the old one"


def test_a_head_that_is_in_the_log_confirms_it(path: Path) -> None:
    """The latest of several counts; one of records that are no longer kept says nothing."""
    write(path, 5)
    early = log_head(path)
    write(path, 30, backups=1)
    late = log_head(path)
    write(path, 1, backups=1)
    assert early is not None
    assert late is not None
    found = verify_log(path, [late, early])
    assert (found.findings, found.confirmed, found.forgotten) == ([], late, 1)
    assert found.first is not None
    assert found.first > early.seq


def test_a_log_that_was_computed_anew_is_found_against_a_head(path: Path) -> None:
    """The chain has no secret, so this is what heads are kept elsewhere for."""
    write(path)
    head = log_head(path)
    assert head is not None
    for file in files_of(path):
        file.unlink()
    write(path)
    assert verify_log(path).findings == []
    assert len(verify_log(path, [head]).findings) == 1


@pytest.mark.parametrize("keeps_file", [True, False])
def test_records_removed_during_a_session_are_found_without_a_head(path: Path, *, keeps_file: bool) -> None:
    """The program that writes remembers its last record, and links the next one to it."""
    write(path, max_bytes=3_000)
    sink = FileSink(path, max_bytes=3_000, backups=100)
    sink.write_now(OverrideRecord(level=LogLevel.INFO, message="before"))
    if keeps_file:
        edit(path, lambda lines: lines[:1])
    else:
        path.unlink()
    sink.write_now(OverrideRecord(level=LogLevel.INFO, message="after"))
    sink.close()
    (message,) = messages(verify_log(path))
    assert "missing before record 32" in message


@pytest.mark.parametrize("hide", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["deleted", "emptied"])
def test_a_log_that_is_deleted_or_emptied_while_a_program_writes_is_found(
    path: Path, hide: Callable[[Path], object]
) -> None:
    """Rotation removes the oldest file only when there are enough of them; before that, another process did."""
    sink = FileSink(path, max_bytes=100_000, backups=2)
    record = OverrideRecord(level=LogLevel.INFO, message="x")
    sink.write_now(record)
    hide(path)
    sink.write_now(record)
    sink.close()
    assert messages(verify_log(path, backups=2)) == [
        "the records before record 2 are missing: rotation keeps 2 older files, and there are 0"
    ]
    path.unlink()
    write(path, 60, backups=2)
    assert verify_log(path, backups=2).findings == []


def test_lines_of_an_older_version_are_counted(path: Path) -> None:
    """They have no hashes; the chain begins behind them, and removed hashes are found."""
    path.parent.mkdir()
    path.write_text('{"kind":"event","message":"old"}\n' * 7)
    write(path, max_bytes=100_000)
    found = verify_log(path)
    assert (found.findings, found.without_hash, found.records) == ([], 7, 30)
    edit(path, lambda lines: [*lines[:7], b'{"kind":"event","message":"record 0"}\n', *lines[8:]])
    assert messages(verify_log(path)) == ["the records before record 2 are missing"]


_WRITE_MANY = """
import pathlib, sys
from hookline.protocol.records import OverrideRecord
from hookline.log.write.sink import FileSink

sink = FileSink(pathlib.Path(sys.argv[1]), max_bytes=20_000, backups=1000)
for number in range(int(sys.argv[2])):
    entry = OverrideRecord(level="info", message="x" * (number % 200), count=number)
    sink.write_now(entry) if number % 3 == 0 else sink.write(entry)
    if number == 10:
        print("ready", flush=True)
sink.close()
"""


def start_writer(path: Path, count: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", _WRITE_MANY, str(path), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("backups", [0, 1000])
def test_processes_that_write_at_the_same_time_share_one_chain(path: Path, backups: int) -> None:
    """1,000 records of each, with rotation in between, from two threads of each."""
    writers = [start_writer(path, 1000) for _ in range(2)]
    write(path, 100, max_bytes=20_000, backups=1000)
    for writer in writers:
        writer.communicate(timeout=45)
    found = verify_log(path)
    assert (found.findings, found.incomplete, found.records) == ([], [], 2100)
    assert found.files > 5
    write(path, 300, backups=backups)
    assert verify_log(path).findings == []


def test_a_writer_that_is_killed_leaves_a_chain_that_goes_on(path: Path) -> None:
    """Its last line may be torn; the next program continues after it."""
    for _ in range(4):
        writer = start_writer(path, 10**6)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.05)
        writer.kill()
        writer.communicate()
        assert verify_log(path).findings == []
    write(path, 10, max_bytes=20_000, backups=1000)
    assert verify_log(path).findings == []


@pytest.mark.parametrize("cut", [1, 2, 40, 200])
def test_a_torn_line_is_told_and_the_chain_goes_on(path: Path, cut: int) -> None:
    """It is not taken for an attack: what it was to say is lost, and nothing else."""
    write(path, max_bytes=100_000)
    os.truncate(path, path.stat().st_size - cut)
    at_the_end = verify_log(path)
    write(path, 3, max_bytes=100_000)
    found = verify_log(path)
    is_whole = cut == 1  # only its newline is missing
    assert (at_the_end.findings, found.findings) == ([], [])
    assert [len(done.incomplete) for done in (at_the_end, found)] == ([0, 0] if is_whole else [1, 1])
    assert found.records == (33 if is_whole else 32)


def test_a_log_that_stays_locked_is_written_without_hashes(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No process can stop the agent by holding the lock; records written in that time are shown as not checked."""
    write(path, 3, max_bytes=100_000)
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD_LOCK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    sink = FileSink(path)
    started = time.monotonic()
    for number in range(50):
        sink.write_now(OverrideRecord(level=LogLevel.INFO, message=f"meanwhile {number}"))
    took = time.monotonic() - started
    holder.communicate("")
    sink.write_now(OverrideRecord(level=LogLevel.INFO, message="again"))
    sink.close()
    assert took < 15  # each of them would wait otherwise
    said = f"hookline: cannot lock the log {path} (another process keeps it locked); its records lack hashes"
    assert capfd.readouterr().err == f"{said} until that works\n"
    found = verify_log(path)
    assert (len(found.findings), found.records) == (50, 4)


_HOLD_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "rb")
fcntl.flock(file, fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.read()
"""


_FIRE = ["fire", "BeforeTool", "--input", '{"tool_name": "ls", "tool_input": {}}']


def test_a_hook_that_kills_its_parent_is_in_the_log(tmp_path: Path, project: Path) -> None:
    """That it was started is in the file before it runs."""
    log = tmp_path / "hooks.jsonl"
    settings = tmp_path / "settings.json"
    hook = {"type": "command", "name": "killer", "command": "kill -9 $PPID"}
    hooks = {"BeforeTool": [{"hooks": [hook]}]}
    settings.write_text(json.dumps({"enableHooks": True, "hooks": hooks, "hooksConfig": {"log": {"path": str(log)}}}))
    command = [sys.executable, "-m", "hookline", *_FIRE, "--settings", str(settings)]
    done = subprocess.run(command, cwd=project, check=False, capture_output=True, timeout=45)
    assert done.returncode == -signal.SIGKILL
    with LogReader(log) as reader:
        (entry,) = reader.newest(LogQuery(kinds=frozenset({"start"})), 10)
    assert (entry.event, entry.subject, entry.message) == ("BeforeTool", "ls", "BeforeTool ls: killer started")
    assert verify_log(log).findings == []


_FIRE_AND_DIE = """
import asyncio, json, pathlib, sys
from hookline import Config

async def main(settings):
    handler = await ready(Config(pathlib.Path.cwd(), settings=settings))
    await handler.fire_before_tool_event("harmless", {})
    await asyncio.gather(*(handler.fire_before_tool_event("deadly", {"n": n}) for n in range(int(sys.argv[2]))))

async def ready(config):
    system = config.get_hook_system()
    await system.initialize()
    return system.get_event_handler()

asyncio.run(main(json.loads(sys.argv[1])))
"""


@pytest.mark.parametrize("count", [1, 30])
def test_a_hook_that_kills_a_busy_program_is_in_the_log(tmp_path: Path, project: Path, count: int) -> None:
    """The log's thread had no time to write anything, and the starts are there."""
    log = tmp_path / "hooks.jsonl"
    killer = {"type": "command", "name": "killer", "command": "kill -9 $PPID"}
    groups = [{"matcher": "deadly", "hooks": [killer]}, {"hooks": [{"type": "command", "command": "true"}]}]
    settings = {"enableHooks": True, "hooks": {"BeforeTool": groups}, "hooksConfig": {"log": {"path": str(log)}}}
    program = [sys.executable, "-c", _FIRE_AND_DIE, json.dumps(settings), str(count)]
    done = subprocess.run(program, cwd=project, check=False, capture_output=True, text=True, timeout=45)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    read = [sys.executable, "-m", "hookline", "log", "--unfinished", "-n", "0"]
    read += ["--settings", str(tmp_path / "settings.json")]
    done = subprocess.run(read, cwd=project, check=True, capture_output=True, text=True, timeout=45)
    found = [line for line in done.stdout.splitlines() if "BeforeTool deadly: killer, true started, no end" in line]
    assert 1 <= len(found) <= count
    assert verify_log(log).findings == []


@pytest.mark.parametrize("command", [_FIRE, ["log"], ["log", "--stats"], ["doctor"]])
def test_a_log_that_is_a_fifo_stops_nobody_and_is_told(tmp_path: Path, project: Path, command: list[str]) -> None:
    """Nobody reads from it; opening it would wait forever."""
    log = tmp_path / "fifo"
    os.mkfifo(log)
    settings = tmp_path / "settings.json"
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]}
    settings.write_text(json.dumps({"enableHooks": True, "hooks": hooks, "hooksConfig": {"log": {"path": str(log)}}}))
    done = subprocess.run(
        [sys.executable, "-m", "hookline", *command, "--settings", str(settings)],
        cwd=project,
        check=False,
        capture_output=True,
        text=True,
        timeout=45,
    )
    assert "it is a FIFO, not a regular file" in done.stderr + done.stdout
    assert done.returncode == (0 if command[0] in ("fire", "doctor") else 1)
