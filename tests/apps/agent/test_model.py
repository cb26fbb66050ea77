"""Gemini through the real SDK, against a local HTTP server that speaks its streaming protocol."""

import asyncio
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any

import pytest
from tests.apps.agent.model_server import ModelServer, Reply, model_server

from hookline.apps.agent.conversation.contents import spoken_text
from hookline.apps.agent.models.collect import collect
from hookline.apps.agent.models.gemini import DEFAULT_GEMINI, GeminiModel
from hookline.errors import ModelError
from hookline.protocol.llm import GenerateContentParameters
from hookline.testing import says

FIRST, SECOND = says("Hel", finish=None), says("lo")


@contextmanager
def gemini_server(replies: Sequence[Reply], monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Runs the server, with the SDK's environment variables pointing to it."""
    for name in ("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "a-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with model_server(replies) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield server


def ask(model: GeminiModel, **config: Any) -> list[str]:
    """The texts of the chunks that the model answers with."""

    async def stream() -> list[str]:
        try:
            request = GenerateContentParameters(model=model.name, contents="Hi", config=config or None)
            async with aclosing(model.stream(request)) as chunks:
                return [spoken_text(chunk) async for chunk in chunks]
        finally:
            await model.aclose()

    return asyncio.run(stream())


def ask_server(replies: Sequence[Reply], patch: pytest.MonkeyPatch) -> tuple[list[str], ModelServer, list[str]]:
    """What came of one call to a server with these replies: the texts, the server, and what was said of retries."""
    retries: list[str] = []
    with gemini_server(replies, patch) as server:
        texts = ask(GeminiModel("gemini-test", attempts=3, first_pause_s=0.01, on_retry=retries.append))
    return texts, server, retries


def fail(replies: Sequence[Reply], patch: pytest.MonkeyPatch) -> tuple[str, ModelServer]:
    """The error of one call to a server with these replies."""
    with gemini_server(replies, patch) as server:
        model = GeminiModel("gemini-test", attempts=3, first_pause_s=0.01)
        with pytest.raises(ModelError) as caught:
            ask(model)
    return str(caught.value), server


def test_an_answer_comes_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's stream is passed on chunk by chunk, from the one method that streams."""
    texts, server, retries = ask_server([Reply(chunks=[FIRST, SECOND])], monkeypatch)
    assert texts == ["Hel", "lo"]
    assert [path.partition("/models/")[2] for path in server.paths] == ["gemini-test:streamGenerateContent?alt=sse"]
    assert server.bodies[0]["contents"] == [{"parts": [{"text": "Hi"}], "role": "user"}]
    assert retries == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_refused_request_is_made_again(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many requests and server errors pass: the request is made again, and that is told."""
    texts, server, retries = ask_server(
        [Reply(status=status, error="busy"), Reply(chunks=[FIRST, SECOND])], monkeypatch
    )
    assert texts == ["Hel", "lo"]
    assert len(server.paths) == 2
    assert [said.partition(";")[0] for said in retries] == [f"gemini-test answered {status} REFUSED: busy"]


def test_retries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last attempt the refusal is an error that says what the server said."""
    message, server = fail([Reply(status=429, error="busy")] * 3, monkeypatch)
    assert message == "gemini-test gave no answer: 429 REFUSED: busy"
    assert len(server.paths) == 3


def test_a_bad_request_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server will refuse again is an error at once."""
    message, server = fail([Reply(status=400, error="no such model")], monkeypatch)
    assert message == "gemini-test gave no answer: 400 REFUSED: no such model"
    assert len(server.paths) == 1


@pytest.mark.req("HOOK-207")
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(chunks=[FIRST], is_cut=True), id="connection-cut"),
        pytest.param(Reply(chunks=[FIRST], announces_length=False), id="cut-that-looks-like-an-end"),
        pytest.param(Reply(chunks=[FIRST, '{"candidates": [{"con']), id="malformed-json"),
        pytest.param(Reply(chunks=[FIRST, {"error": {"code": 503, "message": "overloaded"}}]), id="error-in-band"),
    ],
)
def test_a_broken_stream_is_an_error_and_not_retried(reply: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a chunk has arrived, a stream that breaks is an error, and the request is not made a second time."""
    message, server = fail([reply], monkeypatch)
    assert message.startswith("the answer of gemini-test was cut off: ")
    assert message.endswith("; the part that arrived is not used")
    assert len(server.paths) == 1


def test_malformed_json_at_once_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first chunk that is not JSON is an error that shows it."""
    message, server = fail([Reply(chunks=["{nonsense"])], monkeypatch)
    assert message.startswith("gemini-test gave no answer: ")
    assert "{nonsense" in message
    assert len(server.paths) == 1


def test_an_error_of_the_network_names_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sees where the request went; nothing of its path and query, where a key may stand."""
    with gemini_server([], monkeypatch):
        model = GeminiModel("gemini-test", attempts=1)
    address = os.environ["GOOGLE_GEMINI_BASE_URL"]
    with pytest.raises(ModelError) as caught:
        ask(model)
    assert str(caught.value) == f"gemini-test gave no answer: All connection attempts failed ({address})"


def test_a_base_url_leads_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts more than the variable of the SDK."""
    with gemini_server([Reply(chunks=[FIRST, SECOND])], monkeypatch) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
        assert ask(GeminiModel("gemini-test", base_url=server.url)) == ["Hel", "lo"]


def test_a_slow_first_byte_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the model thinks before its first byte, the answer is waited for and the loop stays free."""
    release = threading.Event()

    async def wait() -> list[str]:
        model = GeminiModel("gemini-test")
        request = GenerateContentParameters(model="gemini-test", contents="Hi")
        stream = model.stream(request)
        first = asyncio.ensure_future(anext(stream))
        await asyncio.to_thread(server.asked.wait, 15)
        assert not first.done()
        release.set()
        texts = [spoken_text(await first), *[spoken_text(chunk) async for chunk in stream]]
        await model.aclose()
        return texts

    with gemini_server([Reply(chunks=[FIRST, SECOND], release=release)], monkeypatch) as server:
        assert asyncio.run(wait()) == ["Hel", "lo"]


def test_a_cancelled_stream_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelling while the model thinks ends the call at once, and no task is left."""
    release = threading.Event()

    async def cancel() -> set[asyncio.Task[Any]]:
        model = GeminiModel("gemini-test")
        request = GenerateContentParameters(model="gemini-test", contents="Hi")
        first = asyncio.ensure_future(anext(model.stream(request)))
        await asyncio.to_thread(server.asked.wait, 15)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        release.set()
        await model.aclose()
        return asyncio.all_tasks() - {asyncio.current_task()}

    with gemini_server([Reply(chunks=[FIRST, SECOND], release=release)], monkeypatch) as server:
        assert asyncio.run(cancel()) == set()


def test_a_blocked_prompt_is_a_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that consists of the reason why there is none has not broken off."""
    texts, _, _ = ask_server([Reply(chunks=[{"promptFeedback": {"blockReason": "SAFETY"}}])], monkeypatch)
    assert texts == [""]


def test_without_a_key_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing key is an error that says which variable to set and how to do without."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError, match="Set GEMINI_API_KEY, or work without a key: --model replay:FILE"):
        GeminiModel(DEFAULT_GEMINI)


def test_usage_and_reason_come_with_the_collected_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server says about cost and ending is there when the chunks are put together."""

    async def stream() -> Any:
        model = GeminiModel("gemini-test")
        request = GenerateContentParameters(model="gemini-test", contents="Hi")
        response = collect([chunk async for chunk in model.stream(request)])
        await model.aclose()
        return response

    with gemini_server([Reply(chunks=[FIRST, says("lo", tokens=12)])], monkeypatch):
        response = asyncio.run(stream())
    assert response.text == "Hello"
    assert response.usage_metadata.total_token_count == 12
    assert response.candidates[0].finish_reason.value == "STOP"
