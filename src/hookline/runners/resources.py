"""Resources that outlive one event: workers, HTTP and remote connections. Created on first use."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from hookline.extensions import lazy_module
from hookline.protocol.hook_entry import HookEntry

if TYPE_CHECKING:
    from hookline.runners import remote
    from hookline.runners.http import connections
    from hookline.runners.worker import workers
else:  # most hooks are commands
    connections = lazy_module("hookline.runners.http.connections")
    remote = lazy_module("hookline.runners.remote")
    workers = lazy_module("hookline.runners.worker.workers")


class EngineResources:
    """The resources of one engine."""

    def __init__(
        self,
        sources: "workers.SourceReader",
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
    def workers(self) -> "workers.Workers":
        """The workers of this engine; none runs before an event needs it."""
        running = workers.Workers(self._sources, self._on_worker)
        if self._is_closed:
            running.close()
        return running

    @cached_property
    def connections(self) -> "connections.Connections":
        """The idle connections of this engine."""
        idle = connections.Connections()
        if self._is_closed:
            idle.close()
        return idle

    @cached_property
    def remote(self) -> "remote.RemoteRunner":
        """The connection of this engine to the company's server; made when the first remote hook is asked."""
        runner = remote.remote_runner(self._fleet)
        if self._is_closed:
            runner.close()
        return runner

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
