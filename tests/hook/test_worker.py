"""A script of `hookline.hook` as a worker gives the same answers as one that is started for each event."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import asyncio, os, sys, subprocess, time
from hookline.hook import BeforeTool, Deny, Note, main
seen = 0
async def slow(): return Note("awaited")
def guard(event: BeforeTool):
    global seen
    seen += 1
    print("debugging")
    match event.tool_name:
        case "deny": return Deny("no")
        case "raise": raise ValueError("broken")
        case "cancel": raise asyncio.CancelledError("stopped")
        case "exit": print("because", file=sys.stderr); sys.exit(2)
        case "words": sys.exit("some words")
        case "await": return slow()
        case "child": return Note(subprocess.run(["cat"], stdout=subprocess.PIPE, text=True).stdout or "nothing")
        case "count": return Note(seen)
        case "odd": return {("no", "key"): 1}
        case "gone": os._exit(0)
main(guard)
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("worker") / "guard.py"
    path.write_text(SCRIPT)
    return path


def event(tool: str, **more: Any) -> dict[str, Any]:
    facts = {"session_id": "s", "cwd": "/", "timestamp": "t", "hook_event_name": "BeforeTool", "transcript_path": ""}
    return {**facts, "tool_name": tool, "tool_input": {}, **more}


def work(script: Path, *inputs: object) -> list[dict[str, Any]]:
    """Its lines, in a run with all of these events."""
    lines = [json.dumps({"id": f"i{index}", "event": "e", "input": given}) for index, given in enumerate(inputs)]
    done = subprocess.run(
        [sys.executable, script],
        input="\n".join([*lines, ""]),
        env={**os.environ, "HOOKLINE_WORKER": "1", "PYTHONUNBUFFERED": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "debugging" in done.stderr or not inputs
    return [json.loads(line) for line in done.stdout.splitlines()]


def cold(script: Path, given: object) -> tuple[int, Any, str]:
    done = subprocess.run(
        [sys.executable, script], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def test_the_same_answers_as_a_process_for_each_event(script: Path) -> None:
    """Answers, refusals, exceptions, exit codes, and what is on stderr (but for what the interpreter itself is in)."""
    inputs = [
        event("deny"),
        event("raise"),
        event("cancel"),
        event("exit"),
        event("words"),
        event("none"),
        {},
        5,
        event("await"),
        event("odd"),
    ]
    ready, *answers = work(script, *inputs)
    assert ready == {"ready": True}
    assert [answer["id"] for answer in answers] == [f"i{index}" for index in range(len(inputs))]
    for given, answer in zip(inputs, answers, strict=True):
        code, output, stderr = cold(script, given)
        assert (answer["exit"], answer["output"]) == (code, output)
        assert answer["stderr"].splitlines()[-1:] == stderr.removeprefix("debugging\n").splitlines()[-1:]


def test_it_keeps_what_it_has_loaded_and_its_own_descriptors(script: Path) -> None:
    """Neither a child nor the handler can take the next event, which is why it sees an empty stdin."""
    _, *answers = work(script, event("child"), event("count"))
    assert [answer["output"]["systemMessage"] for answer in answers] == ["nothing", "2"]


def test_what_is_printed_is_not_kept_back(script: Path) -> None:
    """It is on stderr before the answer, however the process ends later."""
    work(script, event("deny"), event("gone"))
