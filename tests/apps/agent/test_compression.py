from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hookline.apps.agent.conversation.compression import compressed, cut, estimate_tokens, summary_request
from hookline.apps.agent.conversation.contents import (
    answer_calls,
    content_from_json,
    has_responses,
    to_json,
    user_content,
)
from hookline.apps.agent.tool import AgentCall, CallStatus
from hookline.client.triggers.results import ToolResult

CALL = content_from_json({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]})


def exchange(size: int) -> list[Any]:
    """A prompt and its answer."""
    return [user_content(["p" * size]), content_from_json({"role": "model", "parts": [{"text": "a" * size}]})]


def tool_use(size: int) -> list[Any]:
    """A call and its response."""
    call = AgentCall(id="c", name="f", status=CallStatus.SUCCESS, result=ToolResult(llm_content="r" * size))
    return [CALL, answer_calls(CALL, [call])]


SIZES = st.integers(0, 2000)
HISTORIES = st.lists(st.one_of(SIZES.map(exchange), SIZES.map(tool_use)), max_size=12).map(
    lambda pieces: [user_content(["begin"]), *(content for piece in pieces for content in piece)]
)


@given(HISTORIES)
def test_a_cut_never_parts_a_call_from_its_response(history: list[Any]) -> None:
    """Whatever was said, something is summarized, something is kept, and what is kept begins with no response."""
    end = cut(history)
    if end is None:
        assert len(history) == 1
        return
    assert 0 < end < len(history)
    assert not has_responses(history[end])
    after = compressed("summary", history[end:])
    assert after[0].role == "user"
    assert after[len(after) - len(history) + end :] == history[end:]


@given(HISTORIES)
def test_most_of_a_history_is_summarized(history: list[Any]) -> None:
    """What is kept is a third at most, unless the last exchange alone is more."""
    end = cut(history)
    if end is not None and end < max(i for i in range(1, len(history)) if not has_responses(history[i])):
        assert estimate_tokens(history[end:]) <= 0.3 * estimate_tokens(history) + 1


def test_the_summary_takes_the_place_of_the_beginning() -> None:
    """The model reads the summary as told by the user; user and model go on taking turns."""
    opening = {"role": "user", "parts": [{"text": "This is a summary of our conversation so far:\n\nAll."}]}
    answer = {"role": "model", "parts": [{"text": "I have read the summary and will continue from there."}]}
    prompt, reply = exchange(3)
    assert [to_json(one) for one in compressed("All.", [prompt])] == [opening, answer, to_json(prompt)]
    assert [to_json(one) for one in compressed("All.", [reply])] == [opening, to_json(reply)]
    assert [to_json(one) for one in compressed("All.", [])] == [opening, answer]


def test_the_request_has_the_beginning_and_no_tools() -> None:
    """The model is shown what it is to summarize, and cannot call anything while it does."""
    request = summary_request("m", exchange(3))
    assert [to_json(one) for one in request.contents][:2] == [to_json(one) for one in exchange(3)]
    assert to_json(request.contents[2]) == {"role": "user", "parts": [{"text": "Summarize our conversation so far."}]}
    assert (request.model, request.config.tools) == ("m", None)
