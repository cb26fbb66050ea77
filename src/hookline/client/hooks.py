"""The hooks of one program: one engine for all of its sessions."""

import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from hookline.client._checks import check_text, check_type
from hookline.client.config import Config, new_session_id
from hookline.client.events import Engine
from hookline.client.explanation import Explanation
from hookline.client.flow import check_on_ask
from hookline.client.session import Session
from hookline.client.triggers.boundary import attempt
from hookline.client.triggers.results import OnAsk
from hookline.errors import HooklineError
from hookline.extensions import lazy_module
from hookline.protocol.constants import HookOptions, OnError
from hookline.protocol.events import HookEventName, SessionFacts, suggest_event
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline import hook
    from hookline.engine.system import HookSystem
    from hookline.hook import AnyEvent, AnyHook, Event, HookOf
    from hookline.log.write.logger import LogSink
    from hookline.protocol.hook_entry import HookEntry
    from hookline.protocol.messages import MessageBus
    from hookline.protocol.observer import HookObserver
    from hookline.settings.read.paths import SettingsPaths
else:
    hook = lazy_module("hookline.hook")  # for programs that have functions as hooks


# Several `Hooks` may share a `Config`, whose problems are reported once.
_reported: "weakref.WeakSet[Config]" = weakref.WeakSet()


class Hooks:
    """The hooks of one program. One engine serves all of its sessions, in any number of event loops and threads."""

    def __init__(  # noqa: PLR0913 - every option of a program, by its name
        self,
        project: str | os.PathLike[str],
        *,
        settings: Mapping[str, Any] | None = None,
        settings_files: Sequence[str | os.PathLike[str]] | None = None,
        settings_paths: "SettingsPaths | None" = None,
        message_bus: "MessageBus | None" = None,
        environ: Mapping[str, str] | None = None,
        log_sinks: "Sequence[LogSink]" = (),
        trust_path: str | os.PathLike[str] | None = None,
        observer: "HookObserver | None" = None,
        on_fault: OnError | str = OnError.ALLOW,
        on_ask: OnAsk | None = None,
        quiet: bool = False,
        dialects: Sequence[str] = (),
        log_file: bool = True,
    ) -> None:
        """Reads the settings, from one of three places.

        Args:
            project: the project's directory; hooks run there.
            settings: settings in code, instead of any file.
            settings_files: the only files to read, highest priority first; naming a file means trusting it.
            settings_paths: where the project's, the user's and the system's file are, if not in the usual places.
            message_bus: a bus on which events can also be requested.
            environ: the environment that hooks inherit, if not this program's own.
            log_sinks: where the log goes besides the file that the settings name.
            trust_path: the trust store, if not the user's own.
            observer: watches hooks at work.
            on_fault: "block" makes events that can block do so when hookline itself fails or a settings file can't be
                read; `hooksConfig.onFault` does the same.
            on_ask: called with the reason and the arguments when a hook wants the user to be asked before a tool runs;
                returns, or is awaited for, whether it may. Without it such a call is refused, with the reason. "allow"
                runs such calls without a question.
            quiet: say nothing on stderr about settings that can't be read or that have no effect.
            dialects: other agents whose settings files are read as well, besides those of `hooksConfig.dialects`:
                "claude", "codex", "gemini". With `settings_files`, the one agent whose files these are.
            log_file: False keeps everything out of the log file that the settings name, for tests.
        """
        check_type("settings", settings, Mapping | None, "a mapping or None")
        if settings is not None and settings_files is not None:
            raise ValueError("settings and settings_files are given; only one of them can be used")
        self._use(
            Config(
                project,
                settings=settings,
                settings_files=settings_files,
                settings_paths=settings_paths,
                message_bus=message_bus,
                environ=environ,
                log_sinks=log_sinks,
                trust_path=trust_path,
                observer=observer,
                on_fault=on_fault,
                quiet=quiet,
                dialects=dialects,
                log_file=log_file,
            ),
            on_ask,
        )

    @classmethod
    def from_config(cls, config: Config, *, on_ask: OnAsk | None = None) -> Self:
        """The hooks of a program that has a `Config`; a session that is made without an id has the config's facts."""
        hooks = cls.__new__(cls)
        hooks._use(config, on_ask, is_shared=True)  # noqa: SLF001 - its own
        return hooks

    def _use(self, config: Config, on_ask: OnAsk | None, *, is_shared: bool = False) -> None:
        check_on_ask(on_ask)
        self._engine = Engine(config, on_ask)
        self._is_shared = is_shared
        self._lock = threading.Lock()
        if not config.is_quiet and config not in _reported:
            _reported.add(config)
            self._report_problems()

    def _report_problems(self) -> None:
        """Says on stderr what is configured and has no effect; `Config` has reported files that can't be read."""
        config = self.config
        if not os.path.isdir(config.get_working_dir()):
            warn_user(f"the project's directory {config.get_working_dir()} does not exist, so nothing is read from it")
        found = [problem for problem in config.get_problems() if not problem.is_error]
        for problem in (*found, *config.get_hook_problems(), *config.get_misplaced()):
            warn_user(str(problem))

    @property
    def config(self) -> Config:
        """The settings, and the way to the engine itself."""
        return self._engine.config

    @overload
    def on(
        self, event: "type[AnyEvent]", **options: Unpack[HookOptions]
    ) -> "Callable[[HookOf[AnyEvent]], HookOf[AnyEvent]]": ...

    @overload
    def on(self, event: HookEventName | str, **options: Unpack[HookOptions]) -> "Callable[[AnyHook], AnyHook]": ...

    def on(self, event: "type[Event] | HookEventName | str", **options: Unpack[HookOptions]) -> Any:
        """Registers the function below it as a hook of an event, after the hooks of the settings.

        It gets the event (`hookline.hook` has a class for each), and returns or raises an answer, or returns None. The
        options are those of `Config.add_hook`: matcher, name, timeout in seconds, on_error, final, sequential, thread.
        It runs even if the settings enable no hooks: the program itself asked for it.
        """
        if self._engine.is_closed:
            raise HooklineError("these hooks are closed; register functions before that")
        _check_event(event)

        def register(function: "AnyHook") -> "AnyHook":
            self.config.add_hook(event, function, **options)
            return function

        return register

    def session(
        self,
        id: str | None = None,  # noqa: A002 - what everybody calls it
        *,
        agent: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        transcript_path: str | os.PathLike[str] | None = None,
        on_ask: OnAsk | None = None,
    ) -> Session:
        """A session of this program: cheap, with an id that is made if it is not given.

        Args:
            id: the session's identifier, as hooks and log have it.
            agent: which of the program's agents it is, for the log.
            cwd: the directory in the input of hooks; the project's if not given. They run in the project's in any case,
                because that is where their scripts were found and trusted.
            transcript_path: the session's transcript, as hooks read it.
            on_ask: the session's own `on_ask`, in place of that of `Hooks`.
        """
        check_type("agent", agent, str | None, "a text or None")
        check_on_ask(on_ask)
        session_id, transcript = id, transcript_path
        if id is None and self._is_shared:
            session_id, transcript = self.config.get_session_id(), transcript or self.config.get_transcript_path()
        elif id is not None:
            check_text("the session's id", id)
        facts = SessionFacts(
            session_id=session_id or new_session_id(),
            cwd=self.config.get_working_dir() if cwd is None else os.path.abspath(cwd),  # not resolved
            transcript_path="" if transcript is None else os.fspath(transcript),
            agent=agent,
        )
        return Session(self._engine, facts, on_ask)

    def has_hooks(self, event: HookEventName | str, *others: HookEventName | str) -> bool:
        """Whether any hook is configured for these events, whatever its matcher, and whether or not it is trusted."""
        wanted = [*map(HookEventName, (event, *others))]
        return self._ask_system(lambda system: any(map(system.get_registry().get_hooks_for_event, wanted)))

    def explain(
        self, event: HookEventName | str, *, tool: str | None = None, subject: str | None = None
    ) -> Explanation:
        """Which hooks would run for an event now, functions included, and why others would not; runs nothing.

        Print it, or look at its `hooks` and `skipped`.

        Args:
            event: the event, such as "BeforeTool".
            tool: the tool that it is about (BeforeTool, AfterTool).
            subject: the source, reason, trigger or type that it is about (SessionStart, …).
        """
        wanted, about = HookEventName(event), tool if subject is None else subject
        check_type("tool or subject", about, str | None, "a text or None")
        if (system := self._engine.system) is None:
            return Explanation(None)
        system.start()
        return Explanation(system.explain(wanted, about))

    def list_hooks(self, event: HookEventName | str | None = None) -> "tuple[HookEntry, ...]":
        """Every hook that is configured or registered, of one event or of all; disabled ones included.

        Of a project's settings it lists those without trust as well, which do not run: `explain` says which run.
        """
        wanted = None if event is None else HookEventName(event)
        if (system := self._engine.system) is None:
            return ()
        system.start()
        return tuple(hook for hook in system.get_all_hooks() if wanted in (None, hook.event))

    @property
    def must_hold_stream(self) -> bool:
        """True while AfterModel hooks may change what the model says: show nothing of it before `after_model`.

        `hooksConfig.streamDuringAfterModel` makes it False.
        """

        def is_held(system: "HookSystem") -> bool:
            has_hooks = bool(system.explain(HookEventName.AFTER_MODEL).hooks)
            return has_hooks and not system.get_settings().options.stream_during_after_model

        return self._ask_system(is_held)

    def _ask_system(self, question: "Callable[[HookSystem], bool]") -> bool:
        system = self._engine.system
        if system is None:
            return False

        def answer() -> bool:
            system.start()
            return question(system)

        # If it can't be known, there may be hooks.
        return attempt(answer, otherwise=True, consequence="whether there are hooks is not known")

    def close(self) -> None:
        """Ends everything within bounded time: hooks of `session.sync`, hooks in the background, and the log."""
        with self._lock:
            if self._engine.is_closed:
                return
            self._engine.is_closed = True
        self._engine.blocking.close()
        if (system := self._engine.system) is not None:
            # Each in a separate function: where the system could not be created, looking the method up raises.
            attempt(lambda: system.end_background(), None, "hooks in the background may still run")  # noqa: PLW0108 - so
            attempt(lambda: system.dispose(), None, "the log is not closed")  # noqa: PLW0108 - so

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_event(event: object) -> None:
    """HooklineError for anything but an event: `@hooks.on` without one would register nothing, without any sign."""
    if isinstance(event, str):
        if event not in set(HookEventName):
            raise HooklineError(f"{event!r} is not an event; {suggest_event(event)}")
    elif not isinstance(event, type) or not issubclass(event, hook.Event):
        raise HooklineError(f'hooks.on needs an event, such as @hooks.on("BeforeTool"), and not {event!r}')
