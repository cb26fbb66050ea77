"""An MCP server made with the official package; with a port it speaks HTTP, and with a token it demands that."""

import sys
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import Completion, SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("demo", instructions="Use the tools.")


class Person(BaseModel):
    """What `person` returns."""

    name: str
    age: int


class Wish(BaseModel):
    """What `ask_user` asks for."""

    colour: str


@server.tool()
def add(a: int, b: int) -> str:
    """Adds."""
    return str(a + b)


@server.tool()
def danger() -> str:
    """Should never run."""
    return "it ran"


@server.tool()
def careful() -> str:
    """A hook wants the user to be asked."""
    return "it ran"


@server.tool()
def halt() -> str:
    """A hook stops everything after it."""
    return "the last secret"


@server.tool()
def secret() -> str:
    """Returns a text."""
    return "the password is hunter2"


@server.tool()
def person() -> Person:
    """Returns structured content."""
    return Person(name="hunter2", age=3)


@server.tool()
def picture() -> Image:
    """Returns an image."""
    return Image(data=b"png!", format="png")


@server.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("no luck")


@server.tool()
async def talk(ctx: Context) -> str:
    """Uses everything that a client can offer."""
    await ctx.info("a log line")
    await ctx.report_progress(1, 2, "half")
    message = SamplingMessage(role="user", content=TextContent(type="text", text="Say hello"))
    sampled = await ctx.session.create_message([message], max_tokens=5)
    roots = await ctx.session.list_roots()
    wish = await ctx.elicit("Which colour?", Wish)
    await ctx.session.send_tool_list_changed()
    return f"{sampled.content.text} {roots.roots[0].name} {wish.data.colour}"  # type: ignore[union-attr]


@server.tool()
async def wait(path: str) -> str:
    """Writes whether it has started and was cancelled, and waits for ever."""
    file = anyio.Path(path)
    await file.write_text("started\n")
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        Path(path).write_text("cancelled\n")  # noqa: ASYNC240 - nothing can be awaited now
        raise
    return ""


@server.resource("demo://note")
def note() -> str:
    """A resource."""
    return "a note"


@server.prompt()
def greet(name: str) -> str:
    """A prompt."""
    return f"Greet {name}"


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
async def complete(_ref: object, argument: object, _context: object) -> Completion:
    """Completes an argument."""
    return Completion(values=[f"{argument.value}!"])  # type: ignore[attr-defined]


def demand(token: str, app: Any) -> Any:
    """The app for those who have the token."""

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or (b"authorization", f"Bearer {token}".encode()) in scope["headers"]:
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return guarded


if __name__ == "__main__":
    if len(sys.argv) > 2:
        uvicorn.run(demand(sys.argv[2], server.streamable_http_app()), port=int(sys.argv[1]))
    elif len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
