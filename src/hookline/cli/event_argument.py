from hookline.contract.events import HookEventName, suggest_event
from hookline.errors import UsageError


def event_of(name: str) -> HookEventName:
    """The event of this name; a UsageError says which one may have been meant."""
    try:
        return HookEventName(name)
    except ValueError:
        raise UsageError(f"{name} is not an event; {suggest_event(name)}") from None
