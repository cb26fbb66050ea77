"""A guided tour: a model calls a tool twice, one hook blocks, another rewrites, and the log says what happened."""

import asyncio
import json
import os
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SETTINGS = {
    "enableHooks": True,
    "hooks": {
        "BeforeTool": [
            {
                "matcher": "write_file|replace",
                "hooks": [{"type": "command", "name": "guard-secrets", "command": f"'{HERE}/hooks/guard-secrets.sh'"}],
            },
            {
                "matcher": "^write_file$",
                "hooks": [{"type": "command", "name": "tidy-text", "command": f"python3 '{HERE}/hooks/tidy-text.py'"}],
            },
        ]
    },
}
# The calls of a model, which are always the same here: so the demo needs no key and no network.
CALLS = (
    {"file_path": ".env", "content": "TOKEN=abc"},
    {"file_path": "notes.txt", "content": "two trailing spaces  \nno newline"},
)


async def call_tools(project: Path) -> None:
    """Make both calls, as any program with an agent makes them: each through the hooks."""
    from hookline import Hooks  # noqa: PLC0415 - after the log's directory is set

    def write_file(arguments: dict[str, Any]) -> str:
        path = project / arguments["file_path"]
        path.write_text(arguments["content"])
        print(f"  on disk: {path.read_text()!r}")
        return "written"

    with Hooks(project, settings=SETTINGS) as hooks:
        session = hooks.session()
        for arguments in CALLS:
            print(f"\nThe model calls write_file({arguments['file_path']!r}, {arguments['content']!r})")
            result = await session.run_tool("write_file", arguments, write_file)
            if not (project / arguments["file_path"]).exists():
                print(f"  blocked, and the model reads: {result.llm_content}")
                print("  on disk: nothing")


def main(folder: Path) -> None:
    """Two tool calls, and the log of both."""
    project = folder / "project"
    project.mkdir()
    # The demo leaves no trace in your own log.
    os.environ["HOOKLINE_STATE_DIR"] = str(folder / "state")
    print("Two hooks are configured for BeforeTool: guard-secrets (a shell script) and tidy-text (Python).")
    asyncio.run(call_tools(project))
    print("\nThe log about both calls:")
    for line in (folder / "state" / "hooks.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] != "start":
            print(f"  {record['message']}")
    print("\nNext: write a hook of your own; README.md shows how in a minute.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
