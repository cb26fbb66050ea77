"""Every error that hookline raises on purpose.

    HooklineError
    ├── NotInitializedError
    │   ├── HookSystemNotInitializedError     a HookSystem was used before `await system.initialize()`
    │   └── HookRegistryNotInitializedError   the same for a HookRegistry used on its own
    ├── MissingExtraError                     an optional dependency is needed and not installed
    ├── FormatError                           a model request or response has a shape that its format does not know
    ├── SessionClosedError                    a session was used after its end
    ├── AgentStoppedError                     a hook stopped an agent whose framework can end a run only by an exception
    ├── ModelError                            the model could not be asked, or its answer broke off
    ├── NoAnswerError                         nobody answered a request on a message bus
    ├── TurnLimitError                        the agent did not come to an end within its turns
    └── UsageError                            the command line was given something it cannot work with

A failing hook is a result, not an error: see `contract/results.py`.
"""


class HooklineError(Exception):
    """The base of everything hookline raises on purpose."""


class NotInitializedError(HooklineError):
    """A part was used before it was initialized."""


class HookSystemNotInitializedError(NotInitializedError):
    """The hook system was used before `initialize()`."""

    def __init__(self) -> None:
        super().__init__("the hook system is not initialized; call `await system.initialize()` first")


class HookRegistryNotInitializedError(NotInitializedError):
    """The hook registry was used before `initialize()`."""

    def __init__(self) -> None:
        super().__init__("the hook registry is not initialized; call `registry.initialize()` first")


class MissingExtraError(HooklineError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        from hookline.extras import install_command  # noqa: PLC0415 - looks at how this was installed

        super().__init__(f"this needs the package {package}, which is not installed; run: {install_command(extra)}")
        self.package = package
        self.extra = extra


class FormatError(HooklineError):
    """A model request or response has a shape that its format does not know, so hooks would miss something in it."""

    def __init__(self, where: str, found: str, expected: str) -> None:
        super().__init__(f"{where} is {found}; expected {expected}")
        self.where = where
        self.found = found
        self.expected = expected


class SessionClosedError(HooklineError):
    """A session, or the hooks that it belongs to, was used after its end."""

    def __init__(self, what: str, remedy: str = "make another with `hooks.session()`") -> None:
        super().__init__(f"{what} is closed; {remedy}")


class AgentStoppedError(HooklineError):
    """A hook stopped the agent, in a framework that can end this run only by an exception."""


class ModelError(HooklineError):
    """The model could not be asked, or its answer broke off."""


class NoAnswerError(HooklineError):
    """Nobody answered a request on a message bus."""

    def __init__(self, why: str, *, timed_out: bool = False, worker: str | None = None) -> None:
        super().__init__(why)
        self.timed_out = timed_out
        """True when the time that the asker gave is over, although somebody worked on it."""
        self.worker = worker
        """Who worked on it, where that is known."""


class TurnLimitError(HooklineError):
    """The agent did not come to an end within its turns."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the agent did not come to an end within {limit} turns; allow it more with --max-turns")
        self.limit = limit


class UsageError(HooklineError):
    """The command line was given something it cannot work with."""
