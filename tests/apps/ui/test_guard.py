"""Only the person who has the address may look, and only the page itself may act."""

import pytest
from tests.apps.ui.conftest import HOST, PORT, TOKEN, Page

API = "/api/rows"


def test_the_address_with_its_token_becomes_a_cookie(page: Page) -> None:
    """The page is shown once with the token, and the cookie can be read neither by scripts nor sent by other sites."""
    reply = page.get(f"/?token={TOKEN}", cookie=None, origin=None, sec_fetch_site="cross-site")
    assert (reply.status, b"<title>hookline</title>" in reply.body) == (200, True)
    assert reply.headers["set-cookie"] == f"hookline-{PORT}={TOKEN}; HttpOnly; SameSite=Strict; Path=/"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        pytest.param(API, {}, 200, id="the page itself"),
        pytest.param(API, {"origin": None}, 200, id="a reading request without an origin"),
        pytest.param(API, {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}, 200, id="localhost"),
        pytest.param(API, {"cookie": None}, 401, id="no cookie"),
        pytest.param(API, {"cookie": f"hookline-{PORT}=guess"}, 401, id="a wrong token"),
        pytest.param("/?token=guess", {"cookie": None, "origin": None}, 401, id="a wrong token in the address"),
        pytest.param(f"{API}?token={TOKEN}", {"cookie": None}, 401, id="a token anywhere but at the door"),
        pytest.param("/static/js/app.js", {"cookie": None}, 401, id="the page's files, too"),
        pytest.param(API, {"host": f"evil.example:{PORT}"}, 421, id="another name that leads here"),
        pytest.param(f"/?token={TOKEN}", {"host": "evil.example", "origin": None}, 421, id="the same with the token"),
        pytest.param(API, {"host": "127.0.0.1"}, 421, id="another port"),
        pytest.param(API, {"host": None}, 421, id="no host"),
        pytest.param(API, {"origin": "http://evil.example"}, 403, id="another site"),
        pytest.param(API, {"origin": "null"}, 403, id="a page in a sandbox"),
        pytest.param(API, {"origin": "http://127.0.0.1:9"}, 403, id="another port of this machine"),
        pytest.param(API, {"origin": f"https://{HOST}"}, 403, id="another scheme"),
        pytest.param(API, {"origin": None, "sec_fetch_site": "cross-site"}, 403, id="an image of another site"),
        pytest.param(API, {"origin": None, "sec_fetch_site": "same-site"}, 403, id="another port, by a link"),
    ],
)
def test_who_is_let_in(page: Page, path: str, headers: dict[str, str | None], status: int) -> None:
    """The host, the origin and the token are checked in this order."""
    assert page.get(path, **headers).status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"origin": None}, 403, id="no origin"),
        pytest.param({"origin": "http://evil.example"}, 403, id="another site"),
        pytest.param({"cookie": None}, 401, id="no cookie"),
        pytest.param({"x-hookline-confirmed": None}, 400, id="not confirmed"),
    ],
)
def test_nothing_is_done_for_others(page: Page, headers: dict[str, str | None], status: int) -> None:
    """A request that changes something comes from the page, after a question."""
    reply = page.post("/api/hooks/switch", {"hook": "guard", "enabled": False}, **headers)
    assert reply.status == status
    assert {hook["state"] for hook in page.backend.hooks()["hooks"]} == {"on"}


def test_every_answer_forbids_what_is_not_ours(page: Page) -> None:
    """No script, style or picture of another place; no frame around the page; nothing is kept."""
    for reply in (page.get("/"), page.get(API), page.get(API, cookie=None), page.get("/static/style.css")):
        assert reply.headers["content-security-policy"].startswith("default-src 'self'; ")
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/js/", "/nothing"])
def test_no_other_file_is_served(page: Page, path: str) -> None:
    """Only the page's own files."""
    assert page.get(path).status == 404
