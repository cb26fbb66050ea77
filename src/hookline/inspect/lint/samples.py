"""The inputs of a dry run, and single hooks on them: ordinary calls, and some that a guard would refuse."""

from collections.abc import Iterator, Mapping
from typing import Any

from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.run import HookRunner
from hookline.engine.system import passes_of
from hookline.inspect.lint.matchers import subjects_of
from hookline.inspect.view import Setup
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.json_text import utc_timestamp
from hookline.runners.process.batch import ChildLimits

Fields = Mapping[str, Any]

_CALLS: Mapping[str, tuple[Fields, ...]] = {
    "read_file": ({"file_path": "notes.txt"}, {"file_path": ".env"}),
    "write_file": (
        {"file_path": "notes.txt", "content": "hello\n"},
        {"file_path": ".env", "content": "API_KEY=sk-0000000000000000\nPASSWORD=secret\n"},
    ),
    "replace": ({"file_path": "notes.txt", "old_string": "hello", "new_string": "goodbye"},),
    "list_directory": ({"path": "."},),
    "glob": ({"pattern": "**/*.py"},),
    "search_file_content": ({"pattern": "hello"},),
    "run_shell_command": ({"command": "ls"}, {"command": "rm -rf / --no-preserve-root"}),
}
_REQUEST = {
    "model": "sample-model",
    "messages": [{"role": "user", "content": "What is in notes.txt? My password is secret."}],
    "config": {"temperature": 0},
}
_RESPONSE = {
    "text": "It says hello.",
    "candidates": [{"content": {"role": "model", "parts": ["It says hello."]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"totalTokenCount": 12},
}
_OTHERS: Mapping[HookEventName, Fields] = {
    HookEventName.BEFORE_MODEL: {"llm_request": _REQUEST},
    HookEventName.AFTER_MODEL: {"llm_request": _REQUEST, "llm_response": _RESPONSE},
    HookEventName.BEFORE_TOOL_SELECTION: {"llm_request": _REQUEST},
    HookEventName.BEFORE_AGENT: {"prompt": "What is in notes.txt?"},
    HookEventName.AFTER_AGENT: {
        "prompt": "What is in notes.txt?",
        "prompt_response": "It says hello.",
        "stop_hook_active": False,
    },
}
_NOTIFICATION: Fields = {"message": "May ls be run?", "details": {"type": "exec"}}


def samples(event: HookEventName, setup: Setup) -> Iterator[tuple[str, Fields]]:
    """The inputs for the hooks of an event, each with its subject."""
    if event in _OTHERS:
        yield event.value, _OTHERS[event]
    elif (row := EVENT_TABLE[event]).triggers:
        more = _NOTIFICATION if event is HookEventName.NOTIFICATION else {}
        yield from ((trigger, {str(row.subject): trigger, **more}) for trigger in row.triggers)
    else:
        response = {"llmContent": "hello", "returnDisplay": "hello"}
        told: Fields = {"tool_response": response} if event is HookEventName.AFTER_TOOL else {}
        for tool in map(str, subjects_of(event, setup)):
            for arguments in _CALLS.get(tool, ({},)):
                yield tool, {"tool_name": tool, "tool_input": arguments, **told}


def show_sample(subject: str, fields: Mapping[str, Any]) -> str:
    """A sample as people would name it."""
    arguments = fields.get("tool_input")
    first = next(iter(arguments.values()), "") if isinstance(arguments, Mapping) else ""
    if subject == "run_shell_command":
        return f"`{first}`"
    return f"{subject} {first}".strip()


def make_runner(setup: Setup) -> HookRunner:
    """Return a runner that logs nothing, with the limits and the environment of the settings."""
    options = setup.options
    return HookRunner(
        limits=ChildLimits(output_bytes=options.output_limit, max_concurrent=options.max_concurrent),
        environ=setup.environ,
        passes=passes_of(options.environment),
    )


def input_of_hook(hook: HookEntry, fields: Mapping[str, Any], setup: Setup) -> dict[str, Any]:
    """Return the input of a hook: the facts of a session, and the event's own fields."""
    return {
        "session_id": "hookline-check",
        "cwd": setup.project_dir,
        "timestamp": utc_timestamp(),
        "hook_event_name": hook.event.value,
        "transcript_path": "",
        **fields,
    }
