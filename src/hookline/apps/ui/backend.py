"""What the page shows and does besides reading the log: the command line provides it, with its own checks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

Report = dict[str, Any]


class Desk(Protocol):
    """The work of `hookline list`, `replay`, `record`, `enable` and `disable`, for one project."""

    @property
    def log(self) -> Path:
        """The log that is shown."""

    def hooks(self) -> Report:
        """Every hook with its state, source, trust, evidence and health, and why it has never run; and the agents."""

    def trials(self) -> Report:
        """Every hook that is tried out: what it would have decided, and what became of these calls."""

    def settings(self) -> Report:
        """The settings files, what is wrong with them, and whether hooks are enabled."""

    def machines(self) -> Report:
        """The machines of the fleet that the log is of; HooklineError for the log of one machine."""

    def case_of(self, fire: str) -> Report:
        """One recorded event as the text of a case file; HooklineError if the log lacks its input."""

    async def replay(self, fire: str) -> Report:
        """What today's hooks decide about one recorded event; only hooks run."""

    def switch(self, name: str, *, is_on: bool) -> Report:
        """Enables or disables a hook in the user's settings; HooklineError if that is not allowed."""


Query = Mapping[str, str]
