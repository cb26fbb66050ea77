"""The hook system: builds its parts once, initializes them once, and takes them down."""

import os
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import msgspec

from hookline.engine.event_log import EventLog
from hookline.engine.event_table import is_awaited
from hookline.engine.handler import EngineRules, HookEventHandler
from hookline.engine.notices.untrusted_hooks import TrustNotice
from hookline.engine.plan import HookPlanner, ask_trust
from hookline.engine.registry import HookRegistry
from hookline.engine.run import HookRunner
from hookline.errors import HookSystemNotInitializedError
from hookline.extensions import lazy_module
from hookline.log.consent import consent_record
from hookline.log.paths import log_path
from hookline.log.redact.redactor import Redactor
from hookline.log.write.logger import HookLogger, LogSink
from hookline.log.write.sink import FileSink
from hookline.protocol.constants import DEFAULT_MAX_WARM, Decider, FiredBy, HookOptions, Lifecycle, OnError
from hookline.protocol.events import HookEventName, SessionFacts
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.observer import HookObserver
from hookline.protocol.records import Consent, FaultRecord, LogLevel, LogRecord, SettingsRecord, hook_place
from hookline.protocol.text.secret_names import SECRET_NAMES
from hookline.protocol.verdict import HookExecutionPlan, Verdict
from hookline.runners.background import BACKGROUND
from hookline.runners.context import BoundObserver
from hookline.runners.process.batch import ChildLimits
from hookline.runners.process.reaper import REAPER
from hookline.runners.resources import EngineResources
from hookline.runners.warm_policy import WarmPolicy
from hookline.settings.decode.schema import EnvironmentSettings, FleetSettings, HooksConfigSettings, WarmSettings
from hookline.settings.decode.settings import Settings, decode_settings
from hookline.settings.read.merge import blocks_on_fault, policy_problems
from hookline.settings.read.source import SettingsSource
from hookline.settings.trust.worker_source import WorkerSources
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.engine import functions
    from hookline.hook import Event, Hook
    from hookline.protocol import messages
    from hookline.settings.read import provider
    from hookline.settings.trust import fingerprint, store
else:  # few programs need them
    functions = lazy_module("hookline.engine.functions")
    messages = lazy_module("hookline.protocol.messages")
    provider = lazy_module("hookline.settings.read.provider")
    fingerprint = lazy_module("hookline.settings.trust.fingerprint")
    store = lazy_module("hookline.settings.trust.store")


class HookSystemStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the hook system is ready, and how many hooks it knows."""

    initialized: bool
    total_hooks: int


_REAPING_S = 1.0
"""How long closing waits for children that have ended, or are about to."""


class _EngineParts(msgspec.Struct, kw_only=True):
    settings: Settings
    """Swapped whole when a file has changed."""
    log: HookLogger
    event_log: EventLog
    registry: HookRegistry
    planner: HookPlanner
    handler: HookEventHandler
    runner: HookRunner
    warm_policy: WarmPolicy


class HookSystem:
    """Owns the registry, planner, runner, aggregator and event handler of one program."""

    def __init__(
        self,
        *,
        facts: SessionFacts,
        source: SettingsSource,
        environ: Mapping[str, str],
        bus: "messages.MessageBus | None" = None,
        sinks: Sequence[LogSink] = (),
        log_file: bool = True,
        trust_path: Path | None = None,
        observer: HookObserver | None = None,
        on_fault: OnError = OnError.ALLOW,
        agent: str | None = None,
        fired_by: FiredBy = FiredBy.PROGRAM,
    ) -> None:
        self._facts = facts
        self._source = source
        self._environ = environ
        self.redactor = Redactor(SECRET_NAMES, environ)
        """Keeps secrets out of whatever is written about this session."""
        self._bus = bus
        self._sinks = sinks
        self._log_file = log_file
        self._trust_path = trust_path
        self._observer = None if observer is None else BoundObserver(observer, facts._replace(agent=agent))
        self._on_fault = on_fault
        self._reported = {str(problem) for layer in source.layers for problem in layer.problems}
        self._reported |= {str(problem) for problem in policy_problems(source.layers)}
        self._agent = agent
        self._fired_by = fired_by
        self._program: list[HookEntry] = []
        self.trust_notice = TrustNotice(self._waiting_for_trust)
        """Reports on stderr which hooks wait for trust."""
        self._parts: _EngineParts | None = None
        self.handler: HookEventHandler | None = None
        """Where events are fired; None until the system is initialized."""
        self._lock = threading.RLock()
        # Requests can come before the first event: the first of them initializes the system.
        self._stop_waiting: messages.Unsubscribe = lambda: None
        if bus is not None:
            self._stop_waiting = bus.subscribe(messages.MessageBusType.HOOK_EXECUTION_REQUEST, self._serve_first)

    async def initialize(self) -> None:
        """Reads the hooks; only the first call does anything."""
        self.start()

    def start(self) -> None:
        """The same for callers that do not await; it takes some milliseconds."""
        if self._parts is None:
            with self._lock:  # loops in other threads may have their first event now
                if self._parts is None:
                    self._parts = self._build()
                    self.handler = self._parts.handler
                    self._stop_waiting()

    @property
    def blocks_on_fault(self) -> bool:
        """True if a fault in hookline blocks events that can block. Allowed at any time."""
        return self._on_fault is OnError.BLOCK or blocks_on_fault(self._source.layers)

    @property
    def has_approval_hooks(self) -> bool:
        """Whether hooks may have to run before the user is asked to allow a tool."""
        return self._parts is None or any(hook.at_permission_request for hook in self._parts.settings.hooks)

    def get_registry(self) -> HookRegistry:
        """The hooks that are configured."""
        return self._ready().registry

    def get_event_handler(self) -> HookEventHandler:
        """Where events are fired."""
        return self._ready().handler

    def explain(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan:
        """Which hooks would run for an event about a subject (a tool, a trigger), and why others would not."""
        planner = self._ready().planner
        if self._source.has_changed():
            self._refresh()
        return planner.explain(event, subject)

    def awaits(self, event: HookEventName, subject: str | None = None) -> bool:
        """Whether hooks would run for a lifecycle event whose answers are applied, so that the agent has to wait."""
        return is_awaited(event, self.explain(event, subject).hooks)

    def report_unapplied(self, verdict: Verdict) -> None:
        """Reports on stderr, once per hook, answers that the settings do not apply; an observer shows them itself."""
        if self._observer is not None:
            return
        for unapplied in verdict.unapplied:
            if (place := f"unapplied {unapplied.hook.origin} {unapplied.hook.location}") not in self._reported:
                self._reported.add(place)
                warn_user(unapplied.message)

    def get_settings(self) -> Settings:
        """The settings in force."""
        return self._ready().settings

    def get_log(self) -> HookLogger:
        """Where everything about hooks is written."""
        return self._ready().log

    def log_in_session(self, record: LogRecord, session: str, agent: str | None = None) -> None:
        """Log a record that a program made in one of its sessions, with the source that events have."""
        self.start()
        facts = {"session": session, "agent": agent or self._agent, "fired_by": self._fired_by.value}
        self.get_log().write(msgspec.structs.replace(record, **facts))

    def get_status(self) -> HookSystemStatus:
        """Whether the system is ready and how many hooks it knows; allowed at any time."""
        hooks = self._parts.registry.get_all_hooks() if self._parts else ()
        return HookSystemStatus(initialized=self._parts is not None, total_hooks=len(hooks))

    def get_all_hooks(self) -> tuple[HookEntry, ...]:
        """Every configured hook, disabled ones included."""
        return self.get_registry().get_all_hooks()

    def set_hook_enabled(self, name: str, *, enabled: bool) -> bool:
        """Switches the hooks of a name on or off until the program ends; False when there is none of that name."""
        is_known = self.get_registry().set_hook_enabled(name, enabled=enabled)
        for hook in self.get_all_hooks():
            if hook.label == name and hook.policy is None:
                action = Consent.ENABLED if enabled else Consent.DISABLED
                self.get_log().write(
                    consent_record(action, via="the program", **hook_place(hook), event=hook.event.value)
                )
        return is_known

    def add_hook(self, event: "str | type[Event]", function: "Hook", **options: Unpack[HookOptions]) -> HookEntry:
        """Adds a function of this program as a hook, at any time; the options are those of `Config.add_hook`."""
        hook = functions.callable_hook(event, function, **options)
        with self._lock:
            if self._parts is None:
                self._program.append(hook)
            else:
                self._parts.registry.add(hook)
        return hook

    def end_background(self) -> None:
        """Ends the hooks that run in the background; they get two seconds, as at the end of a program."""
        if self._parts is not None:
            BACKGROUND.end(self._parts.event_log.late)

    def dispose(self) -> None:
        """Leaves the bus and closes the log; the system is not used after this."""
        self._stop_waiting()
        if self._parts is not None:
            self._parts.handler.dispose()
            self._parts.warm_policy.close()
            self._parts.runner.resources.close()
            REAPER.settle(_REAPING_S)
            self._parts.event_log.flush()
            self._parts.log.close()

    async def _serve_first(self, message: "messages.Message") -> None:
        await self.initialize()
        await self.get_event_handler().serve(message)

    def _refresh(self) -> None:
        """Takes over the settings when a file has changed; asked before each event, never during one."""
        if self._parts is None:
            return
        try:
            with self._lock:  # loops in other threads may have found the same
                if not self._source.refresh():
                    return
                self._use(self._parts, self._decode())
        except Exception as error:  # noqa: BLE001 - the settings that were read before still guard the next event
            text = f"the settings changed and could not be read ({error!r}); the hooks that were read before stay"
            trace = "".join(traceback.format_exception(error))
            self._parts.log.write(FaultRecord(level=LogLevel.WARN, message=text, traceback=trace))
        else:
            count = len(self._parts.registry.get_all_hooks())
            message = f"the settings changed and were read again: {count} hooks"
            self._parts.log.write(SettingsRecord(level=LogLevel.INFO, message=message))
            self._report_unusable_files()

    def _report_unusable_files(self) -> None:
        """Report each file that can't be used any more, once."""
        layers = self._source.layers
        unusable = [problem for layer in layers for problem in layer.problems if problem.is_error]
        for problem in (*unusable, *policy_problems(layers)):
            if str(problem) not in self._reported:
                self._reported.add(str(problem))
                warn_user(str(problem))

    def _use(self, parts: _EngineParts, settings: Settings) -> None:
        before, parts.settings = parts.settings.options, settings
        if settings.options.redact != before.redact:
            self.redactor.use(settings.options.redact)
        if settings.options.log != before.log or settings.options.fleet != before.fleet:
            parts.log.use(self._make_sinks(settings.options))
        if settings.options.warm != before.warm:
            parts.warm_policy.close()
            parts.warm_policy = warm_policy_of(settings.options)
        # Hooks may have changed; events that are under way are answered by the old workers.
        parts.runner.resources.drain()
        parts.runner = self._make_runner(settings.options, parts.event_log, parts.warm_policy)
        parts.handler.use(parts.runner, self._rules(settings.options.lifecycle))
        self._set_record(parts.event_log, settings)
        parts.registry.initialize()

    def _decode(self) -> Settings:
        # Another agent applies answers about its prompts and sessions, so hooks that guard it are enforced there.
        return decode_settings(self._source.layers, applies_lifecycle=self._agent is not None)

    def _rules(self, lifecycle: Lifecycle) -> EngineRules:
        policy = next((layer.policy for layer in self._source.layers if layer.policy is not None), None)
        unreadable = next((layer for layer in self._source.layers if layer.is_unreadable), None)
        refusal = None if policy is None or policy.blocks is None else (policy.blocks, Decider.POLICY)
        if self.blocks_on_fault and unreadable is not None:
            refusal = f"{unreadable.problems[0]}, and onFault is block", Decider.FAULT
        return EngineRules(
            on_fault=OnError.BLOCK if self.blocks_on_fault else OnError.ALLOW,
            refusal=refusal,
            agents_off=None if policy is None else policy.agents_off,
            applies_lifecycle=self._agent is not None or lifecycle is Lifecycle.APPLY,
        )

    def _set_record(self, event_log: EventLog, settings: Settings) -> None:
        """Has records say what a company's record needs: the policy's version, and what each hook was."""
        version, fleet = policy_version(settings), settings.options.fleet
        if fleet is None or not fleet.sends_records:
            event_log.use(version, None)
            return
        taken, project = fingerprint.Fingerprinter(self._environ.get("PATH")), self._facts.cwd
        event_log.use(version, lambda hook: taken.fingerprint(hook, os.path.realpath(hook.project or project)).digest)

    def _ready(self) -> _EngineParts:
        if self._parts is None:
            raise HookSystemNotInitializedError
        return self._parts

    def _build(self) -> _EngineParts:
        settings = self._decode()
        self.redactor.use(settings.options.redact)
        log = HookLogger(self._make_sinks(settings.options), os.path.realpath(self._facts.cwd))
        event_log = EventLog(log, self._facts.session_id, self._agent, self._fired_by)
        self._set_record(event_log, settings)
        registry = HookRegistry(lambda: parts.settings, log)
        planner = HookPlanner(
            registry.by_event.__getitem__,
            why_untrusted=self._why_untrusted,
            on_plan=lambda plan: self._report_plan(plan, event_log),
        )
        warm_policy = warm_policy_of(settings.options)
        runner = self._make_runner(settings.options, event_log, warm_policy)
        handler = HookEventHandler(
            facts=self._facts,
            planner=planner,
            runner=runner,
            event_log=event_log,
            bus=self._bus,
            observer=self._observer,
            rules=self._rules(settings.options.lifecycle),
            has_changed=self._source.has_changed,
            refresh=self._refresh,
        )
        parts = _EngineParts(
            settings=settings,
            log=log,
            event_log=event_log,
            registry=registry,
            planner=planner,
            handler=handler,
            runner=runner,
            warm_policy=warm_policy,
        )
        for hook in self._program:
            registry.add(hook)
        try:
            registry.initialize()
        except BaseException:
            handler.dispose()  # or it would serve the bus without any hook
            raise
        return parts

    def _report_plan(self, plan: HookExecutionPlan, event_log: EventLog) -> None:
        # Before anything is written about these hooks: a command may contain a secret from its `env`.
        others = (*plan.unmatched, *(skip.hook for skip in plan.skips))
        for hook in (*plan.hooks, *others):
            if hook.env and (not hook.needs_trust or hook in plan.hooks):
                self.redactor.learn(hook.env)
        event_log.planned(plan)
        self.trust_notice.report(plan)

    def _waiting_for_trust(self) -> list[tuple[HookEntry, str]]:
        hooks = (hook for hook in self.get_all_hooks() if hook.enabled and hook.needs_trust)
        return [(hook, why) for hook in hooks if (why := ask_trust(self._why_untrusted, hook)) is not None]

    def _why_untrusted(self, hook: HookEntry) -> str | None:
        parts = self._ready()
        if hook.policy is not None:
            why = self._script_checks.fault(hook)
        else:
            project = hook.project or self._facts.cwd
            why = self._trust.why_untrusted(hook, project, parts.settings.options.trust)
        if why is not None and hook.worker is not None:
            parts.runner.resources.distrust(hook)
        return why

    @cached_property
    def _trust(self) -> "store.TrustStore":
        return store.TrustStore(self._trust_path or store.default_trust_path(), search_path=self._environ.get("PATH"))

    @cached_property
    def _script_checks(self) -> "provider.ScriptChecks":
        return provider.ScriptChecks()

    def _make_sinks(self, options: HooksConfigSettings) -> tuple[LogSink, ...]:
        return (*(file_sinks(options, self.redactor) if self._log_file else ()), *self._sinks)

    def _make_runner(self, options: HooksConfigSettings, event_log: EventLog, warm_policy: WarmPolicy) -> HookRunner:
        return HookRunner(
            limits=ChildLimits(output_bytes=options.output_limit, max_concurrent=options.max_concurrent),
            environ=self._environ,
            passes=passes_of(options.environment),
            on_environment=self.redactor.learn,
            on_end=self._observer.hook_ended if self._observer is not None else None,
            on_late=event_log.late,
            http_allow=options.http.allow,
            directory=self._facts.cwd,
            # `hookline fire` names a directory; the hooks must not run in another one.
            must_exist=self._fired_by is FiredBy.FIRE,
            warm_policy=warm_policy,
            resources=EngineResources(WorkerSources(), event_log.worker, options.fleet or FleetSettings()),
            agent=self._agent,
            why_untrusted=self._why_untrusted,
        )


def warm_policy_of(options: HooksConfigSettings) -> WarmPolicy:
    """How many interpreters the settings let wait for events."""
    return WarmPolicy(options.warm.max if isinstance(options.warm, WarmSettings) else DEFAULT_MAX_WARM * options.warm)


def file_sinks(options: HooksConfigSettings, redactor: Redactor) -> tuple[FileSink, ...]:
    """The log file that the settings ask for, or nothing if they disable it."""
    if not options.log.enabled:
        return ()
    path, size, backups = log_path(options.log.path), options.log.max_bytes, options.rotated_files
    return (FileSink(path, max_bytes=size, backups=backups, redactor=redactor),)


def policy_version(settings: Settings) -> int | None:
    """The version of the company's policy that is in force."""
    return None if settings.policy is None else settings.policy.version


def passes_of(lists: EnvironmentSettings) -> Callable[[str], bool] | None:
    """Which variables hooks inherit: everything, unless the settings say otherwise."""
    if not lists.allow and not lists.deny:
        return None
    # Without these two hardly any command can run, so an allow-list need not name them.
    allowed = (*lists.allow, "PATH", "HOME") if lists.allow else ("*",)

    def is_inherited(name: str) -> bool:
        if any(fnmatchcase(name, pattern) for pattern in lists.deny):
            return False
        return any(fnmatchcase(name, pattern) for pattern in allowed)

    return is_inherited
