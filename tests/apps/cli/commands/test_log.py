import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.apps.cli.main import main
from hookline.log.write.sink import FileSink
from hookline.protocol.records import LogLevel, OverrideRecord

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench


@pytest.fixture
def logged(workbench: "Workbench") -> "Workbench":
    """A log of one deny, one failure and two runs that went well."""
    commands = {
        "guard": 'case "$(cat)" in *secret*) echo "not that" >&2; exit 2;; esac',
        "audit": "echo seen; echo note >&2",
    }
    env = {"LEVEL": "high"}
    hooks = [{"type": "command", "command": text, "name": name, "env": env} for name, text in commands.items()]
    broken = [{"type": "command", "command": "exit 3", "name": "broken"}]
    workbench.write(
        workbench.user_file,
        {"hooks": {"BeforeTool": [{"hooks": hooks}], "AfterTool": [{"matcher": "ls", "hooks": broken}]}},
    )
    workbench.fire("write_file", content="secret")
    workbench.fire("ls")
    workbench.fire("ls", event="AfterTool")
    return workbench


def lines_of(text: str) -> list[str]:
    """The lines without time, ids and durations."""
    return [re.sub(r"[\d.]+ m?s\b", "…", line[30:]) for line in text.splitlines()]


def records(workbench: "Workbench", *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in workbench.run("log", *words, "--json").splitlines()]


def test_the_newest_comes_last(logged: "Workbench") -> None:
    """Every run and every event is a line, with the time and the id to ask further with."""
    printed = logged.run("log")
    assert lines_of(printed) == [
        'BeforeTool write_file: guard: blocked, …  {"content":"secret"}',
        'BeforeTool write_file: audit: allowed, …  {"content":"secret"}',
        'BeforeTool write_file: blocked: not that (1 allowed, 1 blocked, …)  {"content":"secret"}',
        "BeforeTool ls: guard: no opinion, …",
        "BeforeTool ls: audit: allowed, …",
        "BeforeTool ls: allowed (1 allowed, 1 no opinion, …)",
        "AfterTool ls: broken: failed (exit 3), …",
        "AfterTool ls: allowed (1 failed, …)",
    ]
    assert re.match(r"\d\d-\d\d \d\d:\d\d:\d\d  [0-9a-f]{10}-0  Before", printed)


@pytest.mark.parametrize(
    ("words", "hooks"),
    [
        pytest.param(["-n", "2"], ["broken", None], id="count"),
        pytest.param(["--event", "AfterTool"], ["broken", None], id="event"),
        pytest.param(["--tool", "write_file"], ["guard", "audit", None], id="tool"),
        pytest.param(["--hook", "guard"], ["guard", "guard"], id="hook"),
        pytest.param(["--hook", "guard", "-n", "0"], ["guard", "guard"], id="all-of-them"),
        pytest.param(["--decision", "blocked"], ["guard", None], id="decision"),
        pytest.param(["--failures"], ["broken"], id="failures"),
        pytest.param(["--slower-than", "60000"], [], id="slower"),
        pytest.param(["--since", "1h", "--failures"], ["broken"], id="since"),
        pytest.param(["--since", "2999-01-01"], [], id="since-a-date"),
        pytest.param(["--session", "none"], [], id="session"),
    ],
)
def test_records_are_chosen_by_options(words: list[str], hooks: list[str | None], logged: "Workbench") -> None:
    """Each option narrows the choice."""
    assert [record.get("hook") for record in records(logged, *words)] == hooks


def test_one_run_is_shown_with_everything(logged: "Workbench") -> None:
    """Input, output, errors, environment, exit code, time and decision of one run."""
    (run,) = records(logged, "--hook", "audit", "--tool", "write_file")
    shown = logged.run("log", run["id"])
    for line in (
        f"  id        {run['id']}",
        "  event     BeforeTool write_file",
        "  command   echo seen; echo note >&2",
        "  from      ~/.llxprt/settings.json: hooks.BeforeTool[0].hooks[1]",
        "  exit code 0",
        "  decision  allow",
        "  env       LEVEL=high",
        f"  env       LLXPRT_PROJECT_DIR={logged.project}",
        '      "tool_name": "write_file",',
        "  stdout:\n    seen",
        "  stderr:\n    note",
    ):
        assert f"\n{line}\n" in f"{shown}\n"
    assert re.search(r"\n  took      [\d.]+ ms \(cold\)\n", shown)
    whole = json.loads(logged.run("log", run["id"][:6], "--json").splitlines()[1])
    assert (whole["stdout"], json.loads(whole["stdin"])["tool_name"]) == ("seen\n", "write_file")


def test_an_event_is_shown_with_all_its_runs(logged: "Workbench") -> None:
    """The event's own id shows every run of it, and what came of them."""
    fire = records(logged, "--tool", "write_file")[0]["fire"]
    assert re.findall(r"^\w.*", logged.run("log", fire), re.MULTILINE) == [
        "BeforeTool: guard exited with code 2: blocked",
        "BeforeTool: audit exited with code 0: allowed",
        next(record["message"] for record in records(logged) if record["kind"] == "event"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["guard"], "no run guard is recorded; hookline log shows the ids"),
        (["0123456789-7", "--verify"], "--verify checks the whole log; leave 0123456789-7 out"),
        (["--head", "1:ab"], "--head and --save are for hookline log --verify"),
        (["abc"], "abc is too short for an id"),
        (["0123456789-7"], "no run 0123456789-7 is recorded; hookline log shows the ids"),
        (["--since", "yesterday"], "--since yesterday is not a time; write 10m, 2h, 7d or 2025-02-18T16:30"),
        (["--event", "X"], "X is not an event"),
        (["--source", "no-such"], "the log no-such does not exist"),
        (["--source", "."], "the log . cannot be read: it is a directory, not a regular file"),
    ],
)
def test_what_cannot_be_shown_is_told(words: list[str], said: str, workbench: "Workbench") -> None:
    """One line, exit code 1."""
    assert said in workbench.run("log", *words, code=1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["-n", "-1"], "argument -n/--limit: -1 is not a whole number of at least 0", id="negative"),
        pytest.param(["-n", "many"], "argument -n/--limit: many is not a whole number of at least 0", id="no-number"),
        pytest.param(["--slower-than", "1s"], "--slower-than: 1s is not a number of at least 0", id="unit"),
        pytest.param(["--slower-than", "nan"], "--slower-than: nan is not a number of at least 0", id="nan"),
        pytest.param(["--slower-than", "-1"], "--slower-than: -1 is not a number of at least 0", id="before-zero"),
        pytest.param(
            ["--decision", "foo"],
            "(choose from 'allowed', 'blocked', 'asked', 'stopped', 'would block', 'rewritten', ",
            id="decision",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_bad_usage(words: list[str], said: str, workbench: "Workbench") -> None:
    """The message lists the valid values, in plain words."""
    with pytest.raises(SystemExit) as ended:
        main(["log", *words])
    assert ended.value.code == 1
    assert said in workbench.capsys.readouterr().err


def test_a_huge_number_is_all(logged: "Workbench") -> None:
    """A larger number than there are records is accepted."""
    assert records(logged, "-n", "9" * 20) == records(logged, "-n", "0")


def test_an_empty_log_is_no_error(workbench: "Workbench") -> None:
    """Nothing recorded is an answer, on stderr."""
    assert workbench.run("log") == ""
    assert records(workbench) == []


def test_another_log_can_be_read(workbench: "Workbench", tmp_path: Path) -> None:
    """`--file` reads a log that came from elsewhere, and counts what is not a record."""
    log = tmp_path / "their.jsonl"
    log.write_text('{"time":"2025-02-18T16:30:00.000Z","message":"hello \\u001b[2J","kind":"event"}\ntorn\n')
    assert workbench.run("log", "--source", str(log)).endswith(r"hello \x1b[2J" + "\n")


def test_a_log_can_be_followed(logged: "Workbench") -> None:
    """New records are shown at once, until the command is interrupted."""
    command = [sys.executable, "-m", "hookline", "log", "--follow", "-n", "1", "--hook", "guard"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as child:
        assert child.stdout is not None
        assert lines_of(child.stdout.readline()) == ["BeforeTool ls: guard: no opinion, …"]
        logged.fire("replace")
        assert lines_of(child.stdout.readline()) == ["BeforeTool replace: guard: no opinion, …"]
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=45) == 130


@pytest.mark.usefixtures("logged")
def test_lines_fit_the_terminal(on_terminal: Callable[..., str]) -> None:
    """A long line is cut at the edge of a terminal, and a deny is coloured."""
    shown = on_terminal("log", COLUMNS="76")
    plain = re.sub(r"\x1b\[\d+m", "", shown).splitlines()
    assert max(map(len, plain)) == 76
    assert plain[2].endswith("…")
    assert "\x1b[31mBeforeTool write_file: guard: blocked" in shown


def test_what_came_of_a_run_is_readable_on_a_narrow_terminal(
    workbench: "Workbench", on_terminal: Callable[..., str]
) -> None:
    """The name of a hook is cut before its decision is, and on a very narrow screen each record has two lines."""
    name = "a-guard-whose-author-gave-it-a-name-that-says-everything"
    guard = {"type": "command", "name": name, "command": "echo no >&2; exit 2"}
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"hooks": [guard]}]}})
    workbench.fire("run_shell_command")
    for columns, run in (
        (80, r".*  \w+-0  BeforeTool run_shell_command: a-gua[\w-]*…: blocked, .*"),
        (60, r"  BeforeTool run_shell_command: a-gua[\w-]*…: blocked, .*"),
    ):
        lines = re.sub(r"\x1b\[\d+m", "", on_terminal("log", COLUMNS=str(columns))).splitlines()
        assert max(map(len, lines)) <= columns
        assert [line for line in lines if re.fullmatch(run, line)], lines


def test_a_log_that_is_switched_off_is_told(workbench: "Workbench", capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody who wonders why nothing is recorded learns why."""
    workbench.write(workbench.user_file, {"hooksConfig": {"log": {"enabled": False}}})
    assert main(["log"]) == 0
    assert "the settings disable the log (hooksConfig.log.enabled)" in capsys.readouterr().err


def test_a_reader_who_goes_away_is_no_fault(logged: "Workbench") -> None:
    """`hookline log | head -1` ends quietly."""
    for _ in range(3):
        logged.fire("ls")
    command = f"{sys.executable} -m hookline log -n 0 --json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=45)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@pytest.mark.usefixtures("logged")
def test_reading_the_log_loads_nothing_of_the_engine() -> None:
    """The modules that fire hooks take long to load, and the log needs none of them."""
    program = "import sys; from hookline.apps.cli.main import main; main(['log']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    *records, modules = done.stdout.splitlines()
    assert len(records) == 8
    assert not [name for name in modules.split() if name.startswith(("asyncio", "hookline.engine", "hookline.runners"))]


def log_file(workbench: "Workbench") -> Path:
    return workbench.home.parent / "state" / "hooks.jsonl"


def test_a_start_without_an_end_is_shown(logged: "Workbench") -> None:
    """A program that ended while its hooks ran left only their start; other starts are not shown or counted."""
    before = lines_of(logged.run("log"))
    file = log_file(logged)
    lines = file.read_text().splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line.startswith('{"kind":"start"')]
    assert len(starts) == 3
    file.write_text("".join(lines[: starts[-1] + 1]))
    fire = json.loads(lines[starts[-1]])["fire"]
    unfinished = "AfterTool ls: broken started, no end recorded"
    for words in (["log"], ["log", "-n", "0"], ["log", "--event", "AfterTool"], ["log", "--unfinished"]):
        assert lines_of(logged.run(*words))[-1] == unfinished
    assert lines_of(logged.run("log", "-n", "0")) == [*before[:-2], unfinished]
    assert lines_of(logged.run("log", "--unfinished", "-n", "0")) == [unfinished]
    assert logged.run("log", fire).startswith("AfterTool ls: broken started\n")
    assert {hook["hook"]: hook["runs"] for hook in logged.json("log", "--stats")["hooks"]} == {"guard": 2, "audit": 2}


def test_a_log_that_is_as_it_was_written_is_verified(logged: "Workbench") -> None:
    """The output states what was checked, and what was not."""
    saved = logged.run("log", "--verify", "--save", "heads").splitlines()[-1]
    head = (logged.project / "heads").read_text().strip()
    assert re.fullmatch("11:[0-9a-f]{64}", head)
    assert saved == f"Saved to heads: {head}"
    assert logged.run("log", "--verify") == (
        "Intact: no record was changed, removed, inserted or moved (11 records in 1 file, sequence 1 to 11)\n"
        "Not checked: whether records were cut off at the end, or all their hashes recomputed by a user who can"
        " write the file; keep hashes elsewhere (--save FILE) and compare with them (--head FILE)\n"
    )
    assert logged.run("log", "--verify", "--head", head).splitlines()[1:] == [
        "The head 11 is in the log: nothing up to it was cut off or replaced.",
        (
            "Not checked: whether records after that head were cut off at the end, or all their hashes recomputed by"
            " a user who can write the file"
        ),
    ]


def test_a_log_that_was_changed_is_exit_code_1(logged: "Workbench", tmp_path: Path) -> None:
    """The places are named; heads may come from a file, one per line."""
    heads = tmp_path / "heads"
    logged.run("log", "--verify", "--save", str(heads))
    file = log_file(logged)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text(
        "".join([lines[0], lines[1].replace('"denied"', '"allowed"').replace("not that", "fine"), *lines[2:-1]])
    )
    printed = logged.run("log", "--verify", "--head", str(heads), code=1)
    assert f"{file}:2: record 2, or the hash of the record before it, was changed\n" in printed
    assert "the head 11 (" in printed
    assert "Not intact: 2 findings (10 records in 1 file, sequence 1 to 10)\n" in printed
    found = logged.json("log", "--verify", "--head", str(heads), code=1)
    assert (found["intact"], found["records"], found["last"]["seq"], len(found["findings"])) == (False, 10, 10, 2)
    assert found["findings"][0]["line"] == 2
    assert len(found["notChecked"]) == 1


def test_what_cannot_be_checked_is_said(workbench: "Workbench", tmp_path: Path) -> None:
    """Lines without hashes, older files that are gone, heads that are too old, and torn lines."""
    log = tmp_path / "their.jsonl"
    log.write_text('{"kind":"event","message":"old"}\n' * 2)
    sink = FileSink(log, max_bytes=600, backups=100)
    for number in range(5):
        sink.write_now(OverrideRecord(level=LogLevel.INFO, message="x" * number))
    sink.close()
    assert "\nNot checked: 2 lines before the first hash, which an older hookline wrote\n" in workbench.run(
        "log", "--verify", "--source", str(log)
    )
    oldest = max(tmp_path.glob("their.jsonl.*"), key=lambda file: int(file.suffix[1:]))
    first = json.loads(oldest.read_text().splitlines()[-1])
    oldest.unlink()
    with log.open("a") as file:
        file.write('{"torn')
    printed = workbench.run("log", "--verify", "--source", str(log), "--head", f"{first['seq']}:{first['hash']}")
    assert " is incomplete: a program was ended, or the disk was full, while it wrote this\n" in printed
    assert f"the log begins at sequence {first['seq'] + 1}, older files are gone\n" in printed
    assert "\nNot checked: 1 head older than everything that the log keeps\n" in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--verify"], "has no record with a hash, so there is nothing to verify"),
        (["--verify", "--head", "no-such"], "--head no-such is neither a head nor a file that can be read"),
        (
            ["--verify", "--head", "notes"],
            "notes:1 is not a head; write one per line, as --save writes it",
        ),
        (
            ["--verify", "--head", "empty"],
            "empty has no head; write one per line, as --save writes it",
        ),
    ],
)
def test_what_cannot_be_verified_is_told(words: list[str], said: str, workbench: "Workbench") -> None:
    """One line, exit code 1: nothing is known about the log."""
    (workbench.project / "notes").write_text("hello\n")
    (workbench.project / "empty").write_text("")
    assert said in workbench.run("log", *words, code=1)


def test_hooks_that_did_not_match_are_left_out(workbench: "Workbench") -> None:
    """A row for each of them would hide what happened; --skipped has them, and so has the log of one hook."""
    hooks = [
        {"matcher": tool, "hooks": [{"type": "command", "name": f"for-{tool}", "command": "true"}]} for tool in "ab"
    ]
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": hooks}})
    workbench.fire("a")
    for words, shown in (((), False), (("--skipped",), True), (("--hook", "for-b"), True)):
        assert ("for-b" in workbench.run("log", *words)) is shown
    assert "for-a: no opinion" in workbench.run("log")


@pytest.fixture
def projects(logged: "Workbench", monkeypatch: pytest.MonkeyPatch) -> "Workbench":
    """Two projects whose user's hooks ran in both; the current directory is in the second, which has settings."""
    other = logged.project.parent / "other"
    (other / ".llxprt").mkdir(parents=True)
    (other / ".llxprt" / "settings.json").write_text("{}")
    (other / "deep").mkdir()
    monkeypatch.chdir(other)
    logged.fire("only_here")
    return logged


def test_the_log_of_a_project_has_its_own_records(projects: "Workbench", monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is shared by all projects, and --all-projects shows it so, with the name of each other project."""
    assert {record["subject"] for record in records(projects)} == {"only_here"}
    assert {record["subject"] for record in records(projects, "--all-projects")} == {"only_here", "ls", "write_file"}
    assert {record["subject"] for record in records(projects, "--project", str(projects.project))} == {
        "ls",
        "write_file",
    }
    assert any(line.startswith("project  BeforeTool ls") for line in lines_of(projects.run("log", "--all-projects")))
    monkeypatch.chdir("deep")
    assert {record["subject"] for record in records(projects)} == {"only_here"}


def test_a_session_or_a_run_that_is_named_may_be_of_any_project(projects: "Workbench") -> None:
    """A named session or file needs no project."""
    elsewhere = next(record for record in records(projects, "--all-projects") if record["subject"] == "ls")
    assert records(projects, "--session", elsewhere["session"])
    assert f"project   {projects.project}" in projects.run("log", elsewhere["fire"])


def test_a_record_without_a_project_is_shown_in_each(projects: "Workbench") -> None:
    """Older versions wrote none, and a record that is not shown might be the one that is looked for."""
    with log_file(projects).open("a") as log:
        log.write('{"kind":"event","time":"2025-02-18T16:30:00.000Z","subject":"old"}\n')
    assert {record["subject"] for record in records(projects)} == {"only_here", "old"}


def test_outside_of_any_project_all_are_shown(projects: "Workbench", monkeypatch: pytest.MonkeyPatch) -> None:
    """A note reports that, with the way to choose one."""
    monkeypatch.chdir(projects.home)
    for words in (["log"], ["log", "--stats"]):
        assert main(words) == 0
        shown = projects.capsys.readouterr()
        assert "this directory is in no project, so all projects are shown; --project DIR chooses one" in shown.err
    assert {record["subject"] for record in records(projects)} == {"only_here", "ls", "write_file"}


def test_nothing_of_this_project_is_not_nothing_at_all(projects: "Workbench") -> None:
    """The message names the project and the option."""
    for words in (["log", "--tool", "ls"], ["log", "--stats", "--tool", "ls"]):
        assert main(words) == 0
        shown = "".join(projects.capsys.readouterr())
        assert f"of the project {os.path.realpath('.')} (--all-projects looks in all)" in shown


def test_a_secret_in_the_path_of_a_project_hides_no_record(
    projects: "Workbench", monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path is left out then, so that the record is shown everywhere."""
    secret = projects.project.parent / "s3cr3t-p4ssw0rd"
    (secret / ".llxprt").mkdir(parents=True)
    (secret / ".llxprt" / "settings.json").write_text("{}")
    monkeypatch.setenv("DEPLOY_TOKEN", secret.name)
    monkeypatch.chdir(secret)
    projects.fire("in_secret")
    assert "in_secret" in {record["subject"] for record in records(projects)}
    assert secret.name not in log_file(projects).read_text()


def test_what_was_decided_about_a_hook_of_every_project_is_in_the_log_of_each(projects: "Workbench") -> None:
    """A user's guard that is disabled in one project is disabled in all."""
    projects.run("disable", "guard", "--yes")
    here = [record["hook"] for record in records(projects) if record["kind"] == "consent"]
    elsewhere = records(projects, "--project", str(projects.project))
    assert here == ["guard"] == [record["hook"] for record in elsewhere if record["kind"] == "consent"]
