import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.ui.app import make_app
from hookline.apps.ui.backend import Backend
from hookline.client.config import Config
from hookline.inspect.fire import fire_once
from hookline.inspect.hooks import recorded_in
from hookline.protocol.events import HookEventName

TOKEN = "the-token"  # noqa: S105 - of no real server
PORT = 8123
HOST = f"127.0.0.1:{PORT}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the page's server answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as a value."""
        return json.loads(self.body)


App = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Page:
    """The server of a page for one project, asked without a network."""

    backend: Backend
    project: Path
    app: App
    headers: dict[str, str] = field(
        default_factory=lambda: {"host": HOST, "cookie": f"hookline-{PORT}={TOKEN}", "origin": f"http://{HOST}"}
    )

    def get(self, path: str, **headers: str | None) -> Reply:
        """What GET answers; a header that is None is left out."""
        return asyncio.run(_ask(self.app, "GET", path, self._with(headers), b""))

    def post(self, path: str, value: Any = None, **headers: str | None) -> Reply:
        """What POST answers, confirmed unless the header says otherwise."""
        given = self._with({"x-hookline-confirmed": "yes", **headers})
        return asyncio.run(_ask(self.app, "POST", path, given, json.dumps(value).encode()))

    def fire(self, tool: str, session: str = "s1", **tool_input: Any) -> None:
        """Fires BeforeTool, which the log records."""
        config = Config(str(self.project), session_id=session, quiet=True)
        fields = {"tool_name": tool, "tool_input": tool_input}
        # In a thread: Playwright has an event loop in this one.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(fire_once(config, HookEventName.BEFORE_TOOL, fields))).result()

    def _with(self, headers: Mapping[str, str | None]) -> dict[str, str]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return {name: value for name, value in {**self.headers, **named}.items() if value is not None}


async def _ask(app: App, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
    place, _, query = path.partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": place,
        "raw_path": place.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("127.0.0.1", PORT),
        "client": ("127.0.0.1", 50_000),
        "root_path": "",
    }
    sent: list[dict[str, Any]] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    found = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Reply(start["status"], found, b"".join(message.get("body", b"") for message in rest))


def make_config(project: Path) -> Callable[..., Config]:
    """How `hookline ui` reads the settings of a project."""
    return partial(Config, str(project), quiet=True, log_file=False)


def try_guard(home: Path) -> None:
    """Sets the guard of `page` on trial."""
    file = home / ".llxprt" / "settings.json"
    settings = json.loads(file.read_text())
    settings["hooks"]["BeforeTool"][0]["hooks"][0]["mode"] = "shadow"
    file.write_text(json.dumps(settings))


@pytest.fixture
def page(project: Path, own_home: Path) -> Page:
    """A project whose user has a guard, a hook that rewrites and one that never runs; nothing has happened yet."""
    guard = 'case "$(cat)" in *rm*) echo "no rm here" >&2; exit 2;; esac'
    answer = {"hookSpecificOutput": {"tool_input": {"command": "make deploy DRY_RUN=1"}}}
    rewrite = f"case \"$(cat)\" in *deploy*) printf %s '{json.dumps(answer)}';; esac"
    hooks = [
        {"type": "command", "name": "guard", "command": guard},
        {"type": "command", "name": "rewriter", "command": rewrite},
    ]
    never = {"type": "command", "name": "idle", "command": "true"}
    settings = {
        "enableHooks": True,
        "hooks": {"BeforeTool": [{"matcher": "shell", "hooks": hooks}], "SessionEnd": [{"hooks": [never]}]},
    }
    file = own_home / ".llxprt" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings))
    backend = Backend(recorded_in(Config(str(project), quiet=True)), make_config(project), lambda: None)
    app, _ = make_app(backend, token=TOKEN, port=PORT)
    return Page(backend, project, app)
