"""A path in a message has one form: relative below the current directory, else `~/…`, else whole."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.apps.cli.main import COMMANDS, main
from hookline.protocol.text.strings import short_paths

if TYPE_CHECKING:
    from tests.apps.cli.conftest import Workbench

# Each with paths of the project, the home and the state in what it prints; the last of a row are the odd ones.
CALLS: dict[str, Sequence[tuple[str, ...]]] = {
    "init": [("init",)],
    "list": [("list",), ("list", "--project", "{here}/none")],
    "enable": [("enable", "guard-secrets", "--yes"), ("enable", "mine", "--scope", "project", "--yes")],
    "disable": [
        ("disable", "mine", "--yes"),
        ("disable", "mine", "--scope", "project", "--yes"),
        ("disable", "nobody"),
    ],
    "check": [("check",), ("check", "--run")],
    "fire --plan": [("fire", "--plan", "BeforeTool", "--tool", "ls"), ("fire", "--plan", "BeforeModel")],
    "fire": [
        ("fire", "BeforeTool", "--input", '{{"tool_name": "ls"}}'),
        ("fire", "BeforeTool", "--settings", "{here}/none.json"),
    ],
    "test": [("test",), ("test", "{here}/none.hooks.toml")],
    "replay --save": [
        ("replay", "--save", "new.hooks.toml", "--tool", "nothing"),
        ("replay", "--save", "{here}/x"),
        ("replay", "--save", "{here}/x.hooks.toml"),
    ],
    "replay": [("replay",), ("replay", "--tool", "nothing")],
    "trust": [("trust", "--all", "--yes"), ("trust", "--list"), ("trust", "mine"), ("trust",)],
    "trust --revoke": [("trust", "--revoke", "nobody"), ("trust", "--revoke", "--all", "--yes")],
    "log": [
        ("log",),
        ("log", "--failures"),
        ("log", "--tool", "no"),
        ("log", "--verify"),
        ("log", "--source", "{here}/no"),
    ],
    "ui": [("ui", "--source", "{here}/none")],
    "log --stats": [("log", "--stats"), ("log", "--stats", "--hook", "nobody"), ("log", "--stats", "--shadow")],
    "doctor": [("doctor",)],
    "init --from": [
        ("init", "--from", "claude"),
        ("init", "--from", "claude", "{here}/none.json"),
        ("init", "--from", "claude", "--write", "--scope", "user"),
    ],
    "bridge": [("bridge", "install", "claude"), ("bridge", "status"), ("bridge", "uninstall", "claude")],
    "hook": [("hook", "--help")],
    "serve": [("serve", "--status")],
    "fleet worker": [("fleet", "worker", "--subject", "x", "--settings", "{here}/none.json")],
    "mcp": [("mcp", "--name", "x", "--", "{here}/none")],
    "list --packs": [("list", "--packs")],
    "doctor --prove": [("doctor", "--prove", "--no-canary")],
    "replay --against": [("replay",), ("replay", "--from", "{here}/none")],
    "schema": [("schema",)],
    "completion": [("completion", "bash")],
    "agent": [
        ("agent", "--prompt", "x", "--model", "replay:{here}/bad.jsonl"),
        ("agent", "--prompt", "x", "--model", "replay:{here}/none.jsonl"),
        ("agent", "--prompt", "x", "--model", "replay:{here}/bad.jsonl", "--resume"),
    ],
}
MINE = {
    "hooks": {
        "BeforeTool": [{"hooks": [{"type": "command", "name": "mine", "command": "exit 3"}]}],
        "AfterTool": [{"matcher": "(", "hooks": [{"type": "command", "command": "./none"}]}],
        "BeforeModel": [{"sequential": True, "hooks": [{"type": "command", "command": c} for c in ("true", "false")]}],
    },
    "unknown": 1,
}


@pytest.fixture
def site(workbench: "Workbench", monkeypatch: pytest.MonkeyPatch) -> "Workbench":
    """A project below the home directory, which also has the state; both have hooks, and some are wrong."""
    place = workbench.home / "site"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(workbench.home / "state"))
    workbench.write(workbench.user_file, MINE)
    (place / "bad.jsonl").write_text('{"torn')
    workbench.run("init")
    return workbench


def shown_by(workbench: "Workbench", words: Sequence[str]) -> str:
    """Return the command's output."""
    with suppress(SystemExit):  # of an option that the command does not have
        main([word.format(here=Path.cwd()) for word in words])
    return "".join(workbench.capsys.readouterr())


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("is_broken", [False, True], ids=["", "broken"])
def test_paths_have_one_form(command: str, is_broken: bool, site: "Workbench") -> None:
    """No command prints a path of the home directory or the current one in full."""
    if is_broken:
        Path(".llxprt/settings.json").write_text('{"enableHooks": tru')
    elif command == "init":
        Path(".llxprt/settings.json").unlink()
    calls = [words for name, rows in CALLS.items() if name.partition(" ")[0] == command for words in rows]
    for words in calls or [(command, "--settings", "{here}/none.json")]:
        for place in (".",) if is_broken else (".", "deep"):
            Path(place).mkdir(exist_ok=True)
            os.chdir(place)
            shown = shown_by(site, words)
            os.chdir(site.home / "site")
            assert "Traceback" not in shown
            exact = [line for line in shown.split("\n") if str(site.home) in line]
            assert exact == [], shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{here}/a.json:3: is", "a.json:3: is"),
        ("({home}/b: c)", "(~/b: c)"),
        ("in {home}.", "in ~."),
        ("the project is {here}", "the project is ~/here"),
        ("{home}work/x", "{home}work/x"),
        ("/elsewhere{here}/x", "/elsewhere{here}/x"),
        ("run: cat '{home}/my file'", "run: cat '{home}/my file'"),
        ("/etc/x.json", "/etc/x.json"),
        ("{home}.bak", "{home}.bak"),
    ],
)
def test_only_whole_paths_are_shortened(text: str, shown: str, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer name that begins alike is another one, and in quotes a shell would not expand it."""
    here = own_home / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert short_paths(text.format(here=here, home=own_home)) == shown.format(here=here, home=own_home)


def test_programs_get_whole_paths(site: "Workbench") -> None:
    """Paths in the output of --json can be opened from any directory."""
    assert all(Path(hook["file"]).is_absolute() for hook in json.loads(json.dumps(site.json("list")))["hooks"])
