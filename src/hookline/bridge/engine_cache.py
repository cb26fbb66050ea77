"""The hook systems that bridge calls use: one for each project, settings, environment and session that asks."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.client.config import Config
from hookline.errors import HooklineError
from hookline.protocol.constants import FiredBy
from hookline.protocol.events import SessionFacts
from hookline.runners.process.limit import SCOPE, Limit
from hookline.settings.read.paths import PROJECT_FILE, default_paths

if TYPE_CHECKING:
    from hookline.engine.system import HookSystem
    from hookline.protocol.records import LogRecord

_MOST_KEPT = 16


class NotServedError(HooklineError):
    """The caller's settings say that no server shall work for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """Everything of a call that a hook system depends on; equal callers share one."""

    agent: str
    project: str
    cwd: str
    """Where the agent works, which may be a directory of the project."""
    nested: tuple[str, ...] = ()
    """Projects inside of it whose guards count as well."""
    session_id: str
    transcript_path: str
    settings: tuple[str, ...] | None
    """The only files to read, absolute."""
    environ: Mapping[str, str] = field(compare=False)
    variables: frozenset[tuple[str, str]]
    """The same, to compare."""


class EngineLease:
    """The hook system of a caller, for the time of one call."""

    def __init__(self, config: Config, caller: CacheKey) -> None:
        self.config = config
        self._cwd = caller.cwd
        self.limit = Limit()
        self.users = 0
        self.may_serve = config.get_settings().options.serve

    @property
    def system(self) -> "HookSystem | None":
        """The system, or None while hooks are disabled."""
        return self.config.get_hook_system()

    def session(self, agent_event: str) -> SessionFacts:
        """The session of the caller, for one event under the agent's own name."""
        return self.config.session_facts._replace(cwd=self._cwd, agent_event=agent_event)

    def log(self, record: "LogRecord") -> None:
        """Write a record to the hooks' log; a no-op while there is none."""
        with suppress(HooklineError):  # the system could not be initialized, which the answer reports
            if self.system is not None:
                self.system.get_log().write(record)

    def close(self) -> None:
        """Closes the log; takes some seconds at most."""
        if (system := self.system) is not None:
            system.dispose()


class EngineCache:
    """Keeps the systems of the latest callers, until their settings change."""

    def __init__(self, most: int = _MOST_KEPT, *, is_server: bool = False) -> None:
        self._most = most
        self._is_server = is_server
        self._kept: OrderedDict[CacheKey, EngineLease] = OrderedDict()

    @contextmanager
    def lease(self, caller: CacheKey) -> Iterator[EngineLease]:
        """The caller's system; HooklineError when a settings file can't be read, because a guard may be in it."""
        lease = self._kept.get(caller)
        if lease is not None and lease.config.has_changed():
            self._drop(caller)
            lease = None
        if lease is None:
            lease = EngineLease(_config(caller), caller)
            if broken := [str(problem) for problem in lease.config.get_problems() if problem.is_error]:
                raise HooklineError(broken[0])
            self._kept[caller] = lease
            while len(self._kept) > self._most:
                self._drop(next(iter(self._kept)))
        self._kept.move_to_end(caller)
        if self._is_server and not lease.may_serve:
            raise NotServedError("hooksConfig.serve is false")
        lease.users += 1
        # One caller's hooks must not wait for those of another.
        token = SCOPE.set(lease.limit)
        try:
            yield lease
        finally:
            SCOPE.reset(token)
            lease.users -= 1
            if not lease.users and self._kept.get(caller) is not lease:
                _close_beside(lease)

    @property
    def may_serve(self) -> bool:
        """True if no caller so far has turned the server off."""
        return all(lease.may_serve for lease in self._kept.values())

    def close(self) -> None:
        """Closes all logs."""
        while self._kept:
            self._kept.popitem()[1].close()

    def _drop(self, caller: CacheKey) -> None:
        lease = self._kept.pop(caller)
        if not lease.users:
            _close_beside(lease)


def _close_beside(lease: EngineLease) -> None:
    # It waits for the log's thread, and other callers must not.
    asyncio.get_running_loop().run_in_executor(None, lease.close)


def _config(caller: CacheKey) -> Config:
    return Config(
        caller.project,
        session_id=caller.session_id or None,
        transcript_path=caller.transcript_path,
        settings_files=None if caller.settings is None else [Path(file) for file in caller.settings],
        settings_paths=default_paths(caller.project, caller.environ)._replace(
            nested=tuple(Path(project, PROJECT_FILE) for project in caller.nested)
        ),
        environ=caller.environ,
        quiet=True,
        agent=caller.agent,
        fired_by=FiredBy.BRIDGE,
    )
