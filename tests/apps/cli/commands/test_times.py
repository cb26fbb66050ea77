import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.cli.main import main
from hookline.apps.cli.report.fire import times_lines
from hookline.apps.cli.report.printer import print_lines
from hookline.runners.process.features import FEATURES
from hookline.runners.warm import lease as claim

INPUT = '{"tool_name": "write_file", "tool_input": {"file_path": "a.txt"}}'
ROW = {"hook": "g", "origin": "settings.json", "location": "hooks.BeforeTool[0].hooks[0]"}

Settings = Callable[..., str]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Writes a settings file with BeforeTool hooks of these commands, and returns its path."""

    def write(*commands: str, **more: Any) -> str:
        hooks = [{"type": "command", "command": command} for command in commands]
        path = tmp_path / "given.json"
        path.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}, **more}))
        return str(path)

    return write


def fire(*options: str) -> int:
    return main(["fire", "BeforeTool", "--input", INPUT, *options])


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.req("WARM-026")
def test_times_show_each_way_beside_the_other(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker is also started for each event, which here fails: its program can't do that."""
    loop = 'while read -r l; do i=${l#*\'"id":"\'}; printf \'{"id":"%s","output":null}\\n\' "${i%%\'"\'*}"; done'
    worker = f"""[ "$HOOKLINE_WORKER" = 1 ] || exit 1; echo '{{"ready": true}}'; {loop}"""
    groups = [{"hooks": [{"type": "command", "name": "stays", "command": worker, "worker": True}]}]
    path = settings(
        hooks={"BeforeTool": [*groups, {"hooks": [{"type": "command", "name": "plain", "command": "true"}]}]}
    )
    assert fire("--settings", path, "--times", "3", "--json") == 0
    rows = [(row["hook"], row["way"], row["runs"], row["failed"]) for row in told(capsys)["times"]]
    assert [row for row in rows if row[0] == "stays"] == [("stays", "cold", 3, 3), ("stays", "worker", 3, 0)]
    assert ("plain", "cold", 3, 0) in rows or any(row[:2] == ("plain", "warm") for row in rows)
    assert fire("--settings", path, "--times", "2") == 0
    shown = capsys.readouterr().out
    assert "How long it takes" in shown
    assert "  stays works as a worker only: started for one event, its program fails\n" in shown
    assert "plain works" not in shown


@pytest.mark.parametrize("has_own_file", [False, True])
def test_times_of_hooks_with_the_same_label_are_kept_apart(
    *, has_own_file: bool, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A worker and a plain command of one name: each has rows of its own, and says where it is."""
    loop = 'while read -r l; do i=${l#*\'"id":"\'}; printf \'{"id":"%s","output":null}\\n\' "${i%%\'"\'*}"; done'
    worker = f"""[ "$HOOKLINE_WORKER" = 1 ] || exit 1; echo '{{"ready": true}}'; {loop}"""
    stays = {"type": "command", "name": "guard", "command": worker, "worker": True}
    plain = {"type": "command", "name": "guard", "command": "true"}
    path = settings(hooks={"BeforeTool": [{"hooks": [stays] if has_own_file else [stays, plain]}]})
    other = tmp_path / "other.json"
    theirs = {"BeforeTool": [{"hooks": [plain]}]} if has_own_file else {}
    other.write_text(json.dumps({"enableHooks": True, "hooks": theirs}))
    files = ("--settings", path, "--settings", str(other))
    assert fire(*files, "--times", "2", "--json") == 0
    rows = [(row["location"], row["way"], row["runs"], row["failed"]) for row in told(capsys)["times"]]
    first, second = ("[0].hooks[0]", "[0].hooks[0]") if has_own_file else ("[0].hooks[0]", "[0].hooks[1]")
    assert sorted(rows) == sorted(
        (f"hooks.BeforeTool{place}", way, 2, failed)
        for place, way, failed in ((first, "cold", 2), (first, "worker", 0), (second, "cold", 0))
    )
    assert fire(*files, "--times", "2") == 0
    shown = capsys.readouterr().out
    names = (path, str(other)) if has_own_file else (f"hooks.BeforeTool{first}", f"hooks.BeforeTool{second}")
    assert f"  guard ({names[0]}) works as a worker only: started for one event, its program fails\n" in shown
    assert f"  guard ({names[1]})  " in shown
    assert f"guard ({names[1]}) works" not in shown


def test_the_heading_of_times_fits_on_the_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is wrapped between words."""
    monkeypatch.setattr("hookline.apps.cli.report.text.screen_width", lambda: 60)
    row = {**ROW, "way": "cold", "median": 1.0, "p90": 2.0, "longest": 3.0, "runs": 4, "failed": 0}
    print_lines(*times_lines([row], "write_file notes.txt"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == [
        "How long it takes (milliseconds), for a sample, write_file",
        "notes.txt (--input gives another)",
    ]


def test_times_recommend_nothing_that_fails_too(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """A program with a fault works in no way."""
    hook = {"type": "command", "name": "broken", "command": "exit 1", "worker": True}
    fire("--settings", settings(hooks={"BeforeTool": [{"hooks": [hook]}]}), "--times", "1")
    shown = capsys.readouterr().out
    assert "1, 1 failed" in shown
    assert "works as a worker" not in shown


def test_the_titles_of_times_stand_above_their_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where every name is shorter than the title."""
    row = {**ROW, "way": "cold", "median": 1.0, "p90": 2.0, "longest": 3.0, "runs": 4, "failed": 0}
    print_lines(*times_lines([row]))
    title, line = capsys.readouterr().out.splitlines()[-2:]
    assert title.index("way") == line.index("cold")
    assert title.index("runs") == line.index("4")


@pytest.mark.req("WARM-026")
def test_times_without_input_take_a_sample(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that most hooks of the event run for, and it is named; without `--times` the input stays empty."""
    hook = {"type": "command", "name": "heard", "command": f"cat >> {tmp_path}/heard; echo >> {tmp_path}/heard"}
    path = settings(hooks={"BeforeTool": [{"matcher": "write_file", "hooks": [hook]}]})
    assert main(["fire", "BeforeTool", "--settings", path, "--times", "2"]) == 0
    shown = capsys.readouterr()
    assert "for a sample, write_file notes.txt (--input gives another)" in shown.out
    assert "every matcher counts" not in shown.err
    heard = [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    assert {(told["tool_name"], told["tool_input"]["file_path"]) for told in heard} == {("write_file", "notes.txt")}
    assert main(["fire", "BeforeTool", "--settings", path, "--times", "1", "--json"]) == 0
    sample = {"tool_name": "write_file", "tool_input": {"file_path": "notes.txt", "content": "hello\n"}}
    assert told(capsys)["sample"] == sample
    assert main(["fire", "BeforeTool", "--settings", path, "--json"]) == 0
    assert "sample" not in told(capsys)
    assert "tool_input" not in json.loads((tmp_path / "heard").read_text().splitlines()[-1])


def test_times_of_an_event_without_a_subject_take_a_sample(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every event has one."""
    hook = {"type": "command", "command": "true"}
    path = settings(hooks={"BeforeAgent": [{"hooks": [hook]}]})
    assert main(["fire", "BeforeAgent", "--settings", path, "--times", "1", "--json"]) == 0
    assert told(capsys)["sample"] == {"prompt": "What is in notes.txt?"}


@pytest.mark.req("WARM-026")
def test_times_of_runs_that_were_never_asked_do_not_count(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """A worker that is given up is not a fast one, and the reason of its failures is named."""
    hook = {"type": "command", "name": "broken", "command": "echo no key >&2; exit 3", "worker": True}
    path = settings(hooks={"BeforeTool": [{"hooks": [hook]}]})
    fire("--settings", path, "--times", "6", "--json")
    (worker,) = [row for row in told(capsys)["times"] if row["way"] == "worker"]
    assert (worker["runs"], worker["failed"], worker["unasked"]) == (6, 6, 4)
    assert worker["median"] > 0
    fire("--settings", path, "--times", "6")
    shown = capsys.readouterr().out
    assert "6, 6 failed (4 not asked)" in shown
    assert "  broken (worker) fails: has no answer: its worker exited with code 3" in shown
    assert "  broken (cold) fails: exited with code 3 (no key)" in shown


def test_a_hook_that_is_refused_is_not_said_to_be_cold(
    script: str, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of it was started."""
    hook = {"type": "command", "name": "guard", "command": script, "worker": "yes"}
    fire("--settings", settings(hooks={"BeforeTool": [{"hooks": [hook]}]}), "--times", "2")
    shown = capsys.readouterr().out
    assert "guard (cold) fails: could not be started: its worker is a string" in shown
    assert "never warm" not in shown


def test_a_row_without_a_single_time_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    """All of its runs were refused before the hook was asked."""
    row = {**ROW, "way": "worker", "median": None, "p90": None, "longest": None, "runs": 2, "failed": 2}
    print_lines(*times_lines([{**row, "unasked": 2, "reason": "was not asked: it is closed"}]))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].split() == ["g", "worker", "-", "-", "-", "2,", "2", "failed", "(2", "not", "asked)"]
    assert lines[-1] == "  g (worker) fails: was not asked: it is closed"


needs_warm = pytest.mark.skipif(FEATURES.why_cold is not None, reason="no interpreter is started before its event here")


@pytest.fixture
def script(no_parked_interpreters: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:  # noqa: ARG001
    """A command that runs a Python script, which may be warm, however busy the machine is."""
    monkeypatch.setitem(vars(FEATURES), "warm", True)
    monkeypatch.setattr(claim, "_STANDBY_S", 30.0)
    file = tmp_path / "guard.py"
    file.write_text("import sys\nsys.stdin.read()\n")
    return f"{sys.executable} {file}"


@needs_warm
@pytest.mark.req("WARM-009", "WARM-026")
@pytest.mark.parametrize("times", [2, 5])
def test_times_have_warm_runs_from_the_third_run_on(
    times: int, script: str, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """The event was fired once before; warm runs are in a row of their own, and not among the cold ones."""
    assert fire("--settings", settings(script), "--times", str(times), "--json") == 0
    rows = {row["way"]: row for row in told(capsys)["times"]}
    assert {way: row["runs"] for way, row in rows.items()} == {"cold": times + 1, "warm": times - 1}
    assert not any(row["failed"] for row in rows.values())
    assert "whyCold" not in rows["cold"]


@needs_warm
@pytest.mark.req("WARM-026")
def test_times_show_a_python_worker_in_all_ways(
    script: str, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cold, warm and as a worker."""
    (tmp_path / "guard.py").write_text("from hookline.hook import main\nmain(lambda event: None)\n")
    hook = {"type": "command", "name": "guard", "command": script, "worker": True}
    path = settings(hooks={"BeforeTool": [{"hooks": [hook]}]})
    assert fire("--settings", path, "--times", "3", "--json") == 0
    rows = [(row["way"], row["runs"], row["failed"]) for row in told(capsys)["times"]]
    assert rows == [("cold", 3, 0), ("warm", 3, 0), ("worker", 3, 0)]


@needs_warm
@pytest.mark.req("WARM-009")
@pytest.mark.parametrize(
    ("more", "variables", "times", "why"),
    [
        ({}, {}, 1, "a script is warm from its third run on; give a larger number"),
        ({"warm": False}, {}, 3, 'it has "warm": false'),
        ({"limits": {"files": 100}}, {}, 3, "it has limits, which need a start of their own"),
        ({}, {"PYTHONFAULTHANDLER": "1"}, 3, "PYTHONFAULTHANDLER is set; unset it"),
        ({}, {"BASH_ENV": "/dev/null"}, 3, "BASH_ENV is set, so bash has to start each command; unset it"),
        ({}, {"PYTHONPATH": ""}, 3, "PYTHONPATH is empty; unset it"),
        ({"env": {"PYTHONPROFILEIMPORTTIME": "1"}}, {}, 3, "PYTHONPROFILEIMPORTTIME is set; unset it"),
    ],
)
def test_a_script_that_did_not_get_warm_is_named(
    *,
    more: dict[str, Any],
    variables: dict[str, str],
    times: int,
    why: str,
    script: str,
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the reason; a command that is no Python script is none to be named."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    hooks = [{"type": "command", "name": "guard", "command": script, **more}, {"type": "command", "command": "true"}]
    path = settings(hooks={"BeforeTool": [{"hooks": hooks}]})
    assert fire("--settings", path, "--times", str(times)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "never warm" in line] == [f"  guard was never warm: {why}"]


@pytest.mark.parametrize("times", ["0", "-1", "x", "10001"])
def test_times_are_a_number(settings: Settings, times: str) -> None:
    """Anything else is refused before a hook runs."""
    with pytest.raises(SystemExit, match="1"):
        fire("--settings", settings("touch ran"), "--times", times)
