"""Resources that outlive one event: workers, HTTP and remote connections. Created on first use."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from hookline.protocol.hook_entry import HookEntry

if TYPE_CHECKING:
    from hookline.runners.http.connections import Connections
    from hookline.runners.remote import RemoteRunner
    from hookline.runners.worker.workers import SourceReader, Workers


class EngineResources:
    """The resources of one engine."""

    def __init__(
        self,
        sources: "SourceReader",
        on_worker: Callable[[HookEntry, str, bytes], None] | None = None,
        fleet: object = None,
    ) -> None:
        """Takes its options.

        Args:
            on_worker: called with a message about a worker, and what the worker wrote to stderr, in another
                thread; only a weak reference to it is kept.
            fleet: the settings of the company's server, for remote hooks.
            sources: reads the programs of workers, to see when one has changed.
        """
        self._on_worker = on_worker
        self._fleet = fleet
        self._sources = sources
        self._is_closed = False

    @cached_property
    def workers(self) -> "Workers":
        """The workers of this engine; none runs before an event needs it."""
        from hookline.runners.worker.workers import Workers  # noqa: PLC0415 - few hooks are workers

        workers = Workers(self._sources, self._on_worker)
        if self._is_closed:
            workers.close()
        return workers

    @cached_property
    def connections(self) -> "Connections":
        """The idle connections of this engine."""
        from hookline.runners.http.connections import Connections  # noqa: PLC0415 - few hooks are servers

        connections = Connections()
        if self._is_closed:
            connections.close()
        return connections

    @cached_property
    def remote(self) -> "RemoteRunner":
        """The connection of this engine to the company's server; made when the first remote hook is asked."""
        from hookline.runners.remote import remote_runner  # noqa: PLC0415 - few settings name a server

        remote = remote_runner(self._fleet)
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
