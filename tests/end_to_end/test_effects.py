"""Effects of each answer of a hook on a real run of `hookline agent`: every effect, and all that each event can do.

The model is a replay file: it writes a file and then says that it is done. A run without effects is the baseline, and
each case says what differs from it.
"""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from hookline.testing import says

HookScript = Callable[..., Path]

EVENTS = ("BeforeTool", "AfterTool", "BeforeModel", "AfterModel", "BeforeToolSelection")
WRITTEN = "Created a.txt with 1 line."
USER, WRITING = {"role": "user", "content": "go"}, {"role": "model", "content": "Writing."}
CALL = {"functionCall": {"name": "write_file", "args": {"file_path": "a.txt", "content": "hi\n"}}}
OTHER_TEXT = {"candidates": [{"content": {"role": "model", "parts": ["Something else."]}, "finishReason": "STOP"}]}
MORE = [USER, {"role": "user", "content": "briefly"}]
NOTE = "[System] Mind the gap."

BASELINE: dict[str, Any] = {
    "exit": 0,
    "file": "hi\n",
    "input": {"file_path": "a.txt", "content": "hi\n"},
    "status": "success",
    "llmContent": WRITTEN,
    "display": WRITTEN,
    "response": "Done.",
    "blocked": False,
    "reason": None,
    "stopped": False,
    "stopReason": None,
    "messages": [[USER], [USER, WRITING]],
    "history": ["go", "Writing.", "Done."],
}
NOT_RUN: dict[str, Any] = {"file": None, "input": None, "status": None, "llmContent": None, "display": None}
"""The differences where the model made no call."""


class Scene:
    """A project with hooks, run with the installed command."""

    def __init__(self, folder: Path, write: HookScript) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        self._write = write
        self._folder = folder
        self._hooks: dict[str, list[dict[str, Any]]] = {}
        # Asked last and answering nothing: it only writes down which requests were really sent.
        self._spy = folder / "sent.jsonl"
        self.add_script("AfterModel", f"cat >> '{self._spy}'; echo >> '{self._spy}'", "spy")
        self._replay(
            [
                {
                    "candidates": [
                        {"content": {"role": "model", "parts": [{"text": "Writing."}, CALL]}, "finishReason": "STOP"}
                    ]
                }
            ],
            [says("Done.")],
        )

    def add_script(self, event: str, body: str, name: str = "tested") -> None:
        """Adds a hook with a separate script."""
        script = self._write(body, f"{event}-{name}.sh")
        hook = {"type": "command", "command": str(script), "name": name}
        self._hooks.setdefault(event, []).append({"hooks": [hook]})

    def add(self, event: str, answer: Mapping[str, Any]) -> None:
        """Adds a hook that always gives this answer."""
        self.add_script(event, f"cat > /dev/null\ncat <<'END'\n{json.dumps(answer)}\nEND")

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        """One prompt, answered by the installed command."""
        settings = self._folder / "settings.json"
        settings.write_text(json.dumps({"enableHooks": True, "hooks": self._hooks}))
        replay = f"replay:{self._folder / 'replay.jsonl'}"
        given = ["--project", str(self.project), "--settings", str(settings), "--model", replay]
        return warm.run(["agent", *given, "--yes", "--prompt", "go", *options])

    def outcome(self) -> dict[str, Any]:
        """Everything that a run can show, in the form of the baseline."""
        done = self.run("--json")
        result = json.loads(done.stdout)
        call = result["toolCalls"][0] if result["toolCalls"] else {}
        file = self.project / "a.txt"
        return {
            "exit": done.returncode,
            "file": file.read_text() if file.exists() else None,
            **{key: call.get(key) for key in ("input", "status", "llmContent", "display")},
            **{key: result[key] for key in ("response", "blocked", "reason", "stopped", "stopReason")},
            "messages": [told["llm_request"]["messages"] for told in _lines(self._spy)],
            "history": _texts(Path(result["transcriptPath"])),
        }

    def log(self) -> str:
        """The log of the hooks."""
        return (self._folder / "state" / "hooks.jsonl").read_text()

    def _replay(self, *answers: list[dict[str, Any]]) -> None:
        lines = [json.dumps({"method": "generateContentStream", "response": answer}) for answer in answers]
        (self._folder / "replay.jsonl").write_text("\n".join(lines))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _texts(transcript: Path) -> list[str]:
    """The texts of the conversation as it was kept, without what tools gave."""
    contents = [record["content"] for record in _lines(transcript) if "content" in record]
    return [part["text"] for content in contents for part in content.get("parts", ()) if "text" in part]


@pytest.fixture
def scene(tmp_path: Path, hook_script: HookScript) -> Scene:
    """A project without any effect yet."""
    return Scene(tmp_path, hook_script)


def specific(**fields: Any) -> dict[str, Any]:
    """An answer that is all about its own event."""
    return {"hookSpecificOutput": fields}


def case(event: str, answer: Mapping[str, Any], name: str, *requirements: str, **changes: Any) -> Any:
    """A row: a hook's answer, and what differs from the baseline because of it."""
    return pytest.param(event, answer, changes, id=f"{event}-{name}", marks=pytest.mark.req(*requirements))


def test_without_effects_the_baseline_holds(scene: Scene) -> None:
    """With a hook that answers nothing, the file is written and the answer shown."""
    assert scene.outcome() == BASELINE


RESTRICTED = "write_file was not run: it may not be called now, because tested restricted the tools. Allowed tools: {}."

BLOCK = {"decision": "block", "reason": "Not here."}
STOP = {"continue": False, "stopReason": "Enough."}
STOPPED: dict[str, Any] = {"stopped": True, "stopReason": "Enough."}
NOT_CALLED: dict[str, Any] = {**STOPPED, "blocked": True, "reason": "Enough."}
SILENT = {"response": "", "messages": [], "history": ["go"]}
REWRITE = specific(tool_input={"content": "ho\n"})
ONLY_FIRST = {"messages": [[USER]], "history": ["go", "Writing."]}

EFFECTS = [
    case(
        "BeforeTool",
        BLOCK,
        "block",
        "HOOK-134",
        **{**NOT_RUN, "input": BASELINE["input"], "status": "idle", "llmContent": "Not here.", "display": "Not here."},
    ),
    case(
        "BeforeTool",
        REWRITE,
        "tool-input-is-laid-over-the-arguments",
        "HOOK-134",
        file="ho\n",
        input={"file_path": "a.txt", "content": "ho\n"},
    ),
    case(
        "BeforeTool",
        {"systemMessage": "Mind the gap."},
        "system-message",
        "HOOK-159",
        llmContent=f"{WRITTEN}\n\n{NOTE}",
    ),
    case(
        "AfterTool", {"systemMessage": "Mind the gap."}, "system-message", "HOOK-159", llmContent=f"{WRITTEN}\n\n{NOTE}"
    ),
    case(
        "BeforeToolSelection",
        {"systemMessage": "Mind the gap."},
        "system-message-with-each-request-and-never-kept",
        "HOOK-159",
        messages=[[{"role": "user", "content": f"go{NOTE}"}], [USER, WRITING, {"role": "user", "content": NOTE}]],
    ),
    case(
        "BeforeModel",
        {"systemMessage": "Mind the gap."},
        "system-message-with-each-request-and-never-kept",
        "HOOK-159",
        messages=[[{"role": "user", "content": f"go{NOTE}"}], [USER, WRITING, {"role": "user", "content": NOTE}]],
    ),
    case(
        "AfterModel",
        {"systemMessage": "Mind the gap."},
        "system-message-with-the-next-message",
        "HOOK-159",
        messages=[[USER], [USER, WRITING, {"role": "user", "content": NOTE}]],
        history=["go", "Writing.", NOTE, "Done."],
    ),
    case(
        "BeforeTool",
        specific(additionalContext="More."),
        "additional-context",
        "HOOK-134",
        llmContent=f"{WRITTEN}\n\nMore.",
    ),
    case(
        "AfterTool",
        specific(additionalContext="More."),
        "additional-context",
        "HOOK-134",
        llmContent=f"{WRITTEN}\n\nMore.",
    ),
    case("AfterTool", {"suppressOutput": True}, "suppressed-display", "HOOK-134", display="", llmContent=None),
    case(
        "BeforeModel",
        {**BLOCK, **specific(llm_response=OTHER_TEXT)},
        "block-with-a-response",
        "HOOK-036",
        "HOOK-138",
        "HOOK-174",
        blocked=True,
        reason="Not here.",
        **{**NOT_RUN, "response": "Something else.", "messages": [], "history": ["go", "Something else."]},
    ),
    case(
        "BeforeModel",
        BLOCK,
        "block-without-a-response",
        "HOOK-037",
        "HOOK-174",
        "HOOK-202",
        **NOT_RUN,
        **SILENT,
        blocked=True,
        reason="Not here.",
    ),
    case(
        "AfterModel",
        specific(llm_response=OTHER_TEXT),
        "response-replaced-and-calls-kept",
        "HOOK-046",
        "HOOK-047",
        response="Something else.",
        messages=[[USER], [USER, {"role": "model", "content": "Something else."}]],
        history=["go", "Something else.", "Something else."],
    ),
    case("AfterModel", {"suppressOutput": True}, "suppressed-display", "HOOK-049", response=""),
    case(
        "BeforeToolSelection",
        specific(toolConfig={"mode": "NONE"}),
        "no-tool-allowed",
        "HOOK-057",
        "HOOK-140",
        **{
            **NOT_RUN,
            "input": BASELINE["input"],
            "status": "error",
            "llmContent": RESTRICTED.format("none"),
            "display": RESTRICTED.format("none"),
        },
    ),
    case(
        "BeforeToolSelection",
        specific(toolConfig={"mode": "AUTO", "allowedFunctionNames": ["read_file"]}),
        "allow-list",
        "HOOK-055",
        "HOOK-056",
        "HOOK-140",
        **{
            **NOT_RUN,
            "input": BASELINE["input"],
            "status": "error",
            "llmContent": RESTRICTED.format("read_file"),
            "display": RESTRICTED.format("read_file"),
        },
    ),
]

STOPS = [
    case(
        "BeforeTool",
        STOP,
        "stop",
        "HOOK-134",
        **STOPPED,
        response="Writing.",
        **{
            **ONLY_FIRST,
            **NOT_RUN,
            "input": BASELINE["input"],
            "status": "idle",
            "llmContent": "Enough.",
            "display": "Enough.",
        },
    ),
    case("AfterTool", STOP, "stop", "HOOK-134", **STOPPED, response="Writing.", **ONLY_FIRST),
    case("BeforeModel", STOP, "stop", "HOOK-040", **NOT_CALLED, **NOT_RUN, **SILENT),
    case(
        "AfterModel",
        STOP,
        "stop",
        "HOOK-048",
        **STOPPED,
        **{**NOT_RUN, "response": "Enough.", "messages": [[USER]], "history": ["go", "Enough."]},
    ),
    case("BeforeToolSelection", STOP, "stop", "HOOK-058", **NOT_CALLED, **NOT_RUN, **SILENT),
]

# The other cells of the table: these answers change nothing where their event does not support them.
CELLS = [
    case("AfterTool", BLOCK, "cannot-block", "HOOK-178", llmContent=f"{WRITTEN}\n\n[System] Not here."),
    case("AfterModel", BLOCK, "cannot-block", "HOOK-180"),
    case("BeforeToolSelection", BLOCK, "cannot-block", "HOOK-181"),
    case("AfterTool", REWRITE, "cannot-change-input", "HOOK-178"),
    case(
        "BeforeModel",
        specific(llm_request={"messages": MORE}),
        "changes-input-and-adds-messages",
        "HOOK-038",
        "HOOK-039",
        "HOOK-139",
        messages=[MORE, MORE],
    ),
    case("AfterModel", specific(llm_request={"messages": MORE}), "cannot-change-input", "HOOK-180"),
    case("BeforeToolSelection", specific(llm_request={"messages": MORE}), "cannot-change-input", "HOOK-181"),
    case("BeforeTool", specific(tool_response={"llmContent": "Lies."}), "cannot-change-output", "HOOK-177"),
    case("AfterTool", specific(tool_response={"llmContent": "Lies."}), "cannot-change-output", "HOOK-178"),
    case("BeforeModel", specific(llm_response=OTHER_TEXT), "cannot-change-output-without-a-block", "HOOK-179"),
    case("BeforeToolSelection", specific(llm_response=OTHER_TEXT), "cannot-change-output", "HOOK-181"),
    case("AfterModel", specific(additionalContext="More."), "cannot-add-context", "HOOK-180"),
    case("BeforeToolSelection", specific(additionalContext="More."), "cannot-add-context", "HOOK-181"),
]


@pytest.mark.parametrize(("event", "answer", "changes"), [*EFFECTS, *STOPS, *CELLS])
def test_an_answer_has_its_effect_and_no_other(
    event: str, answer: Mapping[str, Any], changes: Mapping[str, Any], scene: Scene
) -> None:
    """A hook's answer changes exactly what its event can change; a stop or a block is not a failure of the command."""
    scene.add(event, answer)
    assert scene.outcome() == {**BASELINE, **changes}


@pytest.mark.req("HOOK-129", "HOOK-204")
def test_a_blocked_call_goes_from_executing_to_idle(scene: Scene) -> None:
    """A program that reads the stream sees the call come to rest, once, and the hook that did it."""
    scene.add("BeforeTool", BLOCK)
    events = [json.loads(line) for line in scene.run("--stream-json").stdout.splitlines()]
    statuses = [event["status"] for event in events if event["type"] == "tool_call"]
    assert statuses == ["validating", "scheduled", "executing", "idle"]
    (decision,) = [event for event in events if event["type"] == "hook_decision" and event["blocked"]]
    assert (decision["event"], decision["subject"], decision["reason"], decision["decidedBy"]) == (
        "BeforeTool",
        "write_file",
        "Not here.",
        ["tested"],
    )
    assert events[-1]["type"] == "result"


def test_a_rewrite_that_is_not_valid_fails_the_call(scene: Scene) -> None:
    """Arguments that a hook broke are not run, the model reads that, and the log names the hook."""
    scene.add("BeforeTool", specific(tool_input={"content": 3}))
    outcome = scene.outcome()
    assert (outcome["file"], outcome["status"], outcome["exit"]) == (None, "error", 0)
    assert "content: 3 is not of type 'string'" in outcome["llmContent"]
    assert "a hook (tested) rewrote its arguments, and they are not valid" in scene.log()


@pytest.mark.parametrize("event", ["AfterModel", "BeforeToolSelection"])
def test_a_block_that_blocks_nothing_is_logged_with_advice(event: str, scene: Scene) -> None:
    """A hook that blocks where nothing can be blocked gets advice in the log."""
    scene.add(event, BLOCK)
    scene.outcome()
    assert '"kind":"advice"' in scene.log()


@pytest.mark.req("HOOK-159")
@pytest.mark.parametrize("event", EVENTS)
def test_a_system_message_is_not_shown_to_the_person(event: str, scene: Scene) -> None:
    """On every event, the user never sees the text."""
    scene.add(event, {"systemMessage": "Mind the gap."})
    done = scene.run()
    assert (done.returncode, done.stdout) == (0, "Writing.\nDone.\n")
    assert "Mind the gap." not in done.stderr


@pytest.mark.parametrize("event", EVENTS)
def test_a_stop_reason_is_shown_to_the_person(event: str, scene: Scene) -> None:
    """On every event, the user reads once why the agent stopped."""
    scene.add(event, STOP)
    done = scene.run()
    assert done.returncode == 0
    assert done.stdout.count("Enough.") == 1


@pytest.mark.parametrize("event", ["AfterTool", "AfterModel"])
def test_what_is_suppressed_is_not_shown_to_the_person(event: str, scene: Scene) -> None:
    """Suppressed output is nowhere in what the user sees."""
    scene.add(event, {"suppressOutput": True})
    done = scene.run()
    assert done.returncode == 0
    shown = {"AfterTool": "Writing.\nDone.\n", "AfterModel": ""}
    assert done.stdout == shown[event]
    assert (WRITTEN in done.stderr) is (event == "AfterModel")
