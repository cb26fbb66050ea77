"""The agent loop: prompt → model → tools → model, until the model is done or hooks end the turn."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import structs

from hookline.apps.agent.approval.approver import Approver, Permissions
from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.conversation.compression import NEARLY_FULL, compressed, cut, estimate_tokens, summary_request
from hookline.apps.agent.conversation.contents import (
    answer_calls,
    function_calls,
    model_content,
    spoken_text,
    user_content,
    why_empty,
)
from hookline.apps.agent.conversation.transcript import PendingTexts, TranscriptWriter
from hookline.apps.agent.events import (
    HistoryCompressed,
    Listener,
    ModelText,
    Notice,
    SessionStarted,
    ToolCallChanged,
    TurnEnded,
)
from hookline.apps.agent.lifecycle import LifecycleHooks, prevented_summary, refused_turn
from hookline.apps.agent.models.client import Model
from hookline.apps.agent.pipeline import ModelCallResult, call_model
from hookline.apps.agent.scheduler import ToolScheduler
from hookline.apps.agent.tool import AgentCall
from hookline.apps.agent.toolbox import ToolBox
from hookline.client.triggers.results import SessionStartHookResult, ToolResult
from hookline.client.triggers.session import fire_session_end_hook
from hookline.errors import TurnLimitError
from hookline.formats.genai import sdk
from hookline.protocol.events import PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.client.config import Config
    from hookline.formats.genai.sdk import Content

DEFAULT_MAX_TURNS = 100

_DRAIN_S = 5.0
_INSTRUCTION = """\
You are a coding agent that works in the project directory {project}. Use the tools to read and change things. When \
you are done, say in a few words what you found or did. When a tool call is refused, do not repeat it: find another \
way, or say why you can't continue."""


@dataclass(slots=True)
class _Turn:
    """The state of the answer to one prompt."""

    model_calls: int = 0
    response: str = ""
    """The last text that was shown to the user."""
    model_text: str = ""
    """The model's last text, shown or not."""
    calls: tuple[AgentCall, ...] = ()

    def ended(self, answer: ModelCallResult, stop: ToolResult | None = None) -> TurnEnded:
        """Return the end of the turn, after this answer of the model or by the stop of a tool hook."""
        return TurnEnded(
            response=self.response,
            blocked=answer.blocked,
            reason=answer.reason,
            stopped=answer.should_stop or stop is not None,
            stop_reason=answer.stop_reason if stop is None else stop.stop_reason,
            decided_by=answer.decided_by if stop is None else stop.decided_by,
            turns=self.model_calls,
            calls=self.calls,
        )


class Agent:
    """One session with a model, its tools and its hooks: `start()`, any number of `run()`, `close()`."""

    def __init__(
        self,
        *,
        config: "Config",
        model: Model,
        toolbox: ToolBox,
        person: Approver | None = None,
        approves_all: bool = False,
        transcript: TranscriptWriter,
        listener: Listener,
        max_turns: int = DEFAULT_MAX_TURNS,
        context_limit: int | None = None,
        history: "Sequence[Content]" = (),
        notes: Sequence[str] = (),
    ) -> None:
        """Set up a session; the caller closes the model.

        `person` asks the user about a tool call; without it, calls that need a yes are refused. `approves_all` allows
        calls without a question, except where a hook asks or a place is protected. `listener` receives the session's
        events. `max_turns` limits the model calls of one prompt, and `context_limit` replaces the model's own limit of
        tokens. `history` is the conversation to continue, and `notes` are hooks' messages to the model that were not
        sent yet.
        """
        # Load the SDK before any hook runs, because it blocks the event loop for half a second.
        sdk.types()
        self._config = config
        self._model = model
        self._toolbox = toolbox
        self._transcript = transcript
        self._listener = listener
        self._max_turns = max_turns
        self._context_limit = context_limit or model.context_limit
        self._history: list[Content] = list(history)
        self._tokens = estimate_tokens(self._history)
        self._pending = PendingTexts(transcript, notes)
        self._why_not_compressed = ""
        self._open_calls: dict[str, AgentCall] = {}
        self._stopped: SessionStartHookResult | None = None
        """The stop of SessionStart hooks; it applies to every prompt of this session."""
        self._background = BackgroundHooks()
        self._hooks = LifecycleHooks(config, self._background)
        self._scheduler = ToolScheduler(
            config=config,
            toolbox=toolbox,
            permissions=Permissions(
                config=config, person=person, approves_all=approves_all, background=self._background
            ),
            on_change=self._call_changed,
        )

    @property
    def history(self) -> "tuple[Content, ...]":
        """Return the conversation so far."""
        return tuple(self._history)

    def start(self, source: SessionStartSource = SessionStartSource.STARTUP) -> None:
        """Start the session, or resume it."""
        own_id, project, model = self._config.get_session_id(), self._config.get_working_dir(), self._model.name
        self._transcript.write("session", id=own_id, project=project, model=model, source=source.value)
        self._listener(SessionStarted(session_id=own_id, transcript_path=str(self._transcript.path), model=model))
        self._hooks.start(source)

    async def run(self, prompt: str) -> TurnEnded:
        """Answer a prompt. Raises ModelError or TurnLimitError; the session remains usable after them."""
        await self._wait_for_start()
        if self._stopped is not None:
            ended = refused_turn(self._stopped)
        else:
            before = await self._hooks.before_agent(prompt)
            self._pending.keep(replace(before, context=None) if before.blocked else before)
            ended = refused_turn(before) if before.blocked else await self._answer(before.prompt or prompt)
        self._listener(ended)
        return ended

    async def _wait_for_start(self) -> None:
        begun = await self._hooks.started()
        self._pending.keep(begun)
        if begun.should_stop:
            self._stopped = begun

    async def _answer(self, prompt: str) -> TurnEnded:
        """Answer the prompt, and continue the turn as long as AfterAgent hooks demand it."""
        turn = _Turn()
        message, rounds = prompt, 0
        while True:
            self._add("user", user_content([message, *self._pending.take()]))
            try:
                ended = await self._converse(turn)
            finally:
                self._answer_open_calls()
            after = await self._hooks.after_agent(prompt, turn.model_text, stop_hook_active=rounds > 0)
            if after.clear_context:
                self._clear_history(after.decided_by)
            self._pending.keep(after)
            if after.should_stop and not ended.stopped:
                return structs.replace(ended, stopped=True, stop_reason=after.stop_reason, decided_by=after.decided_by)
            if not self._hooks.continues(after, ended, rounds, self._listener):
                return ended
            message, rounds = after.reason or "", rounds + 1

    def _clear_history(self, hooks: Sequence[str]) -> None:
        """Clear the conversation for an AfterAgent hook."""
        self._history.clear()
        self._tokens = 0
        self._transcript.write("compression", trigger="hook", history=[])
        self._listener(Notice(text=f"{' and '.join(hooks) or 'A hook'} cleared the conversation."))

    async def compress(self, trigger: PreCompressTrigger = PreCompressTrigger.MANUAL) -> ModelCallResult | None:
        """Replace the beginning of the history with a summary by the model. Return None if it is too short."""
        end = cut(self._history)
        if end is None:
            self._listener(Notice(text="There is nothing to compress yet."))
            return None
        await self._wait_for_start()
        if self._stopped is not None:
            return prevented_summary(self._stopped)
        hooks = await self._hooks.pre_compress(trigger)
        self._pending.keep_note(hooks.system_message)
        if hooks.blocked:
            why = f"{hooks.reason} (blocked by {' and '.join(hooks.decided_by)})"
            return self._not_compressed(prevented_summary(hooks), why, trigger)
        before = self._tokens
        request = summary_request(self._model.name, self._history[:end], hooks.context)
        answer = await call_model(self._config, self._model, request)
        self._pending.keep_note(answer.note)
        summary = spoken_text(answer.response) if answer.response is not None else ""
        if answer.should_stop or not summary:
            why = f"the model was not called: {answer.reason}" if answer.blocked else "the model wrote no summary."
            return self._not_compressed(answer, why, trigger)
        begun = await self._hooks.compressed()
        self._pending.keep_note(begun.system_message)
        contexts = [text for text in (hooks.context, begun.context) if text]
        self._history = compressed(summary, self._history[end:], contexts)
        self._tokens = estimate_tokens(self._history)
        self._transcript.write("compression", trigger=trigger.value, history=self._history)
        self._listener(HistoryCompressed(trigger=trigger.value, before_tokens=before, after_tokens=self._tokens))
        if begun.should_stop:
            self._stopped = begun
            return replace(answer, should_stop=True, stop_reason=begun.stop_reason, decided_by=begun.decided_by)
        return answer

    def _not_compressed(self, answer: ModelCallResult, why: str, trigger: PreCompressTrigger) -> ModelCallResult:
        # This is repeated before every model call; the same reason is reported once.
        if trigger is PreCompressTrigger.MANUAL or why != self._why_not_compressed:
            self._listener(Notice(text=f"The history was not compressed: {why}"))
        self._why_not_compressed = why
        return answer

    async def close(self, reason: SessionEndReason = SessionEndReason.EXIT) -> None:
        """End the session; running hooks get a bounded time to finish."""
        self._background.spawn(fire_session_end_hook(self._config, reason))
        await self._end(reason, _DRAIN_S)

    async def abandon(self) -> None:
        """End the session: kill running hooks and start no others."""
        await self._end(SessionEndReason.OTHER, 0)

    async def _end(self, reason: SessionEndReason, drain_s: float) -> None:
        await self._background.drain(drain_s)
        self._transcript.write("end", reason=reason.value)
        if (system := self._config.get_hook_system()) is not None:
            system.dispose()

    async def _converse(self, turn: _Turn) -> TurnEnded:
        while turn.model_calls < self._max_turns:
            if self._tokens >= NEARLY_FULL * self._context_limit:
                summary = await self.compress(PreCompressTrigger.AUTO)
                if summary is not None and summary.should_stop:
                    return turn.ended(summary)
            answer = await call_model(self._config, self._model, self._request(), listener=self._listener)
            content = self._record_answer(answer, turn)
            calls = function_calls(content, os.urandom(4).hex())
            if answer.should_stop or not calls:
                return turn.ended(answer)
            self._open_calls = {call.id: call for call in calls}
            done = await self._scheduler.run(calls, allowed=answer.allowed, restricted_by=answer.restricted_by)
            turn.calls += tuple(done)
            self._answer_open_calls()
            stop = next((call.result for call in done if call.result is not None and call.result.should_stop), None)
            if stop is not None:
                return turn.ended(answer, stop)
        raise TurnLimitError(self._max_turns)

    def _request(self) -> GenerateContentParameters:
        types = sdk.types()
        declarations = self._toolbox.declarations()
        tools = [types.Tool(function_declarations=declarations)] if declarations else None
        instruction = _INSTRUCTION.format(project=self._config.get_working_dir())
        config = types.GenerateContentConfig(system_instruction=instruction, tools=tools)
        return GenerateContentParameters(model=self._model.name, contents=list(self._history), config=config)

    def _record_answer(self, answer: ModelCallResult, turn: _Turn) -> "Content | None":
        """Show the model's answer, add it to the history and return it; None if it is empty."""
        turn.model_calls += 1
        self._pending.keep_note(answer.note)
        if answer.response is None:
            return None
        turn.response, turn.model_text = answer.shown, spoken_text(answer.response)
        if answer.shown:
            self._listener(ModelText(text="" if answer.was_streamed else answer.shown))
        content = model_content(answer.response)
        if content is not None:
            # A resumed session shows its last answer again, except one that hooks hid.
            is_hidden = bool(turn.model_text) and not answer.shown
            self._add("model", content, **({"hidden": True} if is_hidden else {}))
        elif (reason := why_empty(answer.response)) is not None:
            self._listener(Notice(text=f"The model gave no answer: {reason}."))
        usage = answer.response.usage_metadata
        if usage is not None and usage.total_token_count:
            self._tokens = usage.total_token_count
        return content

    def _answer_open_calls(self) -> None:
        """Add the results of the model's calls to the history; the API rejects a history without them."""
        calls, self._open_calls = tuple(self._open_calls.values()), {}
        if calls:
            for call in calls:
                result = call.result and call.result.to_tool_response()
                facts = {"id": call.id, "name": call.name, "input": call.arguments, "status": call.status.value}
                self._transcript.write("tool", **facts, result=result)
            self._add("tool_results", answer_calls(self._history[-1], calls, self._pending.take()))

    def _add(self, kind: str, content: "Content", **facts: bool) -> None:
        self._history.append(content)
        self._tokens += estimate_tokens([content])
        self._transcript.write(kind, content=content, **facts)

    def _call_changed(self, call: AgentCall) -> None:
        self._open_calls[call.id] = call
        self._listener(ToolCallChanged(call=call))
