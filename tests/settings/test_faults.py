"""Entries that can't be used as they are written: the messages about them, and which entries block."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hookline import Config, ToolResult, execute_tool_with_hooks
from hookline.protocol.constants import ConfigSource
from hookline.protocol.hook_entry import HookEntry
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer

STRICT = {"onError": "block"}
BLOCKS = "it blocks every tool that its matcher matches until you fix or remove it"
PLACE = "user.json: hooks.BeforeTool[0].hooks[0]"


def read(hook: Any, event: str = "BeforeTool", **group: Any) -> tuple[tuple[HookEntry, ...], list[str]]:
    """The entries and the problems of a file with one hook."""
    values = {"hooks": {event: [{"hooks": [hook], **group}]}}
    decoded = decode_settings([Layer(source=ConfigSource.USER, origin="user.json", values=values)])
    return tuple(decoded.hooks), [str(problem) for problem in decoded.problems]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        pytest.param(
            {"url": "htp://localhost:8080/x"},
            'has the url "htp://localhost:8080/x"; write http:// or https:// in place of htp://',
            id="scheme",
        ),
        pytest.param(
            {"url": "localhost:8080/x"}, 'has the url "localhost:8080/x"; write http:// in front of it', id="no-scheme"
        ),
        pytest.param(
            {"url": "me:secret@localhost/x?token=secret"},
            'has the url "…@localhost/x"; write http:// in front of it',
            id="secrets",
        ),
        pytest.param({"url": " "}, "has an empty url; give one, such as http://127.0.0.1:8080/guard", id="empty"),
        pytest.param({}, "has no url; give one, such as http://127.0.0.1:8080/guard", id="none"),
        pytest.param(
            {"url": 8080}, "has a url that is a number; give one, such as http://127.0.0.1:8080/guard", id="number"
        ),
    ],
)
def test_a_url_that_can_not_be_used_is_shown(given: dict[str, Any], fault: str) -> None:
    """With the hook's name and the remedy, and without what may be a secret."""
    _, problems = read({"type": "http", "name": "guard", **given})
    assert problems == [f'{PLACE} ("guard") {fault}; it does not run']


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"type": "http", "url": "localhost:8080/x"}, id="url"),
        pytest.param({"type": "command"}, id="command"),
        pytest.param({"type": "Command", "command": "true"}, id="type"),
        pytest.param({"type": "remote"}, id="subject"),
    ],
)
@pytest.mark.parametrize(
    "strict",
    [
        pytest.param(STRICT, id="block"),
        pytest.param({"onFailure": "block"}, id="onFailure"),
        pytest.param({"onError": "blok"}, id="typo"),
        pytest.param({"required": True}, id="required"),
    ],
)
def test_a_broken_entry_that_says_block_blocks(tmp_path: Path, broken: dict[str, Any], strict: dict[str, Any]) -> None:
    """A guard that silently does not run would be worse; other tools than those of its matcher still run."""
    hook = {**broken, **strict, "name": "guard"}
    (entry,), problems = read(hook, matcher="write")
    assert (entry.matcher, entry.on_error, entry.command) == ("write", "block", None)
    assert problems[-1].endswith(f"; {BLOCKS}")
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"matcher": "write", "hooks": [hook]}]}}
    assert "guard" in str(run_tool("write_file", settings, tmp_path).llm_content)
    assert run_tool("read_file", settings, tmp_path).llm_content == "done"


def run_tool(name: str, settings: dict[str, Any], folder: Path) -> ToolResult:
    """The result of a tool that does nothing."""

    async def tool(_: dict[str, Any]) -> ToolResult:
        return ToolResult(llm_content="done")

    config = Config(settings=settings, working_dir=str(folder))
    return asyncio.run(execute_tool_with_hooks(config, name, {}, tool))


@pytest.mark.parametrize(
    ("hook", "group"),
    [
        pytest.param({"onError": "allow"}, {}, id="allow"),
        pytest.param({}, {}, id="not-said"),
        pytest.param({**STRICT, "enabled": False}, {}, id="disabled"),
        pytest.param({**STRICT, "mode": "shadow"}, {}, id="shadow"),
        pytest.param({**STRICT, "required": True}, {"mode": "shadow"}, id="group-shadows"),
        pytest.param({**STRICT, "rollout": {"percent": 0}}, {}, id="nowhere"),
    ],
)
def test_a_broken_entry_that_would_block_nothing_is_dropped(hook: dict[str, Any], group: dict[str, Any]) -> None:
    """As long as the entry would block nothing if it were whole and failed."""
    entries, problems = read({"type": "http", "url": "x", **hook}, **group)
    assert entries == ()
    assert problems[-1].endswith("; it does not run")


def test_a_broken_entry_of_another_event_blocks_where_it_can() -> None:
    """Its message does not promise more. It blocks as a valid one would."""
    for event, is_applied in (("AfterTool", True), ("BeforeAgent", False)):
        (entry,), (problem,) = read({"type": "http", "url": "x", **STRICT}, event)
        assert entry.is_applied is is_applied
        assert problem.endswith(
            f"; it fails at every {event} event, and blocks where it can, until you fix or remove it"
        )


def test_a_hook_in_place_of_a_group_blocks_if_it_says_so() -> None:
    """Whether its options stand one level too high does not matter."""
    values = {"hooks": {"BeforeTool": [{"type": "command", "command": "true", "name": "guard", **STRICT}]}}
    decoded = decode_settings([Layer(source=ConfigSource.USER, origin="user.json", values=values)])
    assert [(entry.name, entry.on_error) for entry in decoded.hooks] == [("guard", "block")]


def test_a_broken_entry_of_an_unknown_dialect_blocks_in_our_words() -> None:
    """There is no format for an unknown dialect."""
    (entry,), _ = read({"type": "http", "url": "x", **STRICT}, dialect="klingon")
    assert (entry.dialect, entry.on_error) == ("hookline", "block")
