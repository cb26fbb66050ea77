"""The values of case files: an event, and what must come of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hookline.extensions import lazy_module
from hookline.protocol.events import HookEventName
from hookline.protocol.text.matchers import is_quick, pattern_fault
from hookline.protocol.verdict import Verdict

if TYPE_CHECKING:
    import regress
else:
    regress = lazy_module("regress")  # few cases have patterns


class Outcome(StrEnum):
    """The outcome of an event, in a word."""

    BLOCKED = "blocked"
    """The operation does not take place."""
    ALLOWED = "allowed"
    """It takes place, and no hook denied; hooks may have changed something."""
    ASKED = "asked"
    """The user must agree first."""
    STOPPED = "stopped"
    """The agent ends after this event."""
    CONTINUES = "continues"
    """The agent wanted to end its turn and continues (AfterAgent)."""
    DENIED = "denied"
    """A hook denied where nothing can be blocked, such as AfterTool; the model may get the reason."""


def outcomes_of(verdict: Verdict) -> tuple[Outcome, ...]:
    """All words that fit, the one to show first: a stop before a tool also blocks it."""
    fitting = {
        Outcome.STOPPED: verdict.stop,
        Outcome.CONTINUES: verdict.go_on,
        Outcome.BLOCKED: verdict.blocked,
        Outcome.ASKED: verdict.ask,
        Outcome.DENIED: verdict.denied and not verdict.blocked and not verdict.go_on,
    }
    return tuple(outcome for outcome, fits in fitting.items() if fits) or (Outcome.ALLOWED,)


@dataclass(frozen=True, slots=True)
class CasePlace:
    """A position in a file."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The expected outcome of an event; None accepts anything."""

    outcome: Outcome | None = None
    reason: str | None = None
    """A regular expression, like those in `context`, `note` and `output`: found anywhere in the text."""
    by: tuple[str, ...] = ()
    """Hooks that must be among those that decided."""
    ran: tuple[str, ...] = ()
    """Hooks that must have run, whatever they decided."""
    fails: tuple[str, ...] = ()
    """Hooks that must fail. A failure of any other hook is a difference."""
    arguments: Mapping[str, Any] | None = None
    """All arguments that the tool must be called with."""
    prompt: str | None = None
    request: Mapping[str, Any] | None = None
    """Fields that the request to the model must have in the end; others are not looked at."""
    response: Mapping[str, Any] | None = None
    """The same of the response."""
    tools: tuple[str, ...] | None = None
    """The tools that the model may call."""
    output: str | None = None
    context: str | None = None
    note: str | None = None
    unchanged: bool = False
    """True when hooks must not change or add anything."""
    within_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One event with its input, and what must come of it."""

    name: str
    place: CasePlace
    event: HookEventName
    fields: Mapping[str, Any]
    """The event's own fields, as hooks read them."""
    expected: Expectation
    input_label: str = ""
    """Which of a case's many inputs this is; empty where there is only one."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that hooks get besides those of this program."""

    @property
    def title(self) -> str:
        """The name, and which of the inputs."""
        return f"{self.name} [{self.input_label}]" if self.input_label else self.name


def why_unusable(pattern: str) -> str | None:
    """The mistake in a regular expression of a case file, which is ECMAScript as in matchers; None without one."""
    if fault := pattern_fault(pattern):
        return fault
    try:
        regress.Regex(pattern)
    except Exception as error:  # noqa: BLE001 - whatever the engine raises is about the pattern
        return f"is not a regular expression ({error})"
    return None


def is_found(pattern: str, text: str) -> bool | None:
    """Return whether the pattern is found anywhere in the text; None if that could take too long."""
    return regress.Regex(pattern).find(text) is not None if is_quick(pattern, len(text)) else None
