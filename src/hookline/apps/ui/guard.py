"""Access control of the page: requests need the token and must come from the page itself."""

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


class AccessGuard:
    """Refuses requests without the token.

    The token arrives once, in the URL that the terminal shows, and becomes a cookie; the page removes it from the URL.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        # All ports of a host share cookies, so the name contains the port.
        self._cookie = f"hookline-{port}"
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, or refuse it."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        # A request with the token may come from anywhere, such as a terminal or a local file.
        has_token = self._has_token_in_url(request)
        refused = self._refusal(request) if not has_token or self._is_misdirected(request) else None
        handler: Callable[[Scope, Receive, Send], Awaitable[None]] = self._app if refused is None else refused
        cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/" if has_token else None
        await handler(scope, receive, _with_headers(send, cookie if refused is None else None))

    def _refusal(self, request: Request) -> Response | None:
        if self._is_misdirected(request):
            return _refuse(HTTPStatus.MISDIRECTED_REQUEST, "this is not the address that hookline ui serves")
        if not self._is_same_origin(request.headers, request.method):
            return _refuse(HTTPStatus.FORBIDDEN, "requests from other sites are refused")
        if self._is_token(request.cookies.get(self._cookie, "")):
            return None
        return _refuse(HTTPStatus.UNAUTHORIZED, "open the URL with its token, as printed by hookline ui")

    def _is_misdirected(self, request: Request) -> bool:
        # DNS rebinding: a site can resolve its own name to this address, and read the responses.
        return request.headers.get("host") not in self._hosts

    def _has_token_in_url(self, request: Request) -> bool:
        is_page = request.url.path == "/" and request.method == "GET" and "origin" not in request.headers
        return is_page and self._is_token(request.query_params.get("token", ""))

    def _is_same_origin(self, headers: Headers, method: str) -> bool:
        origin = headers.get("origin")
        if origin is None:
            # Browsers send Origin with every request that can change something.
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
