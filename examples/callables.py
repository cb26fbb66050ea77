"""Hooks that are functions of the program: a guard, a rewrite, and a note after the tool. Run it as it is."""

from pathlib import Path

from hookline import Hooks
from hookline.hook import AfterTool, BeforeTool, Context, Deny, Rewrite

hooks = Hooks(Path(__file__).parent)


@hooks.on(BeforeTool, matcher="write_.*", name="no-secrets", timeout=2.0, on_error="block")
async def no_secrets(event: BeforeTool) -> Deny | None:
    """Refuses files that usually hold secrets."""
    path = str(event.tool_input.get("file_path"))
    return Deny("Files with secrets are off limits.") if path.endswith(".env") else None


@hooks.on(BeforeTool, matcher="^write_file$")
def tidy(event: BeforeTool) -> Rewrite:
    """Strips the text; a plain function runs in a thread, so it may take its time."""
    return Rewrite(tool_input={"content": str(event.tool_input.get("content")).strip()})


@hooks.on(AfterTool, matcher="^write_file$")
async def remind(event: AfterTool) -> Context:
    """Adds a text to what the model reads."""
    return Context(f"{event.tool_input['file_path']} was written; run the tests.")


def write_file(arguments: dict[str, str]) -> str:
    """A tool of the agent."""
    return f"wrote {arguments['content']!r}"


if __name__ == "__main__":
    session = hooks.session("demo").sync
    for path in ("notes.txt", ".env"):
        print(session.run_tool("write_file", {"file_path": path, "content": "  text  "}, write_file).llm_content)
    hooks.close()
