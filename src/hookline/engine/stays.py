"""What outlives an event: the processes of workers, and connections. Most programs have none, and load nothing."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from hookline.contract.hooks import HookEntry
from hookline.settings.schema import FleetSettings

if TYPE_CHECKING:
    from hookline.child.connections import Connections
    from hookline.child.remote import Remote
    from hookline.engine.workers import Workers


class Stays:
    """Made for each engine."""

    def __init__(
        self,
        on_worker: Callable[[HookEntry, str, bytes], None] | None = None,
        fleet: FleetSettings | None = None,
    ) -> None:
        """Takes its options.

        Args:
            on_worker: called with what a person should know of a worker, and what it wrote to stderr, in another
                thread; only a weak reference to it is kept.
            fleet: the company's server, for hooks of the type remote.
        """
        self._on_worker = on_worker
        self._fleet = fleet or FleetSettings()
        self._is_closed = False

    @cached_property
    def workers(self) -> "Workers":
        """The workers of this engine; none runs before an event needs it."""
        from hookline.engine.workers import Workers  # noqa: PLC0415 - few hooks are workers

        workers = Workers(self._on_worker)
        if self._is_closed:
            workers.close()
        return workers

    @cached_property
    def connections(self) -> "Connections":
        """The idle connections of this engine."""
        from hookline.child.connections import Connections  # noqa: PLC0415 - few hooks are servers

        connections = Connections()
        if self._is_closed:
            connections.close()
        return connections

    @cached_property
    def remote(self) -> "Remote":
        """The connection of this engine to the company's server; made when the first remote hook is asked."""
        from hookline.child.remote import Remote  # noqa: PLC0415 - few settings name a server
        from hookline.contract.fleet import machine_name  # noqa: PLC0415

        remote = Remote(self._fleet.server, self._fleet.team, machine_name(self._fleet.machine))
        if self._is_closed:
            remote.close()
        return remote

    def distrust(self, hook: HookEntry) -> None:
        """Ends the worker of a hook that may not run any more."""
        if hook.worker is not None and "workers" in vars(self):
            self.workers.distrust(hook)

    def drain(self) -> None:
        """Ends everything as soon as what was asked is answered: settings have changed."""
        if "workers" in vars(self):
            self.workers.drain()
        if "remote" in vars(self):
            self.remote.drain()

    def close(self) -> None:
        """Ends everything within bounded time, and starts nothing any more."""
        self._is_closed = True
        if "workers" in vars(self):
            self.workers.close()
        if "connections" in vars(self):
            self.connections.close()
        if "remote" in vars(self):
            self.remote.close()
