"""A guided tour: a real hook blocks one tool call and rewrites another, and the log says what happened."""

import asyncio
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from hookline import Config, ToolResult, execute_tool_with_hooks

HOOKS = Path(__file__).parent / "hooks"
SETTINGS = {
    "enableHooks": True,
    "hooks": {
        "BeforeTool": [
            {
                "matcher": "write_file|replace",
                "hooks": [{"type": "command", "name": "guard-secrets", "command": f"'{HOOKS}/guard-secrets.sh'"}],
            },
            {
                "matcher": "^write_file$",
                "hooks": [{"type": "command", "name": "tidy-text", "command": f"python3 '{HOOKS}/tidy-text.py'"}],
            },
        ]
    },
}


async def write_file(arguments: dict[str, Any]) -> ToolResult:
    """A tool like any agent has one."""
    path = Path(arguments["file_path"])
    path.write_text(arguments["content"])
    return ToolResult(llm_content=f"Wrote {path.name}", return_display=f"Wrote {path.name}")


async def call(config: Config, arguments: dict[str, str]) -> None:
    """Lets the 'model' call the tool, between its hooks."""
    path = Path(arguments["file_path"])
    print(f"\nThe model calls write_file({path.name!r}, {arguments['content']!r})")
    result = await execute_tool_with_hooks(config, "write_file", arguments, write_file)
    print(f"  the model is told   {result.llm_content!r}")
    print(f"  on disk             {path.read_text()!r}" if path.exists() else "  on disk             nothing")


async def main(project: Path) -> None:
    """Two tool calls, and the log of both."""
    config = Config(project, session_id="demo", settings=SETTINGS)
    print("Two hooks are configured for BeforeTool: guard-secrets (a shell script) and tidy-text (Python).")
    await call(config, {"file_path": str(project / ".env"), "content": "TOKEN=abc"})
    await call(config, {"file_path": str(project / "notes.txt"), "content": "two trailing spaces  \nno newline"})
    system = config.get_hook_system()
    if system is not None:
        system.dispose()
    print("\nWhat the log says about both:")
    for line in (Path(os.environ["HOOKLINE_STATE_DIR"]) / "hooks.jsonl").read_text().splitlines():
        record = json.loads(line)
        print(f"  {record['level']:5} {record['message']}")
    print("\nNext: write a hook of your own; README.md shows how in a minute.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOOKLINE_STATE_DIR"] = f"{folder}/state"  # the demo leaves no trace in your own log
        work = Path(folder) / "project"
        work.mkdir()
        asyncio.run(main(work))
