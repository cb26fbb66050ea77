"""The model of an agent of OpenAI's Agents SDK, between its hooks."""

import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from agents import Model, ModelProvider, ModelResponse, Usage
from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types import responses as events

from hookline.adapters._run import AgentRun, Said
from hookline.errors import AgentStoppedError
from hookline.formats.native import kind_of, with_fields
from hookline.hooks import Hooks

_WORDS = (None, "auto", "required", "none")


@dataclass(slots=True, eq=False)
class ModelRun(AgentRun):
    """One agent in one run."""

    is_asked: bool = False
    """Whether its model was asked in this turn."""
    agents: Mapping[str, "ModelRun"] = field(default_factory=dict)
    """All agents of the run, by their names."""

    def end_all(self) -> None:
        """The run has ended: no agent of it makes another request."""
        for one in (self, *self.agents.values()):
            one.end()


CURRENT: ContextVar[ModelRun | None] = ContextVar("hookline_agent_run", default=None)
"""The agent whose turn it is, for its model, which the SDK tells nothing about the run."""


@dataclass(slots=True)
class _Request:
    """What the SDK calls a model with."""

    system_instructions: str | None
    input: Any
    model_settings: Any
    tools: list[Any]
    output_schema: Any
    handoffs: list[Any]
    tracing: Any

    def arguments(self) -> tuple[Any, ...]:
        """In the order of the SDK."""
        return tuple(getattr(self, one.name) for one in dataclasses.fields(self))


class HookedModel(Model):
    """A model that asks hooks before and after each call."""

    def __init__(self, inner: Any, hooks: Hooks, provider: ModelProvider, new_run: Callable[[], ModelRun]) -> None:
        self.inner = inner
        self._hooks = hooks
        self._provider = provider
        self._new_run = new_run

    @property
    def _model(self) -> Any:
        if not isinstance(self.inner, Model):
            self.inner = self._provider.get_model(self.inner)
        return self.inner

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        """The model's response, as hooks leave it, or the one in its place."""
        run, request, others = self._run(), *_split(given, named)
        if (ended := await self._before(run, request)) is not None:
            return ended
        response = await self._model.get_response(*request.arguments(), **others)
        changed: ModelResponse = await self._after(run, request, response)
        return changed

    async def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        """The events of the response; while AfterModel hooks exist, those of the whole response as they left it."""
        if self._hooks.must_hold_stream:
            for event in _events(await self.get_response(*given, **named)):
                yield event
            return
        run, request, others = self._run(), *_split(given, named)
        if (ended := await self._before(run, request)) is not None:
            for event in _events(ended):
                yield event
            return
        async for event in self._model.stream_response(*request.arguments(), **others):
            if event.type == "response.completed":
                event.response = await self._after(run, request, event.response)
            yield event

    def get_retry_advice(self, request: Any) -> Any:
        """The model's own."""
        return self._model.get_retry_advice(request)

    async def close(self) -> None:
        """Closes the model."""
        if isinstance(self.inner, Model):
            await self.inner.close()

    async def _cleanup_on_run_end(self, owner: object) -> None:
        if isinstance(self.inner, Model):
            await self.inner._cleanup_on_run_end(owner)  # noqa: SLF001 - the SDK calls it on models, and this one stands for another

    def _run(self) -> ModelRun:
        run = CURRENT.get() or self._new_run()
        run.is_asked = True
        return run

    async def _before(self, run: ModelRun, request: _Request) -> ModelResponse | None:
        """Changes the request as hooks want it, or returns the response in place of the model's."""
        native = self._native(request)
        wanted = await run.before_model(native, [tool["name"] for tool in native["tools"]])
        if isinstance(wanted, Said):
            return _said(wanted, request)
        if wanted is not native:
            _put(wanted, native, request)
        return None

    async def _after(self, run: ModelRun, request: _Request, response: Any) -> Any:
        native = {"output": response.output, "usage": response.usage}
        answer = await run.after_model(native)
        if answer is native:
            return response
        output = _said(answer, request).output if isinstance(answer, Said) else [_item(one) for one in answer["output"]]
        return with_fields(response, output=output)

    def _native(self, request: _Request) -> dict[str, Any]:
        settings, choice = request.model_settings, request.model_settings.tool_choice
        names = [tool.name for tool in request.tools] + [one.tool_name for one in request.handoffs]
        return {
            "model": str(getattr(self._model, "model", "")),
            "instructions": request.system_instructions,
            "input": request.input,
            "tools": [{"type": "function", "name": name} for name in names],
            "tool_choice": choice if choice in _WORDS else {"type": "function", "name": str(choice)},
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_output_tokens": settings.max_tokens,
        }


def _put(wanted: Mapping[str, Any], native: Mapping[str, Any], request: _Request) -> None:
    request.system_instructions, request.input = wanted.get("instructions"), wanted["input"]
    left = {tool["name"] for tool in wanted["tools"]}
    request.tools = [tool for tool in request.tools if tool.name in left]
    request.handoffs = [one for one in request.handoffs if one.tool_name in left]
    names = {"temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_tokens"}
    changes = {ours: wanted.get(key) for key, ours in names.items() if wanted.get(key) != native.get(key)}
    if wanted.get("tool_choice") != native["tool_choice"]:
        changes["tool_choice"] = wanted.get("tool_choice")
    if changes:
        request.model_settings = dataclasses.replace(request.model_settings, **changes)


def _split(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[_Request, dict[str, Any]]:
    own = [one.name for one in dataclasses.fields(_Request)]
    request = _Request(*given, **{name: named[name] for name in own if name in named})
    return request, {name: value for name, value in named.items() if name not in own}


def _said(said: Said, request: _Request) -> ModelResponse:
    schema = request.output_schema
    if not said.is_answer and schema is not None and not schema.is_plain_text():
        raise AgentStoppedError(said.text)
    return ModelResponse(output=[_message(said.text)], usage=Usage(), response_id=None)


def _message(text: str) -> Any:
    part = events.ResponseOutputText(type="output_text", text=text, annotations=[])
    return events.ResponseOutputMessage(
        id=FAKE_RESPONSES_ID, type="message", role="assistant", status="completed", content=[part]
    )


def _item(item: Any) -> Any:
    """The item; a message that hooks added is JSON."""
    return _message(item["content"][0]["text"]) if isinstance(item, dict) else item


def _events(response: ModelResponse) -> Iterator[Any]:
    """A stream of a whole response."""
    number = iter(range(1_000_000))
    for index, item in enumerate(response.output):
        yield events.ResponseOutputItemAddedEvent(
            type="response.output_item.added", item=item, output_index=index, sequence_number=next(number)
        )
        parts = item.content if kind_of(item) == "message" else ()
        for place, part in enumerate(parts):
            if kind_of(part) == "output_text":
                yield events.ResponseTextDeltaEvent(
                    type="response.output_text.delta",
                    item_id=item.id,
                    content_index=place,
                    delta=part.text,
                    logprobs=[],
                    output_index=index,
                    sequence_number=next(number),
                )
        yield events.ResponseOutputItemDoneEvent(
            type="response.output_item.done", item=item, output_index=index, sequence_number=next(number)
        )
    whole = events.Response.model_construct(
        id=response.response_id or FAKE_RESPONSES_ID,
        created_at=0,
        model="",
        object="response",
        output=list(response.output),
        tool_choice="auto",
        tools=[],
        parallel_tool_calls=False,
        status="completed",
        usage=_usage(response.usage),
    )
    yield events.ResponseCompletedEvent.model_construct(
        type="response.completed", response=whole, sequence_number=next(number)
    )


def _usage(usage: Usage) -> Any:
    if not usage.requests and not usage.total_tokens:
        return None
    return events.ResponseUsage.model_construct(
        input_tokens=usage.input_tokens,
        input_tokens_details=usage.input_tokens_details,
        output_tokens=usage.output_tokens,
        output_tokens_details=usage.output_tokens_details,
        total_tokens=usage.total_tokens,
    )
