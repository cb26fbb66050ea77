"""Answers that mean no in an unusual form: a strict hook denies, and for another one the user gets a message."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hookline.client.config import Config
from hookline.client.triggers.tools import ToolResult, execute_tool_with_hooks
from hookline.protocol.constants import OWN_DIALECT

FORMS = {
    "unescaped-quote": '{"decision":"deny","reason":"say "no" now"}',
    "newline": '{"decision":"deny","reason":"a\nb"}',
    "trailing-comma": '{"decision":"deny","reason":"a",}',
    "single-quotes": "{'decision': 'deny'}",
    "a-line-before": 'checking...\n{"decision":"deny","reason":"r"}',
    "two-objects": '{"decision":"allow"}\n{"decision":"deny"}',
    "a-space": '{"decision":"Deny "}',
    "capitals": '{"decision":"BLOCK"}',
    "an-array": '{"decision":["deny"]}',
    "permission-too-high": '{"permissionDecision":"deny"}',
    "decision-too-low": '{"hookSpecificOutput":{"decision":"deny"}}',
    "a-capital-key": '{"Decision":"deny"}',
    "a-misspelt-key": '{"decison":"deny"}',
    "a-string": '{"hookSpecificOutput":"{\\"permissionDecision\\":\\"deny\\"}"}',
    "snake-case": '{"hook_specific_output":{"permissionDecision":"deny"}}',
    "twice": '{"decision":"deny","decision":"allow"}',
    "text": "deny",
    "text-with-a-reason": "DENY: not allowed",
    "text-like-yaml": "decision: deny",
    "nested": '{"output":{"decision":"deny"}}',
    "fenced": '```json\n{"decision":"deny"}\n```',
    "twice-escaped": r'{"d\u0065cision":"deny","decision":"allow"}',
    "unread-word": '{"systemMessage":"x","result":"deny"}',
}


def _config(directory: Path, printed: str, **hook: Any) -> Config:
    (directory / "answer").write_text(printed)
    entry = {"type": "command", "command": "cat >/dev/null; cat answer", "name": "g", **hook}
    settings = {
        "enableHooks": True,
        "hooksConfig": {"log": {"enabled": False}},
        "hooks": {"BeforeTool": [{"hooks": [entry]}]},
    }
    return Config(directory, settings=settings)


async def _run(_: dict[str, Any]) -> ToolResult:
    return ToolResult(llm_content="ran")


def _execute(config: Config) -> str:
    return str(asyncio.run(execute_tool_with_hooks(config, "x", {}, _run)).llm_content)


@pytest.mark.parametrize("form", FORMS)
def test_a_strict_hook_denies_and_quotes_what_could_not_be_read(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With onError block, unless the hook clearly says yes, no; the user sees once that the hook is broken."""
    config = _config(tmp_path, FORMS[form], onError="block")
    reason = _execute(config)
    assert "its onError is block" in reason
    assert "deny" in reason.lower() or "block" in reason.split(", and its onError")[0].lower()
    assert _execute(config) == reason
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hookline: The BeforeTool hook g gave an answer that can't be understood: ")


OTHER_WORDS = (
    '{"allow": false}',
    '{"ok": false}',
    '{"approved": "no"}',
    '{"permitted": 0}',
    '{"success": false, "systemMessage": "checked"}',
    '{"decision": "allow", "safe": false}',
    '{"systemMessage": "checked", "checks": [{"pass": false}]}',
    '{"message": "Unauthorized"}',
    'checked 3 rules\n{"allow": false}',
    "no",
)


@pytest.mark.attack("30.F11", "a no in words that are not read, from a guard with onError block")
@pytest.mark.req("DELTA-ANSW-001")
@pytest.mark.parametrize("printed", OTHER_WORDS)
def test_a_no_in_other_words_is_no_yes(tmp_path: Path, printed: str) -> None:
    """With onError block only a clear yes lets the tool run."""
    assert "can't be understood" in _execute(_config(tmp_path, printed, onError="block"))


@pytest.mark.attack("30.F12", "a deny in UTF-16, UTF-32 or EBCDIC, from a guard with onError block")
@pytest.mark.req("DELTA-ANSW-001")
@pytest.mark.parametrize("dialect", [OWN_DIALECT, "claude"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp037"])
def test_an_answer_in_another_encoding_is_no_yes(tmp_path: Path, encoding: str, dialect: str) -> None:
    """Bytes that can't be decoded may have been a deny."""
    config = _config(tmp_path, "", onError="block", dialect=dialect)
    (tmp_path / "answer").write_bytes('{"decision":"deny"}'.encode(encoding))
    assert "its onError is block" in _execute(config)


@pytest.mark.attack("30.F11", "the same from a guard that was written for Claude Code")
@pytest.mark.parametrize("printed", ['{"allow": false}', '{"decision":"block","decision":"approve"}'])
def test_a_guard_of_another_agent_is_judged_alike(tmp_path: Path, printed: str) -> None:
    """Its own agent would read a yes or nothing; onError block asks for more."""
    assert "its onError is block" in _execute(_config(tmp_path, printed, onError="block", dialect="claude"))


@pytest.mark.req("DELTA-ANSW-001")
@pytest.mark.parametrize(
    "printed",
    [
        "",
        "{}",
        "looks fine",
        "No problems found",
        '{"decision":"allow","confidence":0.5,"blocked":false,"errors":[]}',
        '{"systemMessage":"no findings"}',
        '{"suppressOutput":true}',
        '{"hookSpecificOutput":{"hookEventName":"BeforeTool","additionalContext":"no"}}',
    ],
)
def test_a_clear_yes_lets_the_tool_run(tmp_path: Path, printed: str) -> None:
    """Documented answers are still answers."""
    assert _execute(_config(tmp_path, printed, onError="block")).startswith("ran")


@pytest.mark.parametrize("form", FORMS)
def test_for_another_hook_the_person_is_told_once(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The call proceeds, as the specification has it, and stderr has one line about it, however often it happens."""
    config = _config(tmp_path, FORMS[form])
    assert [_execute(config).startswith("ran") for _ in range(3)] == [True] * 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hookline: BeforeTool hook g seems to deny, but that was not understood: ")


@pytest.mark.parametrize("printed", ["looks fine", '{"decision":"allow"}', "{}", "", '{"decision":"maybe"}', "[1]"])
def test_nobody_is_told_of_other_answers(tmp_path: Path, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer that does not seem to deny is only logged."""
    assert _execute(_config(tmp_path, printed)).startswith("ran")
    assert capsys.readouterr().err == ""


def test_the_line_is_short_and_has_no_control_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hook's name and answer can't write to the terminal, or fill it."""
    answer = json.dumps({"decision": "deny\x1b[2J\u202e" + "x" * 5000}, ensure_ascii=False)
    _execute(_config(tmp_path, answer, name="g\r\x1b[2K" + "y" * 5000))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert len(line) < 1000
