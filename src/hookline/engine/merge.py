"""Several answers → one. Each rule takes the answers in plan order.

A less trusted layer can add a block, a stop or a restriction, and replaces nothing that a more trusted layer answered.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from hookline.formats.hook_format import merge_llm_requests, normalize_llm_request
from hookline.protocol.answers import ANY_FIELD, PATHS, TOOL_MODES, HookAnswer, ToolSelection, or_none, read_object
from hookline.protocol.events import BLOCKING_DECISIONS, HookEventName

Answers = Sequence[HookAnswer]


class Merged(msgspec.Struct, frozen=True):
    """The merged answer, and which answer each of its values is from."""

    answer: HookAnswer
    holders: dict[str, tuple[int, ...]]
    """For each field, by its path in the JSON, the positions of the answers with its value."""
    overridden: tuple[tuple[str, int, int], ...] = ()
    """Each block or stop that was undone: the field, the answer that undid it, and the answer that had it."""


Rule = Callable[[Answers], Merged]


def merge_or_decision(answers: Answers) -> Merged:
    """Any block blocks, any stop stops, any suppression suppresses; texts are joined, the rest is replaced by key."""
    if len(answers) == 1 and (given := answers[0].given) is not None and not given.get("hookSpecificOutput"):
        return _alone(answers[0])
    draft = _Draft()
    blocking = [index for index, answer in enumerate(answers) if answer.blocks]
    _merge_stops(draft, answers)
    draft.set("suppress", any(answer.suppress is True for answer in answers), _saying_true(answers, "suppress"))
    if blocking:
        draft.set("decision", _blocking_word(answers[blocking[-1]]), blocking)
    elif draft.fields["proceed"]:
        draft.set("decision", "allow", [index for index, answer in enumerate(answers) if or_none(answer.decision)])
    draft.join("reason", enumerate(map(_reason, answers)))
    draft.join("note", ((index, or_none(answer.note)) for index, answer in enumerate(answers)))
    _join_user_notes(draft, answers)
    _merge_specific(draft, answers)
    return draft.merged()


def _alone(answer: HookAnswer) -> Merged:
    """The same rule for the only answer there is, and one with common fields only: as most events have it."""
    denies = answer.decision in BLOCKING_DECISIONS
    stops = answer.proceed is False
    reason = answer.reason or (answer.stop_reason if denies and not stops else None) or UNSET
    merged = HookAnswer(
        decision=answer.decision if denies else UNSET if stops else "allow",
        reason=reason,
        proceed=not stops,
        stop_reason=(answer.stop_reason or UNSET) if stops else UNSET,
        suppress=answer.suppress is True,
        note=answer.note or UNSET,
        user_note=answer.user_note or UNSET,
    )
    given = {
        "decision": answer.decision and not (stops and not denies),
        "reason": merged.reason,
        "continue": answer.proceed is not UNSET and answer.proceed is not None,
        "stopReason": merged.stop_reason,
        "suppressOutput": answer.suppress is True,
        "systemMessage": merged.note,
        "userMessage": merged.user_note,
    }
    return Merged(merged, {path: (0,) for path in given if given[path]})


def _blocking_word(answer: HookAnswer) -> str:
    # A deny that was given in the compatibility field only is passed on in the ordinary one.
    return str(answer.decision) if answer.decision in BLOCKING_DECISIONS else "deny"


def merge_field_replacement(answers: Answers) -> Merged:
    """A later hook's explicit value replaces an earlier one, even a block, of the same or a less trusted layer."""
    draft = _Draft()
    for index, answer in enumerate(answers):
        if not answer.is_explicit:
            # Notes that the engine derives from plain text or from a failure are added, and replace nothing.
            draft.fields.setdefault("decision", answer.decision)
            continue
        for name in _REPLACED:
            value = getattr(answer, name)
            if value is not UNSET:
                draft.replace(name, value, index, answer.rank)
        draft.others |= answer.others
        draft.other_specific |= answer.other_specific
    _merge_changes(draft, "llm_request", answers)
    _join_user_notes(draft, answers)
    derived = [(index, or_none(answer.note)) for index, answer in enumerate(answers) if not answer.is_explicit]
    if derived:
        kept = [(holder, or_none(draft.fields.get("note"))) for holder in draft.holders.get("note", ())]
        draft.join("note", sorted(kept + derived))
    return draft.merged()


def merge_tool_selection(answers: Answers) -> Merged:
    """Allow-lists are united and the most restrictive mode wins; stops and messages are kept as on tool events."""
    draft = _Draft()
    _merge_stops(draft, answers)
    if not draft.fields["proceed"]:
        draft.join("reason", ((index, or_none(answer.reason)) for index, answer in enumerate(answers) if answer.stops))
    draft.join("note", ((index, or_none(answer.note)) for index, answer in enumerate(answers)))
    _join_user_notes(draft, answers)
    given = [(answer.rank, tools) for answer in answers if (tools := or_none(answer.tools)) is not None]
    if given:
        draft.set("tools", unite_tools(given), [index for index, answer in enumerate(answers) if or_none(answer.tools)])
        draft.other_specific["hookEventName"] = HookEventName.BEFORE_TOOL_SELECTION.value
    return draft.merged()


def merge_last_wins(answers: Answers) -> Merged:
    """Later fields replace earlier ones, values as they are; what the engine made is only added."""
    given: dict[str, Any] = {}
    holders: dict[str, tuple[int, ...]] = {}
    for index, answer in enumerate(answers):
        fields = answer.to_dict()
        if not answer.is_explicit:
            fields = {name: value for name, value in fields.items() if name not in given}
        given |= fields
        holders |= dict.fromkeys(fields, (index,))
    if notes := [note for answer in answers if (note := or_none(answer.user_note))]:
        given["userMessage"] = "\n".join(notes)
    return Merged(read_object(given, ANY_FIELD), holders)


class _Draft:
    """A merged answer in the making: its fields, and whose value each of them has."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.holders: dict[str, list[int]] = {}
        self.others: dict[str, Any] = {}
        self.other_specific: dict[str, Any] = {}
        self._ranks: dict[str, int] = {}
        self._overridden: list[tuple[str, int, int]] = []

    def set(self, name: str, value: Any, holders: Iterable[int]) -> None:
        self.fields[name] = value
        self.holders[name] = list(holders)

    def join(self, name: str, texts: Iterable[tuple[int, str | None]]) -> None:
        """Joins the texts that are there, one a line."""
        joined = [(index, text) for index, text in texts if text]
        if joined:
            self.set(name, "\n".join(text for _, text in joined), (index for index, _ in joined))

    def replace(self, name: str, value: Any, index: int, rank: int) -> None:
        """Puts a later value in the place of an earlier one, unless that is a more trusted layer's."""
        guards = name in _GUARDS and value in _GUARDS[name]
        if rank < self._ranks.get(name, rank) and not guards:
            return
        if not guards and name != "permission" and self.fields.get(name, UNSET) in _GUARDS.get(name, ()):
            self._overridden.append((name, index, self.holders[name][-1]))
        self.set(name, value, [index])
        self._ranks[name] = max(rank, self._ranks.get(name, rank)) if guards else rank

    def merged(self) -> Merged:
        answer = HookAnswer(**self.fields, others=self.others, other_specific=self.other_specific)
        holders = {PATHS.get(name, name): tuple(held) for name, held in self.holders.items() if held}
        overridden = tuple((PATHS[name], by, of) for name, by, of in self._overridden)
        return Merged(answer, holders, overridden)


def _merge_stops(draft: _Draft, answers: Answers) -> None:
    stopping = [index for index, answer in enumerate(answers) if answer.stops]
    draft.set("proceed", not stopping, stopping or _saying_true(answers, "proceed"))
    draft.join("stop_reason", ((index, or_none(answers[index].stop_reason)) for index in stopping))


def _join_user_notes(draft: _Draft, answers: Answers) -> None:
    draft.join("user_note", ((index, or_none(answer.user_note)) for index, answer in enumerate(answers)))


def _reason(answer: HookAnswer) -> str | None:
    """The reason of an answer; for a block also if it is given as the stop reason."""
    if or_none(answer.reason) or not answer.blocks or or_none(answer.permission_reason) or answer.stops:
        return or_none(answer.reason)
    return or_none(answer.stop_reason)


def _merge_specific(draft: _Draft, answers: Answers) -> None:
    for index, answer in enumerate(answers):
        draft.other_specific |= answer.other_specific
        for name in _SPECIFIC:
            if getattr(answer, name) is not UNSET:
                draft.replace(name, getattr(answer, name), index, answer.rank)
    _merge_changes(draft, "tool_input", answers)
    draft.join("context", ((index, or_none(answer.context)) for index, answer in enumerate(answers)))
    if clearing := _saying_true(answers, "clear_context"):
        draft.set("clear_context", value=True, holders=clearing)
    deciding = [index for index, answer in enumerate(answers) if answer.blocks or answer.stops]
    if deciding:
        _keep_denials(draft, answers, deciding)


def _keep_denials(draft: _Draft, answers: Answers, deciding: Sequence[int]) -> None:
    """Keeps the first denial in the compatibility field, and there the reasons of all that block or stop."""
    denying = [index for index in deciding if answers[index].permission in BLOCKING_DECISIONS]
    if denying:
        draft.set("permission", answers[denying[0]].permission, denying)
    # An approving hook's reason would otherwise be shown as the reason for the block or the stop.
    draft.fields.pop("permission_reason", None)
    draft.holders.pop("permission_reason", None)
    if any(or_none(answers[index].permission_reason) for index in deciding):
        reasons = ((index, or_none(answers[index].permission_reason) or _reason(answers[index])) for index in deciding)
        draft.join("permission_reason", reasons)


def _merge_changes(draft: _Draft, name: str, answers: Answers) -> None:
    """Lays the hooks' changes of the arguments or the request over each other, key by key.

    First those of each layer, in which a null takes all earlier ones back; then those of each more trusted layer over
    the others. So no null brings back what a less trusted layer changed: other hooks have judged it since.
    """
    merged: Mapping[str, Any] | None = None
    by_rank: dict[int, list[int]] = {}
    for index, answer in enumerate(answers):
        if getattr(answer, name) is not UNSET:
            by_rank.setdefault(answer.rank, []).append(index)
    for rank in sorted(by_rank):
        own: Mapping[str, Any] | None = None
        holders: dict[str, list[int]] = {name: []}
        for index in by_rank[rank]:
            changes = _changes_of(answers[index], name)
            if changes is None:
                own, holders = None, {name: [index]}
                continue
            own = _lay_over(name, own or {}, changes, is_told=answers[index].is_chained)
            holders[name].append(index)
            holders |= {f"{PATHS[name]}.{key}": [index] for key in changes}
        if merged and own:
            if name == "llm_request":
                own = {key: value for key, value in own.items() if value is not None}
            merged = _lay_over(name, merged, own, is_told=True)
            holders[name] = draft.holders[name] + holders[name]
        else:
            merged = own or merged
        draft.holders |= holders
        draft.fields[name] = merged
    if merged is not None and any(answer.removed for answer in answers):
        draft.fields[name] = {key: value for key, value in merged.items() if value is not _REMOVED}
        draft.fields["removed"] = tuple(key for key, value in merged.items() if value is _REMOVED)


def _changes_of(answer: HookAnswer, name: str) -> Mapping[str, Any] | None:
    changes: Mapping[str, Any] | None = getattr(answer, name)
    if changes is None:
        return None
    if name == "llm_request":
        return normalize_llm_request(changes)
    return {**dict.fromkeys(answer.removed, _REMOVED), **changes}


def _lay_over(name: str, before: Mapping[str, Any], changes: Mapping[str, Any], *, is_told: bool) -> dict[str, Any]:
    if name != "llm_request":
        return {**before, **changes}
    return merge_llm_requests(before, changes, is_told=is_told)


def unite_tools(selections: Sequence[tuple[int, ToolSelection]]) -> ToolSelection:
    """One selection out of several, each with the rank of its layer."""
    most_trusted = max(rank for rank, _ in selections)
    # The mode that restricts nothing must not take the place of the request's own beside a more trusted layer's names.
    modes = [tools.mode for rank, tools in selections if tools.mode not in (None, "AUTO") or rank == most_trusted]
    mode = max((mode for mode in modes if mode), key=TOOL_MODES.index, default=None)
    if mode == "NONE":
        return ToolSelection(mode=mode, names=())
    allowed: set[str] | None = None
    # United within a layer; a less trusted layer can take names away from a more trusted one's, and add none.
    for rank in sorted({rank for rank, _ in selections}, reverse=True):
        lists = [tools.names for given, tools in selections if given == rank and tools.names is not None]
        if lists:
            united = {name for names in lists for name in names}
            allowed = united if allowed is None else allowed & united
    return ToolSelection(mode=mode, names=None if allowed is None else tuple(sorted(allowed)))


def _saying_true(answers: Answers, name: str) -> list[int]:
    return [index for index, answer in enumerate(answers) if getattr(answer, name) is True]


# In the place of an argument that a hook removed, while answers are merged.
_REMOVED = object()
_REPLACED = ("decision", "reason", "proceed", "stop_reason", "suppress", "note", "context", "llm_response")
_SPECIFIC = (
    *("permission", "permission_reason", "context", "clear_context"),
    *("tool_output", "llm_request", "llm_response", "tools", "prompt"),
)
_GUARDS: Mapping[str, tuple[object, ...]] = {
    "decision": tuple(BLOCKING_DECISIONS),
    "proceed": (False,),
    "suppress": (True,),
    "permission": tuple(BLOCKING_DECISIONS),
}
