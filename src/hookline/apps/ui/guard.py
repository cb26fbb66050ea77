"""Who may talk to the page: this browser, with the token, from the page itself."""

import hmac
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_READING = ("GET", "HEAD")


class Guard:
    """Refuses every request that is not of a person who has the address with its token.

    The token arrives once, in the address that the terminal shows, and becomes a cookie; the page removes it there.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        # Cookies are shared by all ports of a host, so each port has a name of its own.
        self._cookie = f"hookline-{port}"
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or refuses it."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        # Whoever has the token may come from anywhere: a terminal, a file that a browser has opened.
        is_welcome = self._brings_token(request)
        refused = self._refusal(request) if not is_welcome or self._is_misdirected(request) else None
        handler: Callable[[Scope, Receive, Send], Awaitable[None]] = self._app if refused is None else refused
        cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/" if is_welcome else None
        await handler(scope, receive, _with_headers(send, cookie if refused is None else None))

    def _refusal(self, request: Request) -> Response | None:
        if self._is_misdirected(request):
            return _refuse(HTTPStatus.MISDIRECTED_REQUEST, "this is not the address that hookline ui serves")
        if not self._is_from_here(request.headers, request.method):
            return _refuse(HTTPStatus.FORBIDDEN, "requests of other sites are refused")
        if self._is_token(request.cookies.get(self._cookie, "")):
            return None
        return _refuse(HTTPStatus.UNAUTHORIZED, "open the address that hookline ui has printed, with its token")

    def _is_misdirected(self, request: Request) -> bool:
        # A site can have its own name lead here, and then read what it gets.
        return request.headers.get("host") not in self._hosts

    def _brings_token(self, request: Request) -> bool:
        is_page = request.url.path == "/" and request.method == "GET" and "origin" not in request.headers
        return is_page and self._is_token(request.query_params.get("token", ""))

    def _is_from_here(self, headers: Headers, method: str) -> bool:
        origin = headers.get("origin")
        if origin is None:
            # A browser names the origin of each request that can change something.
            return method in _READING and headers.get("sec-fetch-site") not in ("cross-site", "same-site")
        return origin == f"http://{headers.get('host')}"

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


def _refuse(status: HTTPStatus, why: str) -> Response:
    return PlainTextResponse(f"hookline ui: {why}\n", status_code=status)


def _with_headers(send: Send, cookie: str | None) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            if cookie is not None:
                headers.append("Set-Cookie", cookie)
        await send(message)

    return send_with_headers
