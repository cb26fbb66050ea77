"""BeforeTool: adds the newline at the end of a text file."""

from hookline.hook import BeforeTool, Rewrite, main


def finish(event: BeforeTool) -> Rewrite | None:
    """Changes the content only; the other arguments stay."""
    content = event.tool_input.get("content")
    if not isinstance(content, str) or not content or content.endswith("\n"):
        return None
    return Rewrite(tool_input={"content": content + "\n"})


main(finish)
