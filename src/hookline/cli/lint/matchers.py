"""The checks of matchers, and what an event may be about."""

import difflib
import re
from collections.abc import Iterable, Iterator

from hookline.cli.lint.matching import matches
from hookline.cli.lint.setup import Setup
from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.matcher import is_literal
from hookline.settings.read import Problem

_TOOL_EVENTS = tuple(event for event, row in EVENT_TABLE.items() if row.matching is Matching.REGEX)
_TRIGGER_EVENTS = tuple(event for event, row in EVENT_TABLE.items() if row.triggers)
# What other systems call these tools, in small letters.
_FOREIGN_TOOLS = {
    "bash": "run_shell_command",
    "edit": "replace",
    "glob": "glob",
    "grep": "search_file_content",
    "grep_search": "search_file_content",
    "ls": "list_directory",
    "multiedit": "replace",
    "read": "read_file",
    "shell": "run_shell_command",
    "shelltool": "run_shell_command",
    "write": "write_file",
}
_MCP = "mcp__"
_MCP_SAMPLE = "mcp__server__tool"

# A star behind a letter, a digit or an underscore, where a wildcard would stand; `\w*` is what it seems.
_WILDCARD = re.compile(r"(?<!\\)[A-Za-z0-9_]\*|^\s*\*")
_NESTING = re.compile(r"[\\(\[]")
# What no tool's name has; `| ?x` is what it seems.
_SPACED_BAR = re.compile(r"(?<!\s)\s++\|(?:\s++(?![*+?{]))?|\|\s++(?![*+?{])")
# How others write a permission: a tool, and what it may be called with.
_PERMISSION = re.compile(r"(\w+)\(.*\)", re.DOTALL)
_NAME = re.compile(r"[\w.-]+")
_WORDS = re.compile(r"(\^?\(?(?:\?:)?)(\w+(?:\|\w+)*)(\)?\$?)")


def subjects_of(event: HookEventName, setup: Setup) -> tuple[str | None, ...]:
    """What an event may be about: the known tools and those that a matcher plainly names, or the known triggers."""
    match EVENT_TABLE[event].matching:
        case Matching.REGEX:
            named = [word for hook in setup.active(event) for word in _plain_words(hook.matcher or "")]
            return tuple(dict.fromkeys((*setup.tools, _MCP_SAMPLE, *named)))
        case Matching.EQUALITY:
            return EVENT_TABLE[event].triggers
        case Matching.NEVER_ASKED:
            return (None,)


def matcher_wildcard(setup: Setup) -> Iterator[Problem]:
    """Wildcards where a regular expression is expected."""
    for hook, matcher in _matchers(setup, _TOOL_EVENTS):
        if not _WILDCARD.search(matcher) or _permitted(matcher, setup):
            continue
        meant = _as_regex(matcher)
        if is_literal(matcher):
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
    return is_literal(matcher) and not _WILDCARD.search(matcher)


def matcher_no_tool(setup: Setup) -> Iterator[Problem]:
    """Matchers, or alternatives in them, that match no known tool."""
    for hook, matcher in _matchers(setup, _TOOL_EVENTS):
        if _is_broken(matcher):
            continue
        meant = _SPACED_BAR.sub("|", matcher)
        if meant != matcher:
            said = f"is {matcher!r}, where the spaces are part of the regular expression and of no tool's name"
            yield setup.at_matcher(hook, f"{said}; remove the spaces round the bar: {meant!r}")
        for alternative in _alternatives(meant):
            if _MCP in alternative or (_WILDCARD.search(alternative) and not _permitted(alternative, setup)):
                continue
            # In a group: an alternative's own spaces count, those round the whole matcher do not.
            if not any(matches(hook.event, f"(?:{alternative})", tool) for tool in setup.tools):
                advice = _meant(alternative, setup)
                yield setup.at_matcher(hook, f"has {alternative!r}, which matches no known tool; {advice}")


def matcher_no_trigger(setup: Setup) -> Iterator[Problem]:
    """Matchers that equal nothing which their event can be about."""
    for hook, matcher in _matchers(setup, _TRIGGER_EVENTS):
        known = EVENT_TABLE[hook.event].triggers
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
    return [matcher.strip()] if _NESTING.search(matcher) else matcher.strip().split("|")


def _as_regex(matcher: str) -> str:
    """The regular expression that somebody who wrote wildcards means."""
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
        said = "a matcher is compared with the tool's name alone"
        return f"{said}: write {tool!r}, and let the hook look at the tool's input"
    word = alternative.strip("^()$?: ")
    foreign = _FOREIGN_TOOLS.get(word.lower())
    close = difflib.get_close_matches(word, setup.tools, n=1)
    if foreign or close:
        return f"did you mean {foreign or close[0]}?"
    named = f"--tool {word}" if _NAME.fullmatch(word) else "--tool"
    return f"the known ones are {', '.join(setup.tools)}, and {named} adds one"


def _permitted(matcher: str, setup: Setup) -> str | None:
    """The tool of a matcher that was written like a permission, such as `Bash(git commit:*)`."""
    written = _PERMISSION.fullmatch(matcher.strip())
    if written is None:
        return None
    return written[1] if written[1] in setup.tools else _FOREIGN_TOOLS.get(written[1].lower())
