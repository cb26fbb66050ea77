"""What a matcher matches, asked of the engine's own planner."""

from collections.abc import Callable
from functools import lru_cache

from hookline.contract.events import (
    HookEventName,
    NotificationType,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
)
from hookline.contract.hooks import ConfigSource
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.log import HookLogger
from hookline.settings.load import Layer

TRIGGERS = {
    HookEventName.SESSION_START: tuple(source.value for source in SessionStartSource),
    HookEventName.SESSION_END: tuple(reason.value for reason in SessionEndReason),
    HookEventName.PRE_COMPRESS: tuple(trigger.value for trigger in PreCompressTrigger),
    HookEventName.NOTIFICATION: tuple(kind.value for kind in NotificationType),
}


def matches(event: HookEventName, matcher: str, subject: str) -> bool:
    """Whether a hook with this matcher would run for an event about this subject."""
    return _question(event, matcher)(subject)


def is_plain_text(matcher: str) -> bool:
    """True for a matcher that is no regular expression: it equals its own text, and nothing longer."""
    text = matcher.strip()
    asked = _question(HookEventName.BEFORE_TOOL, matcher)
    return asked(text) and not asked(f"x{text}") and not asked(f"{text}x")


@lru_cache(maxsize=1024)
def _question(event: HookEventName, matcher: str) -> Callable[[str], bool]:
    group = {"matcher": matcher, "hooks": [{"type": "command", "command": "true"}]}
    layer = Layer(source=ConfigSource.USER, origin="a question", values={"hooks": {event.value: [group]}})
    registry = HookRegistry(lambda: (layer,), HookLogger(()))
    registry.initialize()
    planner = HookPlanner(registry, distrust=lambda _: None, on_plan=lambda _: None)
    return lambda subject: bool(planner.explain(event, subject).hooks)
