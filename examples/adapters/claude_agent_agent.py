"""Hooks in an agent of the Claude Agent SDK: what they answer when Claude Code asks about a tool call.

Claude Code itself needs a key and a network, so this asks the callbacks as it would. The hook is one of examples/hooks.
"""

import asyncio
import shlex
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions

from hookline import Hooks
from hookline.adapters.claude_agent import hookline_hooks

SCRIPTS = Path(__file__).parents[1] / "hooks"
GUARD = {"type": "command", "name": "guard", "command": shlex.quote(str(SCRIPTS / "guard-secrets.sh"))}
# Without `settings`, Hooks reads the settings of the project, the user and the system.
SETTINGS = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [GUARD]}]}}


def call(path: str) -> dict[str, Any]:
    """The question of Claude Code before it writes a file."""
    return {
        "hook_event_name": "PreToolUse",
        "session_id": "s-1",
        "transcript_path": "",
        "cwd": "/project",
        "tool_name": "Write",
        "tool_input": {"file_path": f"/project/{path}", "content": "card"},
        "tool_use_id": "toolu_1",
    }


async def main() -> None:
    """Asks about two calls; an agent is `query(prompt="...", options=options)`."""
    with Hooks(".", settings=SETTINGS) as hooks:
        options = ClaudeAgentOptions(hooks=hookline_hooks(hooks))
        (matcher,) = (options.hooks or {})["PreToolUse"]
        for path in (".env", "notes.txt"):
            question: Any = call(path)
            print(path, await matcher.hooks[0](question, "toolu_1", {"signal": None}))


if __name__ == "__main__":
    asyncio.run(main())
