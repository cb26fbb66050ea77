"""A project in which the commands of the documentation and of messages are tried."""

import json
import subprocess
from pathlib import Path

import pytest

from hookline.apps.cli.main import main

CASE = '[[case]]\nname = "secrets"\ntool = "read_file"\narguments.file_path = ".env"\nexpect = "blocked"\n'


def make_site(home: Path, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str], guard: str) -> str:
    """Make a project with a trusted guard, case files, settings of other agents, a log, and git; return a run's id."""
    place = home / "site"
    place.mkdir()
    (home / "other" / ".git").mkdir(parents=True)
    monkeypatch.chdir(place)
    assert main(["init"]) == 0
    settings, cases = Path(".llxprt/settings.json"), Path(".llxprt/guard-secrets.hooks.toml")
    settings.write_text(settings.read_text().replace('"name": "guard-secrets"', f'"name": "{guard}"'))
    cases.write_text(cases.read_text().replace('"guard-secrets"', f'"{guard}"'))
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)
    assert main(["trust", "--all", "--yes"]) == 0
    for file in (".env", "notes.txt"):
        called = {"tool_name": "read_file", "tool_input": {"file_path": file}}
        main(["fire", "BeforeTool", "--input", json.dumps(called)])
    Path("input.json").write_text(json.dumps(called))
    for name in (".llxprt/guard.hooks.toml", "real.hooks.toml", "guard.hooks.toml"):
        Path(name).write_text(CASE)
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}
    for folder in (".claude", "guards"):
        Path(folder).mkdir()
    for name in ("hooks.json", ".claude/settings.json"):
        Path(name).write_text(json.dumps({"hooks": hooks}))
    for name in ("new.json", "old-settings.json", "guards/settings.json"):
        Path(name).write_text(settings.read_text())
    capture.readouterr()
    main(["log", "--json", "--decision", "blocked"])
    run_id = str(json.loads(capture.readouterr().out.splitlines()[0])["id"])
    main(["log", "--verify", "--save", "heads"])
    for name in ("old.jsonl", "session.jsonl"):
        Path(name).write_bytes((home.parent / "state" / "hooks.jsonl").read_bytes())
    capture.readouterr()
    return run_id
