"""Whether a matcher matches, by the engine's own rule."""

from hookline.contract.events import HookEventName
from hookline.contract.hooks import ConfigSource, HookEntry
from hookline.engine.matcher import Match, match


def matches(event: HookEventName, matcher: str, subject: str) -> bool:
    """Whether a hook with this matcher would run for an event about this subject."""
    hook = HookEntry(event=event, source=ConfigSource.USER, origin="", location="", matcher=matcher)
    return match(hook, subject, may_wait=True) is not Match.NO
