"""The table of effects, run with a correct loop, and with loops that each do one thing wrong."""

import asyncio
import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks, LLMRequest, Session
from hookline.adapters.table import EVENTS, EffectName, report_inabilities
from hookline.errors import HooklineError
from hookline.protocol.llm import LLMMessage
from hookline.testing import effects
from hookline.testing.effects import Conversation, Request, RunOutcome, Turn


@dataclass
class LoopHost:
    """A loop on the neutral API; `faults` are the steps that it leaves out."""

    faults: frozenset[str] = frozenset()
    cannot: Mapping[str, str] = field(default_factory=dict)
    streams: bool = False
    tool_name: Callable[[str], str] = str

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> RunOutcome:
        """The conversation in this loop."""
        report_inabilities(hooks, "the loop", self.cannot)
        loop = _Loop(hooks.session(), conversation, {self.tool_name(tool.__name__): tool for tool in tools}, self)
        while await loop.turn():
            pass
        return RunOutcome(shown=tuple(loop.shown), requests=tuple(loop.requests))


class _Loop:
    def __init__(self, session: Session, said: Conversation, tools: dict[str, Any], host: LoopHost) -> None:
        self.session, self.tools, self.host, self.turns = session, tools, host, iter(said.turns)
        self.messages: list[LLMMessage] = [
            {"role": "system", "content": said.system},
            {"role": "user", "content": said.prompt},
        ]
        self.results: list[str] = []
        self.shown: list[str] = []
        self.requests: list[Request] = []

    async def turn(self) -> bool:
        """One model call and its tool call; False at the end."""
        request: LLMRequest = {"model": "m", "messages": list(self.messages), "config": {}}
        chosen = await self.session.select_tools(request, self.tools)
        if chosen.stop and self._does("stop: BeforeToolSelection"):
            return self._end(chosen.stop_reason)
        gate = await self.session.before_model(request)
        if gate.blocked and self._does("stop: BeforeModel" if gate.stop else "synthetic response"):
            return self._end(gate.stop_reason or (gate.response or {}).get("text") or gate.reason)
        answer = self._ask(gate.request if self._does("request rewrite") else request, chosen.allowed)
        after = await self.session.after_model(request, {"text": answer.text})
        if after.stop and self._does("stop: AfterModel"):
            return self._end(after.stop_reason)
        text = after.text if after.text is not None and self._does("response redaction") else answer.text
        self.shown += [text] if text else []
        self.messages += [{"role": "model", "content": text}] if text else []
        return answer.call is not None and await self._call(*answer.call)

    def _ask(self, request: LLMRequest, allowed: tuple[str, ...]) -> Turn:
        offered = allowed if self._does("offer") else tuple(self.tools)
        texts = tuple(message["content"] for message in request["messages"])
        self.requests.append(Request(texts=texts, results=tuple(self.results), tools=offered))
        answer = next(self.turns)
        self.shown += [answer.text[:8], answer.text[8:]] if self.host.streams else []
        return answer

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> bool:
        call = await self.session.before_tool(name, arguments)
        if call.stop and self._does("stop: BeforeTool"):
            return self._end(call.stop_reason)
        is_refused = call.blocked and self._does("tool restriction" if "restricted" in str(call.reason) else "deny")
        if is_refused:
            self.results.append(call.refusal.llm_content)
            return True
        given = call.arguments if self._does("input rewrite") else dict(arguments)
        output = self.tools[name](**given)
        result = await self.session.after_tool(call, output)
        self.results.append(result.llm_content if self._does("context") else output)
        if result.should_stop and self._does("stop: AfterTool"):
            return self._end(result.stop_reason)
        return True

    def _does(self, step: str) -> bool:
        return step not in self.host.faults

    def _end(self, text: str | None) -> bool:
        self.shown.append(text or "")
        return False


def check(effect: effects.Effect, host: effects.Host, cannot: Mapping[str, str] | None = None) -> None:
    asyncio.run(effects.check(host, effect, cannot=cannot))


@pytest.mark.parametrize("effect", [effects.NO_HOOKS, *effects.EFFECTS, effects.NO_LEAK], ids=str)
def test_a_loop_on_the_neutral_api_has_every_effect(effect: effects.Effect) -> None:
    """The table holds for a loop that does everything right."""
    check(effect, LoopHost())


@pytest.mark.parametrize("name", ["no hooks", "deny", "input rewrite", "tool restriction"])
def test_a_host_may_know_its_tools_by_other_names(name: str) -> None:
    """Matchers, calls and offers have the host's names."""
    named = "mcp__files__{}".format
    (row,) = (row for row in effects.ROWS if row.name == name)
    asyncio.run(effects.check(LoopHost(tool_name=named), row, tool_name=named))


def test_the_example_of_an_adapter_passes_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """An adapter of one's own is proven by the same rows, those that it declares as impossible included."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "own_adapter.py"))
    asyncio.run(example["main"]())
    printed = capsys.readouterr().out.splitlines()
    assert printed[:4] == ["no hooks: holds", "deny: holds", "input rewrite: holds", "context: holds"]
    assert printed[4:] == [
        *(f"{name}: impossible, and reported" for name in list(EffectName)[3:7]),
        "stop: holds",
    ]


def test_the_table_has_a_row_for_every_effect() -> None:
    """The eight effects are the rows, and every event of an effect has a case."""
    assert [effect.name for effect in effects.EFFECTS] == list(EffectName)
    for effect in effects.EFFECTS:
        assert {case.event for case in effect.cases} == set(EVENTS[EffectName(effect.name)])


FAULTS = [
    *(name for name in EffectName if name is not EffectName.STOP),
    *(f"stop: {event}" for event in EVENTS[EffectName.STOP]),
]
ROWS = {effect.name: effect for effect in effects.EFFECTS}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_loop_without_an_effect_fails(fault: str) -> None:
    """The row of an effect, and only that row, fails for a host that leaves the effect out."""
    host = LoopHost(faults=frozenset({fault}))
    with pytest.raises(AssertionError, match=fault.partition(": ")[0]):
        check(ROWS[fault.partition(": ")[0]], host)
    check(ROWS["context" if fault != "context" else "deny"], host)


def test_restricting_the_offer_alone_or_the_call_alone_fails() -> None:
    """A restriction holds for what is offered and for what is called."""
    with pytest.raises(AssertionError, match="only write_file may be offered"):
        check(ROWS["tool restriction"], LoopHost(faults=frozenset({"offer"})))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_declared_inability_is_accepted_when_it_is_real_and_said(fault: str) -> None:
    """An effect that a host can't apply is declared and reported, and then the row passes."""
    cannot = {fault: "for a test"}
    check(ROWS[fault.partition(": ")[0]], LoopHost(faults=frozenset({fault}), cannot=cannot), cannot)


def test_a_declared_inability_must_be_real() -> None:
    """A host that can do it after all has to remove its declaration."""
    with pytest.raises(AssertionError, match="deny, exit code 2: declared as impossible, but it holds"):
        check(ROWS["deny"], LoopHost(cannot={"deny": "no"}), {"deny": "no"})


def test_a_declared_inability_must_be_said() -> None:
    """A hook without effect is reported, or the user who configured it would not know."""
    with pytest.raises(AssertionError, match="it has no effect, and nothing on stderr says so"):
        check(ROWS["deny"], LoopHost(faults=frozenset({"deny"})), {"deny": "no"})


@pytest.mark.parametrize("key", ["denial", "deny: AfterTool"])
def test_a_declaration_must_name_an_effect(key: str) -> None:
    """A misspelled declaration is an error."""
    with pytest.raises(ValueError, match=r"denial|is no inability"):
        check(ROWS["deny"], LoopHost(), {key: "no"})


def test_a_stream_that_leaks_fails() -> None:
    """Text that is shown before AfterModel hooks have answered is a leak, in whichever pieces it is shown."""
    with pytest.raises(AssertionError, match="the user must not see the text that the hook redacts"):
        check(effects.NO_LEAK, LoopHost(streams=True))


class Refusing:
    """A host that does not stream while AfterModel hooks exist."""

    async def run(self, *_given: object) -> RunOutcome:
        """Refuses."""
        raise HooklineError("no streams while AfterModel hooks exist")


def test_a_stream_may_be_refused() -> None:
    """A clear error leaks nothing; it is not a redaction, though."""
    check(effects.NO_LEAK, Refusing())
    with pytest.raises(AssertionError, match="the host refuses: no streams"):
        check(ROWS["response redaction"], Refusing())
    check(ROWS["response redaction"], Refusing(), {"response redaction": "for a test"})
