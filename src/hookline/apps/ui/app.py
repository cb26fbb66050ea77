"""The routes of the page: its files, what it reads as JSON, and the few things that it can do."""

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
from hookline.apps.ui.guard import Guard
from hookline.apps.ui.live import Live
from hookline.apps.ui.records import activity_of, plots, projects, read_query, sessions, story, timeline, whole_event
from hookline.apps.ui.scans import Scans
from hookline.errors import HooklineError, UsageError
from hookline.protocol.text.json_text import parse_json, stringify_json

_STATIC = Path(__file__).parent / "static"
_MOST_BODY = 64 * 1024
_CONFIRMED = "x-hookline-confirmed"

Answer = Callable[[Request], Awaitable[Any]]


def make_app(backend: Backend, *, token: str, port: int) -> tuple[Guard, Live]:
    """The application for this address, and its live part, which has to be closed."""
    live = Live(backend.log)
    scans = Scans(backend.log)

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
        *(Route(f"/api/{path}", _json(answer)) for path, answer in _readings(backend, scans).items()),
        *(Route(f"/api/{path}", _json(act), methods=["POST"]) for path, act in _actions(backend).items()),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]
    return Guard(Starlette(routes=routes), token=token, port=port), live


def _readings(backend: Backend, scans: Scans) -> dict[str, Answer]:
    """What the page reads. Reading the log takes time, so that happens in threads."""

    def scan(function: Callable[..., Any], *given: Hashable) -> Awaitable[Any]:
        return run_in_threadpool(scans.run, function, *given)

    async def rows(request: Request) -> Any:
        given = dict(request.query_params)
        return await run_in_threadpool(timeline, backend.log, given)

    async def event(request: Request) -> Any:
        return await run_in_threadpool(whole_event, backend.log, request.path_params["fire"])

    async def case(request: Request) -> Any:
        return await run_in_threadpool(backend.case_of, request.path_params["fire"])

    async def session(request: Request) -> Any:
        given = request.query_params
        return await scan(story, given.get("id", ""), given.get("before", ""))

    async def hooks(_request: Request) -> Any:
        return await run_in_threadpool(backend.hooks)

    async def durations(request: Request) -> Any:
        given = request.query_params
        return await scan(plots, given.get("hook", ""), given.get("event", ""))

    async def settings(_request: Request) -> Any:
        return await run_in_threadpool(backend.settings)

    return {
        "rows": rows,
        "activity": lambda request: scan(_activity_with, tuple(sorted(request.query_params.items()))),
        "machines": lambda _request: run_in_threadpool(backend.machines),
        "events/{fire}": event,
        "events/{fire}/case": case,
        "sessions": lambda _request: scan(sessions),
        "session": session,
        "projects": lambda _request: scan(projects),
        "hooks": hooks,
        "durations": durations,
        "trials": lambda _request: run_in_threadpool(backend.trials),
        "settings": settings,
    }


def _activity_with(log: Path, filters: Iterable[tuple[str, str]]) -> Any:
    return activity_of(log, dict(filters))


def _actions(backend: Backend) -> dict[str, Answer]:
    """What the page can do, each after the person has confirmed it."""

    async def replay(request: Request) -> Any:
        _require_confirmation(request)
        return await backend.replay(request.path_params["fire"])

    async def switch(request: Request) -> Any:
        _require_confirmation(request)
        given = await _body(request)
        name, is_on = given.get("hook"), given.get("enabled")
        if not isinstance(name, str) or not isinstance(is_on, bool):
            raise UsageError("expected the hook's name and whether it is enabled")
        return await run_in_threadpool(lambda: backend.switch(name, is_on=is_on))

    return {"events/{fire}/replay": replay, "hooks/switch": switch}


def _json(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        try:
            value = await answer(request)
        except HooklineError as error:
            return _refused(error)
        return Response(stringify_json(value), media_type="application/json")

    return respond


def _refused(error: HooklineError) -> Response:
    status = HTTPStatus.BAD_REQUEST if isinstance(error, UsageError) else HTTPStatus.CONFLICT
    return Response(stringify_json({"error": str(error)}), status_code=status, media_type="application/json")


def _require_confirmation(request: Request) -> None:
    # A header of its own also makes a browser ask us before it sends such a request from another site.
    if request.headers.get(_CONFIRMED) != "yes":
        raise UsageError("this has to be confirmed on the page")


async def _body(request: Request) -> dict[str, Any]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BODY:
            raise UsageError("the request is too long")
    try:
        value = parse_json(body.decode("utf-8", "replace"))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UsageError("the request is not a JSON object")
    return value
