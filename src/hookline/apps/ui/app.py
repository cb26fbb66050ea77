"""The routes of the page: its static files, its JSON data and its actions."""

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from hookline.apps.ui.backend import Backend
from hookline.apps.ui.guard import AccessGuard
from hookline.apps.ui.live import Live
from hookline.apps.ui.records import activity_of, plots, projects, read_query, sessions, story, timeline, whole_event
from hookline.errors import HooklineError, UsageError
from hookline.log.files import open_all
from hookline.protocol.text.json_text import parse_json, stringify_json

_STATIC = Path(__file__).parent / "static"
_MAX_BODY = 64 * 1024
_MAX_CACHED = 32
_CONFIRMED = "x-hookline-confirmed"

Handler = Callable[[Request], Awaitable[Any]]


class ScanCache:
    """Caches the results of functions that read the whole log; runs one at a time."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._results: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, function: Callable[..., Any], *args: Hashable) -> Any:
        """Return `function(log, *args)`, from the cache if the log has not changed."""
        with self._lock:
            key = (function, args, self._state())
            if key not in self._results:
                self._results[key] = function(self._log, *args)
            self._results.move_to_end(key)
            while len(self._results) > _MAX_CACHED:
                self._results.popitem(last=False)
            return self._results[key]

    def _state(self) -> tuple[Any, ...]:
        files = open_all(self._log)
        for file in files:
            file.close()
        return tuple((file.identity, file.size) for file in files)


def make_app(backend: Backend, *, token: str, port: int) -> tuple[AccessGuard, Live]:
    """Return the application, and its live stream, which the caller closes."""
    live = Live(backend.log)

    async def index(_request: Request) -> Response:
        return FileResponse(_STATIC / "index.html")

    async def follow(request: Request) -> Response:
        try:
            query = read_query(request.query_params)
        except HooklineError as error:
            return _refused(error)
        return StreamingResponse(live.stream(query), media_type="text/event-stream")

    routes = [
        Route("/", index),
        Route("/api/live", follow),
        *(Route(f"/api/{path}", _json(handler)) for path, handler in _readings(backend).items()),
        *(Route(f"/api/{path}", _json(act), methods=["POST"]) for path, act in _actions(backend).items()),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]
    return AccessGuard(Starlette(routes=routes), token=token, port=port), live


def _readings(backend: Backend) -> dict[str, Handler]:
    """Return the handlers that read; reading the log is slow, so they use threads."""
    cache = ScanCache(backend.log)

    def scan(function: Callable[..., Any], *args: Hashable) -> Awaitable[Any]:
        return run_in_threadpool(cache.run, function, *args)

    async def rows(request: Request) -> Any:
        return await run_in_threadpool(timeline, backend.log, dict(request.query_params))

    async def event(request: Request) -> Any:
        return await run_in_threadpool(whole_event, backend.log, request.path_params["fire"])

    async def case(request: Request) -> Any:
        return await run_in_threadpool(backend.case_of, request.path_params["fire"])

    async def session(request: Request) -> Any:
        params = request.query_params
        return await scan(story, params.get("id", ""), params.get("before", ""))

    async def durations(request: Request) -> Any:
        params = request.query_params
        return await scan(plots, params.get("hook", ""), params.get("event", ""))

    return {
        "rows": rows,
        "activity": lambda request: scan(_activity_with, tuple(sorted(request.query_params.items()))),
        "machines": lambda _request: run_in_threadpool(backend.machines),
        "events/{fire}": event,
        "events/{fire}/case": case,
        "sessions": lambda _request: scan(sessions),
        "session": session,
        "projects": lambda _request: scan(projects),
        "hooks": lambda _request: run_in_threadpool(backend.hooks),
        "durations": durations,
        "trials": lambda _request: run_in_threadpool(backend.trials),
        "settings": lambda _request: run_in_threadpool(backend.settings),
    }


def _activity_with(log: Path, filters: Iterable[tuple[str, str]]) -> Any:
    return activity_of(log, dict(filters))


def _actions(backend: Backend) -> dict[str, Handler]:
    """Return the handlers of actions, which the user must confirm."""

    async def replay(request: Request) -> Any:
        _require_confirmation(request)
        return await backend.replay(request.path_params["fire"])

    async def switch(request: Request) -> Any:
        _require_confirmation(request)
        body = await _body(request)
        name, is_on = body.get("hook"), body.get("enabled")
        if not isinstance(name, str) or not isinstance(is_on, bool):
            raise UsageError("expected the hook's name and whether it is enabled")
        return await run_in_threadpool(lambda: backend.switch(name, is_on=is_on))

    return {"events/{fire}/replay": replay, "hooks/switch": switch}


def _json(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        try:
            value = await handler(request)
        except HooklineError as error:
            return _refused(error)
        return Response(stringify_json(value), media_type="application/json")

    return respond


def _refused(error: HooklineError) -> Response:
    status = HTTPStatus.BAD_REQUEST if isinstance(error, UsageError) else HTTPStatus.CONFLICT
    return Response(stringify_json({"error": str(error)}), status_code=status, media_type="application/json")


def _require_confirmation(request: Request) -> None:
    # A custom header also makes browsers send a preflight request from another site.
    if request.headers.get(_CONFIRMED) != "yes":
        raise UsageError("this must be confirmed on the page")


async def _body(request: Request) -> dict[str, Any]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BODY:
            raise UsageError("the request is too long")
    try:
        value = parse_json(body.decode("utf-8", "replace"))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UsageError("the request is not a JSON object")
    return value
