"""The facts and settings of a program. The engine is loaded only when hooks are enabled and the first is needed."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from hookline.extensions import lazy_module
from hookline.protocol.constants import ConfigSource, FiredBy, HookOptions, OnError
from hookline.protocol.events import SessionFacts
from hookline.settings.read.files import MOST_PROBLEMS, Layer, Problem, first_problems, read_layer
from hookline.settings.read.merge import (
    blocks_on_fault,
    hooks_enabled,
    misplaced_keys,
    named_dialects,
    policy_problems,
    without_effect,
)
from hookline.settings.read.paths import SettingsPaths, default_paths
from hookline.settings.read.provider import policy_layers
from hookline.settings.read.source import FileWatch, SettingsSource
from hookline.stderr import warn_user

if TYPE_CHECKING:
    import uuid

    from hookline.dialects import registry
    from hookline.engine import system as engine
    from hookline.engine.system import HookSystem
    from hookline.hook import Event, Hook
    from hookline.log.redact import redactor as redaction
    from hookline.log.redact.redactor import Redactor
    from hookline.log.write.logger import LogSink
    from hookline.protocol.messages import MessageBus
    from hookline.protocol.observer import HookObserver
    from hookline.settings import canary
    from hookline.settings.agents import files as agent_files
    from hookline.settings.agents.files import UnreadAgent
    from hookline.settings.decode import settings as decoding
    from hookline.settings.decode.settings import Settings
else:  # most programs need few of these, and none while hooks are disabled
    uuid = lazy_module("uuid")
    registry = lazy_module("hookline.dialects.registry")
    engine = lazy_module("hookline.engine.system")
    redaction = lazy_module("hookline.log.redact.redactor")
    canary = lazy_module("hookline.settings.canary")
    agent_files = lazy_module("hookline.settings.agents.files")
    decoding = lazy_module("hookline.settings.decode.settings")

# Loaded while there are descriptors to load them with; see `client/triggers/boundary.py: fault_verdict`.
_FOR_A_BLOCK = ("hookline.engine.event_table", "hookline.protocol.results")


class Config:
    """The session's facts and settings, and the way to the hook system."""

    def __init__(  # noqa: PLR0913 - every option of a program, by its name
        self,
        working_dir: str | os.PathLike[str],
        *,
        session_id: str | None = None,
        settings: Mapping[str, Any] | None = None,
        settings_files: Sequence[str | os.PathLike[str]] | None = None,
        settings_paths: SettingsPaths | None = None,
        transcript_path: str = "",
        message_bus: "MessageBus | None" = None,
        environ: Mapping[str, str] | None = None,
        log_sinks: "Sequence[LogSink]" = (),
        trust_path: str | os.PathLike[str] | None = None,
        observer: "HookObserver | None" = None,
        on_fault: OnError | str = OnError.ALLOW,
        quiet: bool = False,
        agent: str | None = None,
        dialects: Sequence[str] = (),
        log_file: bool = True,
        fired_by: FiredBy = FiredBy.PROGRAM,
    ) -> None:
        """Reads the settings, from one of three places.

        Args:
            working_dir: the project's directory; hooks run there.
            session_id: the session's identifier; one is made if it is not given.
            settings: settings in code, instead of any file.
            settings_files: the only files to read, highest priority first; naming a file means trusting it.
            settings_paths: where the project's, the user's and the system's file are, if not in the usual places.
            transcript_path: the session's transcript, as hooks read it.
            message_bus: a bus on which events can also be requested.
            environ: the environment that hooks inherit, if not this program's own.
            log_sinks: where the log goes besides the file that the settings name.
            trust_path: the trust store, if not the user's own.
            observer: watches hooks at work.
            on_fault: "block" makes events that can block do so when hookline itself fails or a settings file can't be
                read; `hooksConfig.onFault` does the same.
            quiet: say nothing on stderr about a settings file that can't be read, because `get_problems()` is shown.
            agent: the other agent whose hook command this is, for the log.
            dialects: other agents whose settings files are read as well, besides those of `hooksConfig.dialects`:
                "claude", "codex", "gemini". With `settings_files`, the one agent whose files these are.
            log_file: False keeps everything out of the log file that the settings name, for runs that only try hooks.
            fired_by: who fires the events, for the log; only events of a real agent are evidence that it is guarded.
        """
        self._working_dir = os.path.abspath(working_dir)
        self.session_facts = SessionFacts(
            session_id=session_id or new_session_id(), cwd=self._working_dir, transcript_path=transcript_path
        )
        """The program's own session, as hooks and the log see it."""
        self._bus = message_bus
        self._environ = os.environ if environ is None else environ
        self._log_sinks = log_sinks
        self._log_file = log_file
        self._trust_path = Path(trust_path) if trust_path is not None else None
        self._observer = observer
        self._on_fault = OnError(on_fault)
        self._agent = agent
        self._fired_by = fired_by
        self.is_quiet = quiet
        """Whether the program shows the problems of the settings itself."""
        self._paths = settings_paths or default_paths(self._working_dir)
        self._dialects = _known_dialects(dialects, settings, settings_files)
        self._has_usual_places = settings is None and settings_files is None
        self._source = self._make_source(settings, settings_files)
        layers = self._source.layers
        self._enabled, enabling_problems = hooks_enabled(layers)
        idle = without_effect(layers)
        of_policy = policy_problems(layers)
        problems = (*(problem for layer in layers for problem in layer.problems), *of_policy, *enabling_problems, *idle)
        # Half of the lines, because hooks without trust are reported as well.
        self._problems = tuple(first_problems(problems, MOST_PROBLEMS // 2))
        if not quiet:
            for problem in self._problems:
                if problem.is_error or problem in of_policy:
                    warn_user(str(problem))
            if self._dialects and self._has_usual_places and not self._enabled:
                words = f"the hooks of {', '.join(self._dialects)} do not run: the settings do not enable hooks"
                warn_user(f'{words}; set "enableHooks": true in {self._paths.user}')
        # A file that can't be read might be the one that enables hooks.
        is_unsure = any(layer.is_unreadable for layer in layers) and self.blocks_on_fault()
        self._has_system = self._enabled or is_unsure
        self._hook_system: HookSystem | None = None
        self._redactor: Redactor | None = None
        self._lock = threading.RLock()
        if message_bus is not None:
            self.get_hook_system()  # it answers requests on the bus from now on
        elif self._has_system and self.blocks_on_fault():
            for module in _FOR_A_BLOCK:
                import_module(module)  # raises if it fails: without these modules no event could be blocked

    def get_hook_system(self) -> "HookSystem | None":
        """The hook system, made on the first call; None while hooks are disabled.

        With `on_fault` block there is also one if a settings file can't be read: then events that can block do so.
        """
        if not self._has_system:
            return None
        return self._hook_system or self._make_hook_system()

    def _make_hook_system(self) -> "HookSystem":
        with self._lock:
            if self._hook_system is None:
                self._hook_system = engine.HookSystem(
                    facts=self.session_facts,
                    source=self._source,
                    environ=self._environ,
                    bus=self._bus,
                    sinks=self._log_sinks,
                    log_file=self._log_file,
                    trust_path=self._trust_path,
                    observer=self._observer,
                    on_fault=self._on_fault,
                    agent=self._agent,
                    fired_by=self._fired_by,
                )
            return self._hook_system

    def add_hook(self, event: "str | type[Event]", function: "Hook", **options: Unpack[HookOptions]) -> None:
        """Adds a function of this program as a hook, after those of the settings; it runs even if these are disabled.

        Args:
            event: the event, such as "BeforeTool", or its class in `hookline.hook`.
            function: gets the event, and returns or raises an answer of `hookline.hook`, or returns None.
            options: matcher, name, description, timeout (in seconds), on_error, final, sequential, thread.
        """
        self._make_hook_system().add_hook(event, function, **options)
        self._has_system = True

    def blocks_on_fault(self) -> bool:
        """Whether a fault of hookline blocks, on events that can block."""
        return self._on_fault is OnError.BLOCK or blocks_on_fault(self._source.layers)

    def get_enable_hooks(self) -> bool:
        """Whether the settings enable hooks."""
        return self._enabled

    def get_session_id(self) -> str:
        """The session's identifier."""
        return self.session_facts.session_id

    def get_working_dir(self) -> str:
        """The project's directory."""
        return self._working_dir

    def get_transcript_path(self) -> str:
        """The path of the session's transcript, or an empty string."""
        return self.session_facts.transcript_path

    def get_environ(self) -> Mapping[str, str]:
        """The environment that hooks inherit."""
        return self._environ

    def get_redactor(self) -> "Redactor":
        """Keeps secrets out of whatever is written about this session: the same one that the log uses."""
        with self._lock:
            if self._redactor is None:
                system, patterns = self.get_hook_system(), self.get_settings().options.redact
                self._redactor = redaction.Redactor(patterns, self._environ) if system is None else system.redactor
                self._redactor.use(patterns)  # a system that is not initialized has not read them yet
        return self._redactor

    def get_layers(self) -> tuple[Layer, ...]:
        """The settings as they were read, most specific first."""
        return self._source.layers

    def get_settings(self) -> "Settings":
        """Everything that the layers say about hooks, decoded."""
        return decoding.decode_settings(self._source.layers)

    def has_changed(self) -> bool:
        """Whether a settings file has changed since it was read; looks again after two milliseconds at the earliest."""
        return self._source.has_changed()

    def get_problems(self) -> tuple[Problem, ...]:
        """Return the problems of the settings files as such; `get_settings().problems` has those of their hooks."""
        return self._problems

    def get_hook_errors(self) -> tuple[Problem, ...]:
        """Return the problems of single hooks, which do not run; empty while the settings enable no hooks."""
        return tuple(problem for problem in self.get_hook_problems() if problem.is_error)

    def get_hook_problems(self) -> tuple[Problem, ...]:
        """The same, and what else has no effect: options with a wrong value, keys that do nothing on their hook."""
        if not self._enabled:
            return ()
        return tuple(problem for problem in self.get_settings().problems if problem not in self._problems)

    def get_misplaced(self) -> tuple[Problem, ...]:
        """Keys that look like ours and are not, in settings that were named or given in code; `check` finds all."""
        if self._has_usual_places:
            return ()
        named = (layer for layer in self._source.layers if layer.source is ConfigSource.PROJECT)
        return tuple(problem for layer in named for problem in misplaced_keys(layer))

    def get_unread(self) -> "tuple[UnreadAgent, ...]":
        """The other agents that have hooks here which are not read; none for settings that were named or given."""
        if not self._has_usual_places:
            return ()
        read = {layer.dialect for layer in self._source.layers}
        return agent_files.unread_agents(read, Path(self._working_dir), self._paths.environ or os.environ)

    def get_user_file(self) -> Path:
        """The user's settings file."""
        return self._paths.user

    def _make_source(
        self, settings: Mapping[str, Any] | None, files: Sequence[str | os.PathLike[str]] | None
    ) -> SettingsSource:
        if settings is not None:
            layer = Layer(source=ConfigSource.PROJECT, origin="settings given in code", values=settings)
            return SettingsSource(lambda watch: (layer, *self._policy(watch)))
        if files is not None:
            named = [Path(file).absolute() for file in files]
            return SettingsSource(
                lambda watch: (
                    *(watch.read(file, self._read_named) for file in named),
                    *self._canary(watch),
                    *self._policy(watch),
                )
            )
        return SettingsSource(self._read_usual)

    def _read_named(self, file: Path) -> Layer:
        """A file that was named: which means that it is trusted, and that its hooks shall run."""
        if not self._dialects:
            return read_layer(file, ConfigSource.PROJECT)
        layer = agent_files.read_as(self._dialects[0], file, ConfigSource.PROJECT)
        return layer._replace(values={**layer.values, "enableHooks": True})

    def _read_usual(self, watch: FileWatch) -> tuple[Layer, ...]:
        """The project's, the user's and the system's file, and those of other agents that shall be read."""
        # Absolute, because a program that changes its directory must not lose its guards.
        places = [(source, path.absolute()) for source, path in self._paths.by_source()]
        if os.path.realpath(places[0][1]) == os.path.realpath(places[1][1]):
            # In the home directory, the project's file is the user's own, which needs no trust.
            places = places[1:]

        def reader(source: ConfigSource) -> Callable[[Path], Layer]:
            return lambda path: read_layer(path, source, is_guest=source is ConfigSource.PROJECT)

        def nested(path: Path) -> Layer:
            return reader(ConfigSource.PROJECT)(path)._replace(project=str(path.parents[1]))

        layers = (
            *(watch.read(path, nested) for path in self._paths.nested),
            *(watch.read(path, reader(source)) for source, path in places),
        )
        # An agent that asks our hooks runs its own ones itself.
        dialects = [name for name in dict.fromkeys((*self._dialects, *named_dialects(layers))) if name != self._agent]
        layers = (*layers, *self._canary(watch), *self._policy(watch, layers[-1]))
        if not dialects:
            return layers
        return (
            *layers,
            *agent_files.read_agents(dialects, Path(self._working_dir), self._paths.environ or os.environ, watch),
        )

    def _policy(self, watch: FileWatch, system: Layer | None = None) -> tuple[Layer, ...]:
        """The company's policy, where the system's settings name one; files that a program names don't replace it."""
        if system is None:
            path = self._paths.system.absolute()
            system = watch.read(path, lambda file: read_layer(file, ConfigSource.SYSTEM))
            if system.is_unreadable:  # it may name a policy
                return (system,)
        layers = policy_layers(system, watch)
        if self._paths.refused is None:
            return layers
        note = Problem(origin=system.origin, path="", message=self._paths.refused)
        return tuple(layer._replace(problems=(*layer.problems, note)) for layer in layers)

    def _canary(self, watch: FileWatch) -> tuple[Layer, ...]:
        """The guard of `hookline doctor --prove` while it proves something: see settings/canary.py."""
        # A program that names files wants these alone. Where another agent asks, its path is what the canary proves.
        if not self._has_usual_places and self._agent is None:
            return ()
        path = self._paths.canary.absolute()
        watch.watch(path)
        if watch.stamps[path] is None:
            return ()
        return canary.canary_layers(path)


def new_session_id() -> str:
    """An identifier for a session that was not given one."""
    return str(uuid.uuid4())


def _known_dialects(
    dialects: Sequence[str], settings: Mapping[str, Any] | None, files: Sequence[str | os.PathLike[str]] | None
) -> tuple[str, ...]:
    if isinstance(dialects, str | bytes) or not isinstance(dialects, Sequence):
        raise TypeError(f"dialects is {dialects!r}; expected a list of names, such as ['claude']")
    if not dialects:
        return ()
    for name in dialects:
        if name not in registry.FOREIGN_DIALECTS:
            raise ValueError(
                f"{name!r} is not an agent whose files are read; these are {', '.join(registry.FOREIGN_DIALECTS)}"
            )
    if settings is not None:
        raise ValueError("dialects are about files, and settings are given in code")
    if files is not None and len(dialects) > 1:
        raise ValueError("settings_files are of one dialect")
    return tuple(dialects)
