import difflib

from hookline.contract.events import HookEventName
from hookline.errors import UsageError


def event_of(name: str) -> HookEventName:
    """The event of this name; a UsageError says which one may have been meant."""
    names = [event.value for event in HookEventName]
    if name in names:
        return HookEventName(name)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    advice = f"did you mean {close[0]}?" if close else f"the events are {', '.join(names)}"
    raise UsageError(f"{name} is not an event; {advice}")
