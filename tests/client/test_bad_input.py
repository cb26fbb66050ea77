"""Bad input of every kind that a program can hand in, awaited and blocking: an error or the documented behaviour."""

import asyncio
import inspect
from typing import Any

import pytest

from hookline import FormatError, LLMRequest
from hookline.errors import SessionClosedError

from .conftest import MakeHooks

REQUEST: LLMRequest = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
STRANGE: Any = {"model": "m", "messages": [{"role": "user", "parts": [{"text": "hi"}]}]}


@pytest.fixture(params=["async", "sync"])
def is_sync(request: pytest.FixtureRequest) -> bool:
    """Whether the blocking form of a session is used."""
    return bool(request.param == "sync")


def done(session: Any, method: str, *given: Any, is_sync: bool) -> Any:
    """The result of a session's method, in either form."""
    result = getattr(session.sync if is_sync else session, method)(*given)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


@pytest.mark.parametrize(
    ("method", "given", "error", "message"),
    [
        pytest.param(
            "before_model", (STRANGE,), FormatError, r"messages\[0\] is an object with role, parts", id="message"
        ),
        pytest.param("select_tools", (STRANGE, ["t"]), FormatError, r"messages\[0\]", id="message-of-a-selection"),
        pytest.param(
            "after_model", (REQUEST, {"choices": []}), FormatError, "the response is an object", id="response"
        ),
        pytest.param("before_tool", (7, {}), TypeError, "the tool's name is 7", id="tool-name"),
        pytest.param("run_tool", (None, {}, str), TypeError, "the tool's name is None", id="tool-name-to-run"),
    ],
)
def test_it_is_a_clear_error(
    make_hooks: MakeHooks, is_sync: bool, method: str, given: Any, error: type[Exception], message: str
) -> None:
    """An unknown shape, and a tool's name that is none."""
    session = make_hooks({}).session()
    with pytest.raises(error, match=message):
        done(session, method, *given, is_sync=is_sync)


def test_arguments_and_responses_of_models(make_hooks: MakeHooks, is_sync: bool) -> None:
    """Arguments of another type than a mapping block the call; hooks get a response without text as it is."""
    session = make_hooks({}).session()
    assert done(session, "before_tool", "t", "[]", is_sync=is_sync).blocked
    assert "can't be read" in str(done(session, "run_tool", "t", None, str, is_sync=is_sync).llm_content)
    without_text: list[dict[str, Any]] = [{}, {"text": ""}, {"candidates": []}]
    for empty in without_text:
        assert done(session, "after_model", REQUEST, empty, is_sync=is_sync).text is None


def test_a_closed_session(make_hooks: MakeHooks, is_sync: bool) -> None:
    """Nothing is allowed after the end, whatever is asked for."""
    session = make_hooks({}).session("s-1")
    call = done(session, "before_tool", "t", {}, is_sync=is_sync)
    session.close()
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("before_tool", ("t", {})),
        ("after_tool", (call, "x")),
        ("before_model", (REQUEST,)),
        ("before_agent", ("p",)),
        ("notify", ("ToolPermission", "m", {})),
    ]
    for method, given in calls:
        with pytest.raises(SessionClosedError, match="the session s-1 is closed"):
            done(session, method, *given, is_sync=is_sync)


def test_a_session_of_closed_hooks(make_hooks: MakeHooks, is_sync: bool) -> None:
    """The remedy is another `Hooks`: another session of these would be closed as well."""
    hooks = make_hooks({})
    session = hooks.session("s-1")
    hooks.close()
    with pytest.raises(SessionClosedError, match="make another `Hooks`"):
        done(session, "before_tool", "t", {}, is_sync=is_sync)
