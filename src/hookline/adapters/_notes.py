"""Notes of hooks for the model's next request, which may be in another run of the same session."""

from collections import OrderedDict
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hookline.adapters.table import Adapter, report_once
from hookline.client import Session
from hookline.protocol.records import AdviceRecord, LogLevel

if TYPE_CHECKING:
    from hookline.client import Hooks

# More sessions than this are not remembered: a server has new ones all day, and most of them never go on.
_MOST = 1000
_FORGOTTEN = f"more than {_MOST} sessions have a hook's note that no request has taken; the oldest are dropped"


class Notes:
    """One note for each agent of each session; kept in memory."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str | None], str] = OrderedDict()

    def keep(self, session: Session, note: str) -> None:
        """Keeps a note for the agent's next request, after those that wait for it already."""
        key = (session.id, session.facts.agent)
        earlier = self._kept.pop(key, None)
        self._kept[key] = note if earlier is None else f"{earlier}\n\n{note}"
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)
            report_once(_FORGOTTEN)

    def take(self, session: Session) -> str | None:
        """The note for the agent's request, which is the only one that gets it."""
        return self._kept.pop((session.id, session.facts.agent), None)


_notes: "WeakKeyDictionary[Hooks, Notes]" = WeakKeyDictionary()


def notes_of(hooks: "Hooks") -> Notes:
    """The notes of a program: its agents may be new objects in every run."""
    return _notes.setdefault(hooks, Notes())


def report_dropped(session: Session, adapter: Adapter) -> None:
    """Says on stderr, once, and in the log that a note has no request to go with."""
    message = (
        f"a hook's note to the model came with the last answer of a run, so the model never reads it; {adapter.go_on}"
    )
    session.write(AdviceRecord(level=LogLevel.WARN, message=message, event="AfterModel"))
    report_once(message)
