"""The checks of matchers, the subjects that an event may have, and the plans for them."""

import re
from collections.abc import Iterable, Iterator, Sequence

from hookline.dialects.registry import FOREIGN_DIALECTS, dialect_of
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.matcher import foreign_matcher_fault, is_literal, match
from hookline.engine.plan import plan
from hookline.inspect.lint.vocabulary import speaker_of, tools_by_any_name
from hookline.inspect.view import Setup
from hookline.protocol.constants import OWN_DIALECT, ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.patterns import lazy_pattern
from hookline.protocol.text.strings import nearest
from hookline.protocol.verdict import HookExecutionPlan, Skip, SkipKind
from hookline.settings.read.files import Problem

_TOOL_EVENTS = tuple(event for event, row in EVENT_TABLE.items() if row.matching is Matching.REGEX)
_TRIGGER_EVENTS = tuple(event for event, row in EVENT_TABLE.items() if row.triggers)
_MCP = "mcp__"
_MCP_SAMPLE = "mcp__server__tool"

# A star after a letter, a digit or an underscore is probably a wildcard; `\w*` is not.
_WILDCARD = lazy_pattern(r"(?<!\\)[A-Za-z0-9_]\*|^\s*\*")
_NESTING = lazy_pattern(r"[\\(\[]")
# No tool's name has spaces; `| ?x` is meant as it is.
_SPACED_BAR = lazy_pattern(r"(?<!\s)\s++\|(?:\s++(?![*+?{]))?|\|\s++(?![*+?{])")
# A permission as other systems write it: a tool and its arguments, such as `Bash(git commit:*)`.
_PERMISSION = lazy_pattern(r"(\w+)\(.*\)", re.DOTALL)
_NAME = lazy_pattern(r"[\w.-]+")
_WORD = lazy_pattern(r"\w+")
_PLAIN_TEXT = "which is not a regular expression and is compared as plain text"
_NO_WILDCARD = (
    "but a matcher is a regular expression and not a wildcard: the star repeats the character before it, found "
    "anywhere in the name"
)
_WORDS = lazy_pattern(r"(\^?\(?(?:\?:)?)(\w+(?:\|\w+)*)(\)?\$?)")


def subjects_of(event: HookEventName, setup: Setup) -> tuple[str | None, ...]:
    """The known tools and those that a matcher names, or the known triggers."""
    match EVENT_TABLE[event].matching:
        case Matching.REGEX:
            named = [_our_name(hook, word) for hook in setup.active(event) for word in _plain_words(hook.matcher or "")]
            return tuple(dict.fromkeys((*setup.tools, _MCP_SAMPLE, *named)))
        case Matching.EQUALITY:
            return EVENT_TABLE[event].triggers
        case Matching.NEVER_ASKED:
            return (None,)


def _our_name(hook: HookEntry, tool: str) -> str:
    return tool if hook.dialect not in FOREIGN_DIALECTS else dialect_of(hook.dialect).tool_of_theirs(tool).ours


def plans_of(event: HookEventName, setup: Setup) -> list[HookExecutionPlan]:
    """The plans for everything that an event may be about."""
    hooks = setup.active(event)
    everything = plan(hooks, event)
    if not everything.skips and not everything.sequential:
        return [everything]  # it stands for all: no subject makes a duplicate or a sequence of fewer hooks
    subjects = dict.fromkeys(subjects_of(event, setup))
    if event in _TOOL_EVENTS:
        # The words of a matcher, joined, make a tool name that the matcher is likely to match.
        subjects |= dict.fromkeys("".join(_WORD.findall(hook.matcher or "")) for hook in hooks)
    return [plan(hooks, event, subject) for subject in subjects]


def duplicates(plans: Sequence[HookExecutionPlan]) -> list[Skip]:
    """The hooks that run in none of the plans, because another hook with the same command runs instead."""
    running = {place_of(hook) for plan in plans for hook in plan.hooks}
    skips = [skip for plan in plans for skip in plan.skips]
    return [skip for skip in skips if skip.kind is SkipKind.DUPLICATE and place_of(skip.hook) not in running]


def place_of(hook: HookEntry) -> tuple[str, str]:
    """The identity of a hook. Not `id`: a plan may hold a copy of the hook with the stricter options of a duplicate."""
    return hook.origin, hook.location


def matcher_wildcard(setup: Setup) -> Iterator[Problem]:
    """Wildcards where a regular expression is expected."""
    for hook, matcher in _matchers(setup, _TOOL_EVENTS):
        if not _WILDCARD.search(matcher) or _permitted(matcher, setup):
            continue
        why = _PLAIN_TEXT if is_literal(matcher) else _NO_WILDCARD
        yield setup.at_matcher(hook, f"is {matcher!r}, {why}; write {_as_regex(matcher)!r}")


def matcher_no_regex(setup: Setup) -> Iterator[Problem]:
    """Matchers that are not valid regular expressions."""
    for hook, matcher in _matchers(setup, _TOOL_EVENTS):
        if _is_broken(matcher):
            effect = "so the hook runs for no tool of another name"
            yield setup.at_matcher(hook, f"is {matcher!r}, {_PLAIN_TEXT}, {effect}; fix the pattern")
    for hook in setup.active():
        if fault := foreign_matcher_fault(hook):
            yield setup.at_matcher(hook, f"{fault}; fix the pattern")


def _is_broken(matcher: str) -> bool:
    """True for an invalid pattern, except wildcards, which another check reports."""
    return is_literal(matcher) and not _WILDCARD.search(matcher)


def matcher_no_tool(setup: Setup) -> Iterator[Problem]:
    """Matchers, or alternatives in them, that match no known tool."""
    for hook, matcher in _matchers(setup, _TOOL_EVENTS):
        if _is_broken(matcher):
            continue
        meant = _SPACED_BAR.sub("|", matcher)
        if meant != matcher:
            why = "where the spaces are part of the regular expression and of no tool's name"
            yield setup.at_matcher(hook, f"is {matcher!r}, {why}; remove the spaces round the bar: {meant!r}")
        for alternative in _alternatives(meant):
            if _MCP in alternative or (_WILDCARD.search(alternative) and not _permitted(alternative, setup)):
                continue
            # In a group, because only the spaces around a whole matcher are ignored.
            if not _matches_any(hook.event, f"(?:{alternative})", setup.tools):
                advice = _meant(alternative, setup)
                yield setup.at_matcher(hook, f"has {alternative!r}, which matches no known tool; {advice}")


def matcher_no_trigger(setup: Setup) -> Iterator[Problem]:
    """Matchers that equal no trigger of their event."""
    for hook, matcher in _matchers(setup, _TRIGGER_EVENTS):
        known = EVENT_TABLE[hook.event].triggers
        if not _matches_any(hook.event, matcher, known):
            what = f"is {matcher!r}, which {hook.event} never has, so the hook never runs"
            yield setup.at_matcher(hook, f"{what}; it has to equal one of {', '.join(known)}")


def matcher_not_asked(setup: Setup) -> Iterator[Problem]:
    """Matchers on events that do not use them."""
    unasked = [event for event, row in EVENT_TABLE.items() if row.matching is Matching.NEVER_ASKED]
    for hook, matcher in _matchers(setup, unasked):
        why = f"but {hook.event} has nothing to match, so the hook always runs"
        yield setup.at_matcher(hook, f"is {matcher!r}, {why}; remove the matcher")


def _matches_any(event: HookEventName, matcher: str, subjects: Iterable[str]) -> bool:
    hook = HookEntry(event=event, source=ConfigSource.USER, origin="", location="", matcher=matcher)
    return any(match(hook, subject) for subject in subjects)


def _matchers(setup: Setup, events: Iterable[HookEventName]) -> Iterator[tuple[HookEntry, str]]:
    """The hooks in hookline's format with matchers; other agents have other rules for matchers."""
    for hook in setup.active(*events):
        if hook.dialect == OWN_DIALECT and hook.matcher is not None and hook.matcher.strip() not in ("", "*"):
            yield hook, hook.matcher


def _plain_words(matcher: str) -> list[str]:
    parts = _WORDS.fullmatch(matcher.strip())
    return parts[2].split("|") if parts else []


def _alternatives(matcher: str) -> list[str]:
    """The alternatives of a matcher with bars, if they are easy to separate."""
    if parts := _WORDS.fullmatch(matcher.strip()):
        return [parts[1] + word + parts[3] for word in parts[2].split("|")]
    return [matcher.strip()] if _NESTING.search(matcher) else matcher.strip().split("|")


def _as_regex(matcher: str) -> str:
    """The regular expression for a matcher with wildcards."""
    parts = [part.strip() for part in _alternatives(matcher)]
    if any(not part.strip("*") for part in parts):
        return "*"
    return "|".join(_unglobbed(part) if _WILDCARD.search(part) else part for part in parts)


def _unglobbed(glob: str) -> str:
    text = glob.strip("^$")
    inner = text.strip("*").replace(".*", "*").replace("*", ".*")
    return f"{'' if text.startswith('*') else '^'}{inner}{'' if text.endswith('*') else '$'}"


def _meant(alternative: str, setup: Setup) -> str:
    if tool := _permitted(alternative, setup):
        return f"a matcher is compared with the tool's name alone: write {tool!r}, and let the hook check the input"
    word = alternative.strip("^()$?: ")
    if (speaker := speaker_of(word)) is not None:
        table, tool = speaker
        return f'if this hook was written for {table.agent}, add "dialect": "{table.name}" to it, else write {tool}'
    foreign = tools_by_any_name().get(word.lower())
    if meant := foreign or nearest(word, setup.tools):
        return f"did you mean {meant}?"
    named = f"--tool {word}" if _NAME.fullmatch(word) else "--tool"
    return f"the known tools are {', '.join(setup.tools)}, and {named} adds one"


def _permitted(matcher: str, setup: Setup) -> str | None:
    """The tool of a matcher that is written like a permission."""
    written = _PERMISSION.fullmatch(matcher.strip())
    if written is None:
        return None
    return written[1] if written[1] in setup.tools else tools_by_any_name().get(written[1].lower())
