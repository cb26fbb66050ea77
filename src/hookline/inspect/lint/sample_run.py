"""Runs single hooks without an agent, so that nothing of it is in the log or in statistics."""

from collections.abc import Mapping
from typing import Any

from hookline.engine.run import HookRunner
from hookline.engine.system import passes_of
from hookline.inspect.view import Setup
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.json_text import utc_timestamp
from hookline.runners.process.batch import ChildLimits


def make_runner(setup: Setup) -> HookRunner:
    """A runner with the limits and the environment of the settings."""
    options = setup.options
    return HookRunner(
        limits=ChildLimits(output_bytes=options.output_limit, max_concurrent=options.max_concurrent),
        environ=setup.environ,
        passes=passes_of(options.environment),
    )


def told_to(hook: HookEntry, fields: Mapping[str, Any], setup: Setup) -> dict[str, Any]:
    """The input of a hook: the facts of a session, and the event's own fields."""
    return {
        "session_id": "hookline-check",
        "cwd": setup.project_dir,
        "timestamp": utc_timestamp(),
        "hook_event_name": hook.event.value,
        "transcript_path": "",
        **fields,
    }
