"""Hooks on other machines, as the engine sees them: one event, and the protocol of whatever asks a worker for it."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

import msgspec

from hookline.extensions import load_part
from hookline.protocol.messages import AskerFacts
from hookline.runners.process.job import ChildOutcome


class RemoteJob(msgspec.Struct, frozen=True, kw_only=True):
    """One event for a worker."""

    subject: str
    hook_input: Mapping[str, Any]
    """The input that a hook on this machine would get."""
    facts: AskerFacts
    timeout_ms: float
    most_bytes: int
    is_strict: bool
    """True when a failure of the worker's own hooks counts as one of this hook: its onError is block."""


class RemoteRunner(Protocol):
    """Asks workers on other machines, over one connection for all loops and threads of an engine."""

    async def ask(self, job: RemoteJob) -> ChildOutcome:
        """Return a worker's answer as the outcome of a process. Raises only CancelledError."""

    def drain(self) -> None:
        """Close the connection when the requests under way are answered: the settings have changed."""

    def close(self) -> None:
        """Close the connection within bounded time."""


def remote_runner(fleet: object) -> RemoteRunner:
    """Return the runner for the server of these settings; it connects with the first event.

    Raises MissingPartError where this installation has nothing that runs remote hooks.
    """
    return cast("RemoteRunner", load_part("hookline.runners", "remote")(fleet))
