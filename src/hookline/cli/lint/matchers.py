"""The checks of matchers, and what an event may be about."""

import difflib
import re
from collections.abc import Iterable, Iterator

from hookline.cli.lint.matching import TRIGGERS, is_plain_text, matches
from hookline.cli.lint.setup import Setup
from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.settings.load import Problem

_TOOL_EVENTS = tuple(event for event, row in EVENT_TABLE.items() if row.matching is Matching.REGEX)
# What other systems call these tools.
_FOREIGN_TOOLS = {
    "Bash": "run_shell_command",
    "Edit": "replace",
    "Glob": "glob",
    "Grep": "search_file_content",
    "LS": "list_directory",
    "MultiEdit": "replace",
    "Read": "read_file",
    "Write": "write_file",
    "shell": "run_shell_command",
}
_MCP = "mcp__"
_MCP_SAMPLE = "mcp__server__tool"

# A star behind a letter, a digit or an underscore, where a wildcard would stand; `\w*` is what it seems.
_WILDCARD = re.compile(r"(?<!\\)[A-Za-z0-9_]\*|^\*.")
_NESTING = re.compile(r"[\\(\[]")
_WORDS = re.compile(r"(\^?\(?(?:\?:)?)(\w+(?:\|\w+)*)(\)?\$?)")


def subjects_of(event: HookEventName, setup: Setup) -> tuple[str | None, ...]:
    """What an event may be about: the known tools and those that a matcher plainly names, or the known triggers."""
    match EVENT_TABLE[event].matching:
        case Matching.REGEX:
            named = [word for hook in setup.active(event) for word in _plain_words(hook.matcher or "")]
            return tuple(dict.fromkeys((*setup.tools, _MCP_SAMPLE, *named)))
        case Matching.EQUALITY:
            return TRIGGERS[event]
        case Matching.NEVER_ASKED:
            return (None,)


def matcher_wildcard(setup: Setup) -> Iterator[Problem]:
    """Wildcards where a regular expression is expected."""
    for hook, matcher in _matchers(setup, _TOOL_EVENTS):
        if not _WILDCARD.search(matcher):
            continue
        meant = _as_regex(matcher)
        if is_plain_text(matcher):
            said = f"is {matcher!r}, which is no regular expression and is compared as plain text; write {meant!r}"
        else:
            said = (
                f"is {matcher!r}, but a matcher is a regular expression and not a wildcard: the star repeats the "
                f"character before it, found anywhere in the name; write {meant!r}"
            )
        yield setup.at_matcher(hook, said)


def matcher_no_regex(setup: Setup) -> Iterator[Problem]:
    """Matchers that were meant as regular expressions and are none."""
    for hook, matcher in _matchers(setup, _TOOL_EVENTS):
        if _is_broken(matcher):
            said = f"is {matcher!r}, which is no regular expression and is compared as plain text"
            yield setup.at_matcher(hook, f"{said}, so the hook runs for no tool of another name; mend the pattern")


def _is_broken(matcher: str) -> bool:
    """What looks like a wildcard is told as such."""
    return is_plain_text(matcher) and not _WILDCARD.search(matcher)


def matcher_no_tool(setup: Setup) -> Iterator[Problem]:
    """Matchers, or alternatives in them, that match no known tool."""
    for hook, matcher in _matchers(setup, _TOOL_EVENTS):
        if _is_broken(matcher):
            continue
        for alternative in _alternatives(matcher):
            if _MCP in alternative or _WILDCARD.search(alternative):
                continue
            if not any(matches(hook.event, alternative, tool) for tool in setup.tools):
                advice = _meant(alternative.strip("^()$?: "), setup)
                yield setup.at_matcher(hook, f"has {alternative!r}, which matches no known tool; {advice}")


def matcher_no_trigger(setup: Setup) -> Iterator[Problem]:
    """Matchers that equal nothing which their event can be about."""
    for hook, matcher in _matchers(setup, TRIGGERS):
        known = TRIGGERS[hook.event]
        if not any(matches(hook.event, matcher, trigger) for trigger in known):
            said = f"is {matcher!r}, which {hook.event} never has, so the hook never runs"
            yield setup.at_matcher(hook, f"{said}; here it is compared for equality with one of {', '.join(known)}")


def matcher_not_asked(setup: Setup) -> Iterator[Problem]:
    """Matchers on events that have nothing to match."""
    unasked = [event for event, row in EVENT_TABLE.items() if row.matching is Matching.NEVER_ASKED]
    for hook, matcher in _matchers(setup, unasked):
        said = f"is {matcher!r}, but {hook.event} has nothing to match, so the hook runs each time; remove the matcher"
        yield setup.at_matcher(hook, said)


def _matchers(setup: Setup, events: Iterable[HookEventName]) -> Iterator[tuple[HookEntry, str]]:
    for hook in setup.active(*events):
        if hook.matcher is not None and hook.matcher.strip() not in ("", "*"):
            yield hook, hook.matcher


def _plain_words(matcher: str) -> list[str]:
    parts = _WORDS.fullmatch(matcher.strip())
    return parts[2].split("|") if parts else []


def _alternatives(matcher: str) -> list[str]:
    """The matchers that a matcher with bars in it consists of, as far as that is plain to see."""
    if parts := _WORDS.fullmatch(matcher.strip()):
        return [parts[1] + word + parts[3] for word in parts[2].split("|")]
    return [matcher] if _NESTING.search(matcher) else matcher.split("|")


def _as_regex(matcher: str) -> str:
    """The regular expression that somebody who wrote wildcards means."""
    return "|".join(_unglobbed(part) if _WILDCARD.search(part) else part for part in _alternatives(matcher.strip()))


def _unglobbed(glob: str) -> str:
    text = glob.strip("^$")
    inner = text.strip("*").replace(".*", "*").replace("*", ".*")
    return f"{'' if text.startswith('*') else '^'}{inner}{'' if text.endswith('*') else '$'}"


def _meant(word: str, setup: Setup) -> str:
    foreign = _FOREIGN_TOOLS.get(word)
    close = difflib.get_close_matches(word, setup.tools, n=1)
    if foreign or close:
        return f"did you mean {foreign or close[0]}?"
    return f"the known ones are {', '.join(setup.tools)}, and --tool {word} adds one"
