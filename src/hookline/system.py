"""The hook system: builds its parts once, initializes them once, and takes them down."""

import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hookline.child.batch import ChildLimits
from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.contract.inputs import SessionFacts
from hookline.contract.messages import MessageBus
from hookline.contract.observer import HookObserver
from hookline.contract.results import HookExecutionPlan
from hookline.contract.text import printable, tell
from hookline.engine.aggregator import HookAggregator
from hookline.engine.event_log import EventLog
from hookline.engine.handler import HookEventHandler
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.engine.runner import HookRunner
from hookline.errors import HookSystemNotInitializedError
from hookline.formats.translator import default_hook_translator
from hookline.log import FileSink, HookLogger, LogSink, Redactor, log_path
from hookline.settings.decode import decode_options
from hookline.settings.load import Layer
from hookline.settings.merge import hooks_enabled
from hookline.settings.schema import EnvironmentSettings, HooksConfigSettings
from hookline.settings.source import SettingsSource
from hookline.settings.trust import TrustState, TrustStore, default_trust_path


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSystemStatus:
    """Whether the hook system is ready, and how many hooks it knows."""

    initialized: bool
    total_hooks: int

    def to_dict(self) -> dict[str, Any]:
        """The status as JSON."""
        return {"initialized": self.initialized, "totalHooks": self.total_hooks}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    options: HooksConfigSettings
    log: HookLogger
    registry: HookRegistry
    planner: HookPlanner
    handler: HookEventHandler


class HookSystem:
    """Owns the registry, planner, runner, aggregator and event handler of one program."""

    def __init__(
        self,
        *,
        facts: SessionFacts,
        source: SettingsSource,
        environ: Mapping[str, str],
        bus: MessageBus | None = None,
        sinks: Sequence[LogSink] = (),
        trust_path: Path | None = None,
        observer: HookObserver | None = None,
    ) -> None:
        self._facts = facts
        self._source = source
        self._environ = environ
        self._bus = bus
        self._sinks = sinks
        self._trust_path = trust_path
        self._observer = observer
        self._parts: _Parts | None = None
        self._lock = threading.RLock()

    async def initialize(self) -> None:
        """Reads the hooks; only the first call does anything."""
        if self._parts is None:
            with self._lock:  # loops in other threads may have their first event now
                if self._parts is None:
                    self._parts = self._build()

    def get_registry(self) -> HookRegistry:
        """The hooks that are configured."""
        return self._ready().registry

    def get_event_handler(self) -> HookEventHandler:
        """Where events are fired."""
        return self._ready().handler

    def explain(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan:
        """Which hooks would run for an event about a subject (a tool, a trigger), and why others would not."""
        return self._ready().planner.explain(event, subject)

    def get_options(self) -> HooksConfigSettings:
        """The options in force."""
        return self._ready().options

    def get_log(self) -> HookLogger:
        """Where everything about hooks is written."""
        return self._ready().log

    def get_status(self) -> HookSystemStatus:
        """Whether the system is ready and how many hooks it knows; allowed at any time."""
        hooks = self._parts.registry.get_all_hooks() if self._parts else ()
        return HookSystemStatus(initialized=self._parts is not None, total_hooks=len(hooks))

    def get_all_hooks(self) -> tuple[HookEntry, ...]:
        """Every configured hook, disabled ones included."""
        return self.get_registry().get_all_hooks()

    def set_hook_enabled(self, name: str, *, enabled: bool) -> bool:
        """Switches the hooks of a name on or off until the program ends; False when there is none of that name."""
        return self.get_registry().set_hook_enabled(name, enabled=enabled)

    def dispose(self) -> None:
        """Leaves the bus and closes the log; the system is not used after this."""
        if self._parts is not None:
            self._parts.handler.dispose()
            self._parts.log.close()

    def _refresh(self) -> None:
        """Reads the hooks again when a settings file has changed; asked before each event, never during one."""
        if self._parts is None or not self._source.has_changed():
            return
        try:
            with self._lock:  # loops in other threads may have found the same
                if not self._source.refresh():
                    return
                self._parts.registry.initialize()
        except Exception as error:  # noqa: BLE001 - what was read before still guards the event that comes now
            said = f"the settings changed and could not be read ({error!r}); the hooks that were read before stay"
            self._parts.log.warn(said, kind="fault", traceback="".join(traceback.format_exception(error)))
        else:
            count = len(self._parts.registry.get_all_hooks())
            self._parts.log.info(f"the settings changed and were read again: {count} hooks", kind="settings")

    def _enabled_layers(self) -> Sequence[Layer]:
        enabled, _ = hooks_enabled(self._source.layers)
        return self._source.layers if enabled else ()

    def _ready(self) -> _Parts:
        if self._parts is None:
            raise HookSystemNotInitializedError
        return self._parts

    def _build(self) -> _Parts:
        options = decode_options(self._source.layers)
        log = HookLogger((*_file_sinks(options, self._environ), *self._sinks))
        trust = TrustStore(self._trust_path or default_trust_path())
        registry = HookRegistry(self._enabled_layers, log)
        # Before there is a handler: if this fails, nothing is left that serves the bus.
        registry.initialize()
        planner = HookPlanner(
            registry,
            distrust=lambda hook: _why_untrusted(trust, hook, self._facts.get_working_dir()),
            on_plan=_PlanTeller(EventLog(log, self._facts.get_session_id)).planned,
        )
        handler = HookEventHandler(
            facts=self._facts,
            planner=planner,
            runner=HookRunner(
                limits=ChildLimits(output_bytes=options.output_limit, max_concurrent=options.max_concurrent),
                environ=self._environ,
                passes_on=_passes_on(options.environment),
                on_end=self._observer.hook_ended if self._observer is not None else None,
            ),
            aggregator=HookAggregator(),
            translator=default_hook_translator,
            log=log,
            bus=self._bus,
            observer=self._observer,
            refresh=self._refresh,
        )
        return _Parts(options=options, log=log, registry=registry, planner=planner, handler=handler)


class _PlanTeller:
    """Passes plans on to the log, and tells a person once of each hook that waits for trust."""

    def __init__(self, event_log: EventLog) -> None:
        self._event_log = event_log
        self._told: set[str] = set()

    def planned(self, plan: HookExecutionPlan) -> None:
        self._event_log.planned(plan)
        for skip in plan.held_back:
            if skip.reason.startswith("untrusted") and skip.reason + skip.hook.location not in self._told:
                self._told.add(skip.reason + skip.hook.location)
                # The name is a stranger's: it must not clear the screen, or look like a message of ours.
                tell(f"{plan.event} hook {printable(skip.hook.label)} is not run: {skip.reason}")


def _file_sinks(options: HooksConfigSettings, environ: Mapping[str, str]) -> Sequence[LogSink]:
    if not options.log.enabled:
        return ()
    path = log_path(options.log.path)
    redactor = Redactor(options.redact, environ) if options.redact else None
    return (FileSink(path, max_bytes=options.log.max_bytes, backups=options.log.backups, redactor=redactor),)


def _passes_on(lists: EnvironmentSettings) -> Callable[[str], bool] | None:
    """Which variables hooks inherit: everything, unless the settings say otherwise."""
    if not lists.allow and not lists.deny:
        return None
    # Without these two hardly any command can run, so an allow-list need not name them.
    allowed = (*lists.allow, "PATH", "HOME") if lists.allow else ("*",)

    def is_passed_on(name: str) -> bool:
        if any(fnmatchcase(name, pattern) for pattern in lists.deny):
            return False
        return any(fnmatchcase(name, pattern) for pattern in allowed)

    return is_passed_on


def _why_untrusted(trust: TrustStore, hook: HookEntry, project_dir: str) -> str | None:
    state = trust.state_of(hook, project_dir)
    if state is TrustState.TRUSTED:
        return None
    if trust.problem is not None:
        return trust.problem
    if state is TrustState.CHANGED:
        return "it changed since it was trusted; look at it and run: hookline trust"
    return "hooks of a project need trust; look at it and run: hookline trust"
