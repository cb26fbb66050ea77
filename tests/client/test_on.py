"""`Hooks.on`: functions of a program as hooks, with the neutral API."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.answers import says
from tests.client.conftest import MakeHooks, hook

import hookline
from hookline import Hooks, ToolResult
from hookline.errors import HooklineError
from hookline.hook import AfterModel, AfterTool, BeforeTool, Context, Deny, Redact, Rewrite


def test_a_decorated_function_guards(make_hooks: MakeHooks) -> None:
    """The function stays what it was, and decides about tool calls."""
    hooks = make_hooks({})

    @hooks.on("BeforeTool", matcher="write_.*", name="no-secrets", timeout=2.0)
    async def no_secrets(event: BeforeTool) -> Deny | None:
        return Deny("Not this file.") if event.tool_input["file_path"] == ".env" else None

    async def main() -> list[tuple[bool, str | None]]:
        async with hooks.session("s-1") as session:
            calls = [
                await session.before_tool(name, {"file_path": path})
                for name, path in (("write_file", ".env"), ("write_file", "a"), ("read_file", ".env"))
            ]
        return [(call.blocked, call.reason) for call in calls]

    assert asyncio.run(main()) == [(True, "Not this file."), (False, None), (False, None)]
    event = BeforeTool({"tool_name": "write_file", "tool_input": {"file_path": ".env"}})
    assert asyncio.run(no_secrets(event)) == Deny("Not this file.")


def test_every_part_of_a_tool_call(make_hooks: MakeHooks) -> None:
    """Functions and scripts work on the same call."""
    hooks = make_hooks({"AfterTool": [hook(says({"systemMessage": "from a script"}))]})

    @hooks.on(BeforeTool)
    def tidy(event: BeforeTool) -> Rewrite:
        return Rewrite(tool_input={"content": event.tool_input["content"].strip()})

    @hooks.on(AfterTool)
    def told(event: AfterTool) -> Context:
        return Context(f"after {event.tool_response['llmContent']}")

    async def main() -> ToolResult:
        async with hooks.session() as session:
            return await session.run_tool("write_file", {"content": " x "}, lambda arguments: arguments["content"])

    assert asyncio.run(main()).llm_content == "x\n\nafter x\n\n[System] from a script"


def test_in_synchronous_code(make_hooks: MakeHooks) -> None:
    """`session.sync` calls functions too, from outside and from inside a running loop."""
    hooks = make_hooks({})

    @hooks.on("BeforeTool")
    async def waits(event: BeforeTool) -> Deny:
        await asyncio.sleep(0.001)
        return Deny(event.session_id)

    @hooks.on("AfterModel")
    def redacts(event: AfterModel) -> Redact:
        return Redact(event.text.replace("secret", "…"))

    session = hooks.session("s-2")
    assert session.sync.before_tool("t", {}).reason == "s-2"

    async def inside() -> str | None:
        return session.sync.after_model({"model": "m", "messages": []}, {"text": "a secret"}).text

    assert asyncio.run(inside()) == "a …"
    assert hooks.has_hooks("AfterModel")
    assert hooks.must_hold_stream


def test_after_the_end_nothing_can_be_registered(make_hooks: MakeHooks) -> None:
    """A guard that would never run is refused."""
    hooks = make_hooks({})
    hooks.close()
    with pytest.raises(HooklineError, match="these hooks are closed"):
        hooks.on("BeforeTool")


def test_no_settings_are_needed(tmp_path: Path) -> None:
    """A program without any settings file has the hooks that it registers."""
    hooks = Hooks(tmp_path)
    hooks.on("BeforeTool")(lambda _event: Deny("no"))
    assert hooks.session().sync.before_tool("t", {}).blocked
    hooks.close()


SAMPLE = """
from typing import Any

from hookline import Hooks
from hookline.hook import AfterTool, Allow, Answer, BeforeTool, Context, Deny, Event, Note, Rewrite, deny, main

hooks = Hooks(".")


@hooks.on("BeforeTool", matcher="write_.*", name="no-secrets", timeout=2.0, on_error="block", final=True)
async def no_secrets(event: BeforeTool) -> Deny | None:
    path: str = event.tool_input.get("file_path", "")
    return Deny("no") if path.endswith(".env") else None


@hooks.on(AfterTool, thread=False)
def context(event: AfterTool) -> Answer:
    return Context(event.tool_name) & Note("n")


@hooks.on("BeforeTool")
def as_a_dict(event: BeforeTool) -> dict[str, Any] | None:
    return {"decision": "deny"} if event.session_id else None


@hooks.on("BeforeTool")
def raises(event: Event) -> None:
    deny("no")


@hooks.on(BeforeTool)
async def several(event: BeforeTool) -> Rewrite | type[Allow] | None:
    return Rewrite(tool_input={"a": 1}) if event.tool_name else Allow


if __name__ == "__main__":
    main(no_secrets)
"""
WRONG = """
from hookline import Hooks
from hookline.hook import AfterTool, BeforeTool, Deny

hooks = Hooks(".")


@hooks.on(BeforeTool)
async def for_another_event(event: AfterTool) -> Deny | None:
    return None


@hooks.on("BeforeTool")
def no_answer(event: BeforeTool) -> str:
    return "deny"


@hooks.on("BeforeTool", timout=2.0)
def misspelt(event: BeforeTool) -> None:
    return None
"""


def test_a_decorator_without_its_event_is_an_error(make_hooks: MakeHooks) -> None:
    """`@hooks.on` alone would register nothing, without any sign."""
    hooks = make_hooks({})

    async def guard(_event: BeforeTool) -> Deny:
        return Deny("no")

    wrong: tuple[Any, ...] = (guard, None, int)
    for event in wrong:
        with pytest.raises(HooklineError, match=r"hooks.on needs an event, such as @hooks.on\(\"BeforeTool\"\)"):
            hooks.on(event)
    with pytest.raises(HooklineError, match="did you mean BeforeTool"):
        hooks.on("BeforeTol")


@pytest.mark.timeout(120)
def test_a_users_file_is_well_typed(tmp_path: Path) -> None:
    """`mypy --strict` accepts what is documented, and finds what is wrong."""
    (tmp_path / "sample.py").write_text(SAMPLE)
    (tmp_path / "wrong.py").write_text(WRONG)
    # Only hookline's source: what other packages are installed takes mypy ten seconds to read.
    options = ["--strict", "--no-site-packages", "--follow-imports=silent", "--ignore-missing-imports"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--config-file=", "--no-error-summary", "sample.py", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MYPYPATH": str(Path(hookline.__file__).parents[1])},
    )
    lines = dict.fromkeys(line.split(": ", 2)[0] for line in done.stdout.splitlines() if ": error: " in line)
    assert list(lines) == ["wrong.py:8", "wrong.py:13", "wrong.py:18"], done.stdout
