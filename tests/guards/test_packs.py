"""Packs as hooks of a project: configured with `use`, planned, run, logged and switched like any other."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks, LLMRequest, LLMResponse, ToolResult
from hookline.apps.cli.main import main
from hookline.client.results import ToolCall
from hookline.guards.catalog import PACKS
from hookline.guards.secrets import REPLACED, is_key
from hookline.protocol.constants import ConfigSource
from hookline.settings.decode.settings import Settings, decode_settings
from hookline.settings.read.files import Layer

TOKEN = "ghp_" + "a1B2" * 7 + "c3" + "4JmKnZ"
AWS = "AKIA" + "QWERTYUIOPASDFGH"


def settings(use: Any, *, is_guest: bool = False) -> Settings:
    layer = Layer(
        source=ConfigSource.USER, origin="user.json", values={"enableHooks": True, "use": use}, is_guest=is_guest
    )
    return decode_settings([layer])


def asked(tmp_path: Path, use: Sequence[Any], tool: str, arguments: dict[str, Any]) -> ToolCall:
    return asyncio.run(_asked(tmp_path, use, tool, arguments))


async def _asked(tmp_path: Path, use: Sequence[Any], tool: str, arguments: dict[str, Any]) -> ToolCall:
    async with Hooks(tmp_path, settings={"enableHooks": True, "use": use}) as hooks, hooks.session("s") as session:
        return await session.before_tool(tool, arguments)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("hookline:shell", 'use is a string, expected an array of packs, such as ["hookline:shell"]'),
        (["hookline:shel"], "did you mean hookline:shell?"),
        ([7], "use[0] is a number"),
        ([{"allow": []}], "an object with pack"),
        ([{"pack": "hookline:shell", "allow": "x"}], "use[0].allow is ignored (expected an array of strings)"),
        ([{"pack": "hookline:shell", "alow": []}], "use[0].alow is not an option"),
        (["hookline:shell", "hookline:shell"], "a second time"),
    ],
)
def test_what_cannot_be_used_is_said(use: Any, said: str) -> None:
    assert any(said in str(problem) for problem in settings(use).problems)


def test_a_pack_is_a_hook_of_each_of_its_events() -> None:
    hooks = settings([*PACKS]).hooks
    assert {(hook.name, hook.event) for hook in hooks} == {
        (pack.use, event) for pack in PACKS.values() for event in pack.events
    }


def test_a_project_needs_trust_for_its_packs() -> None:
    assert all(hook.needs_trust for hook in settings(["hookline:shell"], is_guest=True).hooks)


def test_a_command_is_blocked_with_the_rule_and_what_to_do(tmp_path: Path) -> None:
    call = asked(tmp_path, ["hookline:shell"], "run_shell_command", {"command": "sudo git push -f"})
    assert call.blocked
    assert "rule git-rewrite of hookline:shell" in (call.reason or "")
    assert "Push to a new branch" in (call.reason or "")


def test_what_cannot_be_known_is_asked(tmp_path: Path) -> None:
    call = asked(tmp_path, ["hookline:shell"], "Bash", {"command": "rm -rf $DIR"})
    assert call.ask


@pytest.mark.parametrize(
    ("use", "tool", "arguments", "blocked"),
    [
        pytest.param("shell", "shell", {"command": ["bash", "-lc", "git reset --hard"]}, True, id="list-of-words"),
        pytest.param("shell", "Bash", {"command": "ls"}, False, id="harmless"),
        pytest.param("shell", "write_file", {"content": "rm -rf /"}, False, id="no-command"),
        pytest.param("secrets", "read_file", {"absolute_path": ".env"}, True, id="secret"),
        pytest.param("secrets", "read_file", {"absolute_path": ".ENV"}, True, id="secret-case"),
        pytest.param("secrets", "read_file", {"path": "link"}, True, id="secret-link"),
        pytest.param("secrets", "glob", {"pattern": ".en*"}, True, id="secret-glob"),
        pytest.param(
            "secrets", "search_file_content", {"pattern": "KEY", "include": ".env*"}, True, id="secret-search"
        ),
        pytest.param("secrets", "Bash", {"command": "cat .env"}, True, id="secret-shell"),
        pytest.param("secrets", "read_file", {"path": ".env.example"}, False, id="example"),
        pytest.param("secrets", "write_file", {"file_path": "notes.md", "content": "see .env"}, False, id="mention"),
        pytest.param("secrets", "write_file", {"file_path": "a.py", "content": f"K = '{AWS}'"}, True, id="key"),
        pytest.param("paths", "write_file", {"file_path": "/etc/x", "content": ""}, True, id="outside"),
        pytest.param("paths", "write_file", {"file_path": "../" * 20 + "srv/x", "content": ""}, True, id="above"),
        pytest.param("paths", "write_file", {"file_path": ".git/hooks/x", "content": ""}, True, id="protected"),
        pytest.param("paths", "write_file", {"file_path": "src/x", "content": ""}, False, id="inside"),
        pytest.param("git", "Bash", {"command": "git push origin main"}, True, id="branch"),
        pytest.param("git", "Bash", {"command": "git push origin topic"}, False, id="topic"),
        pytest.param("network", "web_fetch", {"url": "http://169.254.169.254/x"}, True, id="metadata"),
        pytest.param("network", "web_fetch", {"url": "https://example.com"}, False, id="host"),
    ],
)
def test_packs_judge_tool_calls(use: str, tool: str, arguments: dict[str, Any], blocked: bool, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / ".env")
    (tmp_path / ".env").touch()
    call = asked(tmp_path, [f"hookline:{use}"], tool, arguments)
    assert (call.blocked or bool(call.ask)) is blocked


@pytest.mark.parametrize(
    ("options", "command", "blocked"),
    [
        ({"allow": ["git-discard"]}, "git reset --hard", False),
        ({"allow": ["git reset --hard*"]}, "git reset --hard", False),
        ({"allow": ["git reset *"]}, "git reset --hard && rm -rf /", True),
        ({"allow": ["git reset *"]}, "sudo git reset --hard", False),
        ({"deny": ["terraform apply*"]}, "cd infra && sudo terraform apply", True),
        ({"deny": ["npm publish*"]}, "npm publish", True),
        ({"deny": ["delete-unknown"]}, "rm -rf $X", True),
        ({"deny": ["ls *"], "allow": ["ls *"]}, "ls -la", True),
    ],
)
def test_options_change_what_counts(options: dict[str, Any], command: str, blocked: bool, tmp_path: Path) -> None:
    call = asked(tmp_path, [{"pack": "hookline:shell", **options}], "Bash", {"command": command})
    assert call.blocked is blocked


def test_allowed_hosts_are_the_only_ones(tmp_path: Path) -> None:
    use = [{"pack": "hookline:network", "allow": ["*.example.com"]}]
    for command, blocked in (
        ("curl https://a.example.com", False),
        ("curl https://b.org", True),
        ("ssh me@c.org", True),
    ):
        assert asked(tmp_path, use, "Bash", {"command": command}).blocked is blocked


def test_keys_are_redacted_in_results_and_answers(tmp_path: Path) -> None:
    content, text = asyncio.run(_redacted(tmp_path))
    assert content == f"key: {REPLACED}"
    assert text == f"it is {REPLACED}"


async def _redacted(tmp_path: Path) -> tuple[str, str | None]:
    given = {"enableHooks": True, "use": ["hookline:secrets"]}
    async with Hooks(tmp_path, settings=given) as hooks, hooks.session("s") as session:
        call = await session.before_tool("Bash", {"command": "printenv HOME"})
        result = await session.after_tool(call, ToolResult(llm_content=f"key: {AWS}"))
        request = LLMRequest(model="m", messages=[])
        answer = await session.after_model(request, LLMResponse(text=f"it is {AWS}"))
    return str(result.llm_content), answer.text


@pytest.mark.parametrize(("text", "expected"), [(TOKEN, False), ("AKIAIOSFODNN7EXAMPLE", False), (AWS, True)])
def test_examples_and_wrong_checksums_are_no_keys(text: str, expected: bool) -> None:
    assert is_key(text) is expected


def test_the_command_lists_packs_and_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--packs"]) == 0
    shown = capsys.readouterr().out
    assert all(use in shown for use in PACKS)
    assert main(["list", "--packs", "shell", "--json"]) == 0
    rules = json.loads(capsys.readouterr().out)["rules"]
    assert all(rule["stopped"] and rule["passed"] and rule["why"] for rule in rules)
    assert main(["list", "--packs", "shel"]) == 1
    assert "did you mean shell?" in capsys.readouterr().err
