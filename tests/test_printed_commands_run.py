"""Every command that a message or a help text prints is executed, and does what is printed beside it.

`tests/apps/cli/test_printed_commands.py` collects the commands from the source: a new one needs a row here.
"""

import io
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest
from tests.apps.cli.test_printed_commands import MENTIONS, filled
from tests.command_site import make_site
from tests.conftest import Person
from tests.warm import run

from hookline.apps.cli.main import main

ROOT = Path(__file__).parents[1]
FLEET, LONG = "tests/fleet/test_shown_commands.py", "tests/install/test_long_commands.py"
PRINTED = {" ".join(words): words for words in (filled(words) for _, words in MENTIONS)}


class Row(NamedTuple):
    """The result of a command in the site."""

    shows: str
    """A pattern that its output has."""
    code: int = 0


# In this order: some prepare others. The words that stand for a value are replaced; see `words_of`.
ROWS = {
    "log 3f9a01c2d4-0": Row("guard"),
    "log x": Row("guard"),
    "log --hook guard --decision blocked": Row("guard: blocked"),
    "log --all-projects": Row("guard"),
    "log --stats": Row("2 events"),
    "log --stats --since 7d": Row("2 events"),
    "log --unfinished": Row("no such record"),
    "log --failures": Row("no such record"),
    "log --failures --since 1d": Row("no such record"),
    "log --verify --save /mnt/usb/heads": Row("Intact.*Saved to heads: [0-9]+:[0-9a-f]{64}"),
    "log --verify": Row("Intact"),
    "log --verify --head /mnt/usb/heads": Row("Intact.*is in the log"),
    "log --stats --shadow": Row("No run of a hook in the mode"),
    "log --stats --fail-over-budget": Row("2 runs"),
    "replay --decision blocked --save -": Row(r"\[\[case\]\]"),
    "replay --since 1d --save .llxprt/real.hooks.toml": Row("2 cases added"),
    "replay --since 7d --tool run_shell_command --limit 0": Row("no such event", 1),
    "replay --from real.hooks.toml": Row("1 passed|decided"),
    "replay --settings new.json": Row("Nothing would be decided differently"),
    "replay --from claude --from codex --all-projects": Row("nothing happened", 1),
    "replay --against main": Row("blocks 0 more"),
    "replay --against old-settings.json --markdown": Row("blocks 0 more"),
    "check --run": Row(""),
    "check --strict --sarif": Row('"version": "2.1.0"'),
    "check --settings hooks.json": Row("PreToolUse is an event of Claude Code", 1),
    "test guard.hooks.toml": Row("1 passed"),
    "test x": Row("1 passed"),
    "test --filter secrets": Row("passed"),
    "test --junit results.xml": Row("passed"),
    "doctor --project ../other --json": Row('"healthy"', 1),
    "doctor --project x": Row("guard"),
    "schema input BeforeTool": Row("BeforeToolInput"),
    "schema output": Row('"hook output"'),
    "schema cases": Row("CaseFile"),
    "list --event BeforeTool --json": Row('"event":"BeforeTool"|"event": "BeforeTool"'),
    "list --packs": Row("hookline:shell"),
    "list --packs shell": Row("git-discard"),
    "list --packs shell --rule git-discard": Row("git-discard"),
    "completion bash": Row("complete -o default"),
    "completion zsh": Row("#compdef hookline"),
    "completion fish": Row("complete -c hookline"),
    "completion --words": Row("doctor"),
    "fire BeforeTool --input x": Row("Allowed"),
    "fire BeforeTool --settings hooks.json --input @input.json --json": Row('"event":"BeforeTool"'),
    "fire PreToolUse --dialect claude --tool Bash": Row("BeforeTool"),
    "fire --plan BeforeTool": Row("guard"),
    "fire --plan BeforeTool --tool write_file": Row("guard"),
    "fire --plan SessionStart --subject startup --json": Row('"hooks": ?\\[\\]'),
    "serve --status": Row("No server runs", 1),
    "serve --stop": Row("No server runs"),
    "init --from claude": Row("PreToolUse"),
    "init --from codex --scope user": Row("Codex has no hooks", 1),
    "init --from claude hooks.json --write": Row("PreToolUse"),
    "bridge status": Row("Not installed in: claude"),
    "hook copilot": Row('"permissionDecision":"deny"'),
    "bridge install claude": Row("added to PreToolUse"),
    "bridge install codex --scope project --events PreToolUse,UserPromptSubmit": Row(
        "added to PreToolUse, UserPromptSubmit"
    ),
    "bridge status claude": Row("PreToolUse"),
    "bridge status claude --json": Row('"installed"'),
    "bridge uninstall claude": Row("removed from PreToolUse"),
    "bridge install --help": Row("usage"),
    "doctor --prove codex --no-canary --since 30d": Row("No transcript", 1),
    "doctor --prove": Row("denied"),
    "doctor --prove --project x": Row("denied"),
    "fleet policy": Row("which subcommand", 1),
    "fleet policy keygen policy.key": Row("ed25519:"),
    "fleet policy keygen FILE": Row("ed25519:"),
    "fleet policy pack guards/ --version 1 -o policy.json": Row("policy.json"),
    "fleet policy pack guards/ --version 7 --expires 90d --teams payments,web -o policy.json": Row("old.json"),
    "fleet policy sign x --key FILE": Row("igned"),
    "fleet policy sign policy.json --key policy.key": Row("igned"),
    "fleet policy rollback old.json --version 8 --key policy.key -o policy.json": Row("8"),
    "fleet policy verify policy.json": Row("valid"),
    "fleet policy verify policy.json --public-key ed25519": Row("valid"),
    "fleet policy verify FILE": Row("valid"),
    "fleet policy sign --help": Row("usage"),
    "fleet events --help": Row("usage"),
    "trust --list": Row("guard"),
    "trust guard": Row("guard is trusted already"),
    "trust --all --yes": Row("trusted"),
    "disable guard": Row("guard"),
    "disable guard --scope project": Row("guard"),
    "enable guard": Row("on"),
    "enable guard --scope project": Row("on"),
    "enable x": Row("on"),
    "enable HOOK": Row("on"),
    "trust --dialect claude": Row("trust"),
    "trust --revoke --all --project ../other": Row("Nothing was trusted"),
    "trust --revoke guard": Row("not trusted any more: guard"),
    "trust --revoke": Row("say whose trust to revoke", 1),
    "init --scope user --language sh": Row("wrote ~/.llxprt/settings.json"),
    "init --worker": Row("wrote .llxprt/settings.json"),
    "init --pack shell": Row("wrote .llxprt/settings.json"),
}
COPILOT = {"sessionId": "s", "timestamp": 1, "cwd": ".", "toolName": "view", "toolArgs": '{"path": ".env"}'}
# Names of forms in sentences, which need more: the rest is asked for.
NAMED = (
    *(
        "fleet policy keygen",
        "fleet policy pack",
        "fleet policy pack DIR",
        "fleet policy sign",
        "fleet policy sign FILE",
        "fleet policy rollback",
    ),
    *("fleet policy switch", "fleet policy switch agents", "bridge install", "init --from"),
)
# By the words that a command begins with: the tests that execute it, because it needs a server, an agent or a terminal.
ELSEWHERE = {
    **dict.fromkeys(("fleet policy publish", "fleet policy pull", "fleet policy status", "fleet policy follow"), FLEET),
    **dict.fromkeys(
        ("fleet policy rollback --to", "fleet policy switch agents off", "fleet policy switch hook no-secrets"), FLEET
    ),
    **dict.fromkeys(("fleet status", "fleet events", "fleet verify", "fleet worker"), FLEET),
    "ui --fleet": FLEET,
    "fleet run": FLEET,
    **dict.fromkeys(("agent --prompt", "agent --model"), LONG),
    "agent --headless": "tests/end_to_end/test_modes.py",
    **dict.fromkeys(("doctor --prove claude", "replay --follow", "test --watch", "test --mutate"), LONG),
    "mcp": "tests/gateway/conftest.py",
    "hook claude": "tests/bridge/test_calls.py",
}
# They go on until they are interrupted: the text that each prints at work.
LASTING = {"log --follow": "guard", "ui --port 8787 --no-open": "127.0.0.1:", "ui --source old.jsonl": "127.0.0.1:"}
# They ask at a terminal, and do with --yes the same without one.
ASKS = ("disable", "enable", "trust --revoke guard", "trust --dialect")


# Where a command is cut, or its value is known only when it is printed.
REAL = {
    "fleet policy keygen FILE": "fleet policy keygen other.key",
    "fleet policy pack guards/ --version 7 --expires 90d --teams payments,web -o policy.json": (
        "fleet policy pack guards/ --version 7 --expires 90d --teams payments,web -o old.json"
    ),
    "fleet policy sign x --key FILE": "fleet policy sign old.json --key policy.key",
    "fleet policy verify policy.json --public-key ed25519": "fleet policy verify policy.json --public-key {key}",
    "fleet policy verify policy.json": "fleet policy verify policy.json --public-key {key}",
    "fleet policy verify FILE": "fleet policy verify old.json --public-key {key}",
}


def words_of(command: str, run_id: str, key: str) -> list[str]:
    """The words of a printed command, with real values in place of those that stand for one."""
    file = {
        "test": "guard.hooks.toml",
        "log": run_id,
        "fire": "@input.json",
        "enable": "guard",
        "fleet": "policy.json",
    }
    real = {"3f9a01c2d4-0": run_id, "/mnt/usb/heads": "heads", "HOOK": "guard", "DIR": "."}
    words = PRINTED[command]
    if command in REAL:
        return REAL[command].format(key=key).split()
    if command == "hook copilot":
        return [*words, "preToolUse"]
    asks = ["--yes"] if command.startswith(ASKS) else []
    return [*(real.get(word, file.get(words[0], ".") if word == "x" else word) for word in words), *asks]


@pytest.fixture
def site(own_home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> str:
    """The project; the id of a run."""
    return make_site(own_home, monkeypatch, capfd, guard="guard")


@pytest.mark.req("CLAIM-007")
@pytest.mark.timeout(180)
def test_a_printed_command_does_what_is_printed(
    site: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One after the other in one project, without a usage error or a traceback."""
    here, failed, key = Path.cwd(), {}, ""
    for number, (command, row) in enumerate(ROWS.items()):
        monkeypatch.chdir(here)
        if (
            command.startswith("init ") and "--from" not in command
        ):  # a project for each of them, because nothing is overwritten
            (here.parent / ".llxprt" / "settings.json").unlink(missing_ok=True)
            new = here.parent / f"new{number}"
            (new / ".git").mkdir(parents=True)
            monkeypatch.chdir(new)
        if command == "hook copilot":  # its first call leaves a server behind, which is a fork
            done = run(words_of(command, site, key), stdin=json.dumps(COPILOT))
            code, shown = done.returncode, done.stdout + done.stderr
        else:
            with patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())):
                try:
                    code = main(words_of(command, site, key))
                except SystemExit as ended:
                    code = int(str(ended.code))
            shown = "".join(capfd.readouterr())
        if command == "fleet policy keygen policy.key":
            key = re.findall(r'ed25519:[^\s"]+', shown)[0]
        is_fault = "this is a bug" in shown or "Traceback" in shown or "usage: " in shown.partition("--help")[0]
        is_help = command.endswith("--help")
        if code != row.code or not re.search(row.shows, shown, re.DOTALL) or (is_fault and not is_help):
            failed[command] = (code, shown[:300], shown[-200:])
    assert failed == {}, failed


@pytest.mark.req("CLAIM-007")
def test_every_printed_command_is_executed() -> None:
    """A new hint needs a row, and a row without a hint is removed; the tests that are named begin commands like it."""
    elsewhere = {
        command for command in PRINTED if command.startswith(tuple(ELSEWHERE)) and command not in {*ROWS, *NAMED}
    }
    assert {*ROWS, *NAMED, *LASTING} | elsewhere == set(PRINTED)
    assert [start for start in ELSEWHERE if not any(one.startswith(start) for one in elsewhere)] == []
    for start, file in ELSEWHERE.items():
        text = (ROOT / file).read_text().replace('", "', " ")
        assert re.search(rf"{start}|{start.partition(' ')[2]}" if start.startswith("agent") else start, text), start


@pytest.mark.parametrize("command", NAMED)
def test_the_name_of_a_form_asks_for_the_rest(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    """With what is missing, and exit code 1."""
    with pytest.raises(SystemExit) as ended:
        main(PRINTED[command])
    assert ended.value.code == 1
    assert re.search("the following arguments are required|expected one argument", capfd.readouterr().err)


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("command", LASTING)
def test_a_command_that_lasts_is_at_work_until_it_is_interrupted(command: str) -> None:
    """At a terminal."""
    person = Person(PRINTED[command], cwd=Path.cwd())
    person.expect(LASTING[command])
    person.type("\x03")
    assert person.leaves_with() in (0, 130), person.shown
