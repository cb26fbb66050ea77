"""The messages of records, in one place."""

from collections.abc import Mapping

from hookline.contract.hooks import HookEntry
from hookline.contract.records import LogLevel


def about(event: str, subject: str | None) -> str:
    """What the message of an event begins with: `BeforeTool write_file`."""
    return f"{event} {subject}" if subject else event


def hook_message(hook: HookEntry, ending: str, level: LogLevel, *, blocks: bool) -> str:
    """How a hook ended, and, if it failed, where it is configured and what that means."""
    text = f"{hook.event}: {hook.label} {ending}"
    if level is LogLevel.DEBUG:
        return text
    if level is LogLevel.INFO:
        return f"{text}: deny"
    meaning = "its onError is block" if blocks else "the operation goes on without it"
    return f"{text} ({hook.origin}: {hook.location}); {meaning}"


def event_message(event: str, subject: str | None, outcome: str, counts: Mapping[str, int], duration_ms: float) -> str:
    """What an event came to, and how many of its hooks ended how."""
    shown = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{about(event, subject)}: {outcome} ({shown}, {duration_ms:.1f} ms)"


def undecided_message(hook: HookEntry, subject: str | None) -> str:
    """Why a hook runs whose matcher was not compared to the end."""
    return (
        f"{hook.event}: {hook.label} runs, although there was not enough time to compare its matcher {hook.matcher!r}"
        f" with {subject!r}; in {hook.origin}: {hook.location} write a pattern without nested repetition"
    )


def fault_message(event: str, error: Exception) -> str:
    """That the records of an event are missing."""
    missing = "so the log lacks what its hooks did; please report this"
    return f"{event}: hookline failed while logging ({type(error).__name__}), {missing}"
