"""The tools that BeforeToolSelection left: later events narrow that choice, and a call of another tool is refused."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import msgspec

from hookline.engine.merge import unite_tools
from hookline.formats.hook_format import normalize_llm_request, read_tool_config
from hookline.protocol.answers import TOOL_MODES, HookAnswer, ToolSelection, or_none
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import Verdict

Config = Mapping[str, Any]


class ToolLimit(msgspec.Struct, frozen=True):
    """The choice of one layer."""

    rank: int
    tools: ToolSelection


limits_in_force: ContextVar[tuple[ToolLimit, ...]] = ContextVar("limits_in_force", default=())
"""The limits that hooks of the current event can't widen."""


class KeptSelection(msgspec.Struct, frozen=True):
    """A choice of tools as it is kept between processes; without content while no tool is ruled out."""

    layers: tuple[ToolLimit, ...] = ()
    request: dict[str, Any] = {}
    """The `toolConfig` that BeforeModel hooks asked for."""
    by: tuple[str, ...] = ()


class ToolLimits:
    """The choice of tools in one conversation, from one BeforeToolSelection event to the next.

    `selects_last` is for agents that fire BeforeModel first and BeforeToolSelection then: there, both choices bind.
    `names` are further names of the one tool that can be called.
    """

    __slots__ = ("_by", "_config", "_layers", "_names", "_request", "_selects_last")

    def __init__(
        self, kept: KeptSelection | None = None, names: tuple[str, ...] = (), *, selects_last: bool = False
    ) -> None:
        kept = kept or KeptSelection()
        self._names = names
        self._selects_last = selects_last
        self._layers = kept.layers
        self._request: Config = kept.request
        self._by = kept.by
        self._config: Config = narrow(kept.request, kept.layers)

    @property
    def kept(self) -> KeptSelection:
        """The choice as it is kept; only for `selects_last`."""
        return KeptSelection(self._layers, dict(self._request), self._by)

    @property
    def by(self) -> tuple[str, ...]:
        """The hooks that made the choice."""
        return self._by

    @property
    def layers(self) -> tuple[ToolLimit, ...]:
        """The choice of each layer."""
        return self._layers

    @property
    def before_model(self) -> tuple[ToolLimit, ...]:
        """The choices that BeforeModel hooks can't widen; those of an earlier model call are over by then."""
        return () if self._selects_last else self._layers

    def set(self, layers: tuple[ToolLimit, ...], by: tuple[str, ...] = ()) -> None:
        """Replaces the choice; `by` are the hooks that made it."""
        self._layers, self._by = layers, by
        self._config = narrow(self._request, layers)

    def follow(self, verdict: Verdict) -> None:
        """Takes over what an event decided."""
        if verdict.event is HookEventName.BEFORE_TOOL_SELECTION:
            earlier = self._by if self._request else ()
            self.set(layers_of(verdict), tuple(dict.fromkeys((*earlier, *_choosers(verdict)))))
        elif verdict.event is HookEventName.BEFORE_MODEL and not verdict.blocked:
            changes = None if verdict.answer is None else or_none(verdict.answer.llm_request)
            is_chosen = verdict.request is not None and changes is not None and "toolConfig" in changes
            chosen = (verdict.request or {}).get("toolConfig") or {}
            if self._selects_last:
                self._request = chosen if is_chosen else {}
            self._config = chosen if is_chosen and not self._selects_last else narrow(self._request, self._layers)
            if any("toolConfig" in path for path in verdict.holders):
                self._by = _choosers(verdict) or self._by

    def why_refused(self, tool: str) -> str | None:
        """Why a tool can't be called now, or None."""
        if any(permits(self._config, name) for name in (tool, *self._names)):
            return None
        by = f" by {', '.join(self._by)}" if self._by else ""
        return f"{tool} is not allowed now: the tools were restricted{by}."


def permits(config: Config, tool: str) -> bool:
    """Whether a choice of tools in hook form lets the model call this one."""
    names = config.get("allowedFunctionNames")
    return config.get("mode") != "NONE" and (names is None or tool in names)


def layers_of(verdict: Verdict) -> tuple[ToolLimit, ...]:
    """The choice that the hooks of each layer made together, the least trusted layer first."""
    by_rank: dict[int, list[ToolSelection]] = {}
    for run in verdict.runs:
        tools = None if run.answer is None or not run.hook.is_enforced else or_none(run.answer.tools)
        if tools is not None:
            by_rank.setdefault(run.hook.rank, []).append(tools)
    return tuple(
        ToolLimit(rank, unite_tools([(rank, one) for one in given])) for rank, given in sorted(by_rank.items())
    )


def keep_within_limits(
    wanted: dict[str, Any], hook_input: Mapping[str, Any], answers: Sequence[HookAnswer]
) -> dict[str, Any]:
    """The request that BeforeModel hooks ask for, with no more tools than the layers that they can't overrule left."""
    limits = limits_in_force.get()
    if not limits or wanted.get("toolConfig") == hook_input.get("toolConfig"):
        return wanted
    narrowed = narrow(wanted.get("toolConfig") or {}, [_unlifted(limit, answers) for limit in limits])
    return {**wanted, "toolConfig": narrowed}


def narrowed_answer(answer: HookAnswer, request: Mapping[str, Any]) -> HookAnswer:
    """The merged answer with the choice of tools of the request that it led to, for callers that lay it over theirs."""
    changes = or_none(answer.llm_request)
    if changes is None or not limits_in_force.get() or "toolConfig" not in changes:
        return answer
    chosen = {"mode": None, "allowedFunctionNames": None, **(request.get("toolConfig") or {})}
    return msgspec.structs.replace(answer, llm_request={**changes, "toolConfig": chosen})


def narrow(config: Config, limits: Sequence[ToolLimit]) -> dict[str, Any]:
    """A choice of tools within limits: the strictest mode, and the names that all of them have."""
    modes = [mode for mode in (config.get("mode"), *(limit.tools.mode for limit in limits)) if mode in TOOL_MODES]
    lists = [config.get("allowedFunctionNames"), *(limit.tools.names for limit in limits)]
    named = [names for names in lists if names is not None]
    mode = max(modes, key=TOOL_MODES.index, default=None)
    common = [name for name in named[0] if all(name in names for names in named)] if named else None
    if mode == "NONE" or common == []:
        return {"mode": "NONE"}
    return {
        **({} if mode is None else {"mode": mode}),
        **({} if common is None else {"allowedFunctionNames": common}),
    }


def _unlifted(limit: ToolLimit, answers: Sequence[HookAnswer]) -> ToolLimit:
    """Return what is left of a layer's choice, key by key, after more trusted layers have chosen."""
    lifted = {name for answer in answers if answer.rank > limit.rank for name in _chosen(answer)}
    if not lifted:
        return limit
    mode = None if "mode" in lifted else limit.tools.mode
    # NONE has no list, so a list allows what NONE forbids only together with a mode.
    is_named = limit.tools.mode != "NONE" and "allowedFunctionNames" not in lifted
    return ToolLimit(limit.rank, ToolSelection(mode=mode, names=limit.tools.names if is_named else None))


def _chosen(answer: HookAnswer) -> Config:
    request = or_none(answer.llm_request)
    return {} if request is None else read_tool_config(normalize_llm_request(request).get("toolConfig")) or {}


def _choosers(verdict: Verdict) -> tuple[str, ...]:
    chosen = (hooks for path, hooks in verdict.decided_by.items() if "toolConfig" in path.split("."))
    return tuple(dict.fromkeys(hook for hooks in chosen for hook in hooks))
