"""Every error that hookline raises on purpose.

    HooklineError
    ├── NotInitializedError
    │   ├── HookSystemNotInitializedError     a HookSystem was used before `await system.initialize()`
    │   └── HookRegistryNotInitializedError   the same for a HookRegistry used on its own
    ├── MissingExtraError                     an optional dependency is needed and not installed
    ├── MissingPartError                      settings need a part that this installation of hookline does not have
    ├── FormatError                           a model request or response has a shape that its format does not know
    ├── SessionClosedError                    a session was used after its end
    ├── AgentStoppedError                     a hook stopped an agent whose framework can end a run only by an exception
    ├── ModelError                            the model could not be called, or its answer ended early
    ├── NoAnswerError                         a request on a message bus got no answer
    ├── TurnLimitError                        the agent did not end within its turns
    └── UsageError                            the command line was given something that it can't use

A failing hook is a result, not an error: see `protocol/results.py`.
"""

import sys
from typing import Any


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
        super().__init__(f"this needs the package {package}, which is not installed; run: {install_command(extra)}")
        self.package = package
        self.extra = extra


class MissingPartError(HooklineError):
    """Settings need a part of hookline that this installation does not have."""

    def __init__(self, part: str, extra: str | None = None) -> None:
        remedy = "install hookline again"
        if extra is not None:
            remedy = f"run: {install_command(extra)}"
        super().__init__(f"this needs {part}, which is not part of this installation; {remedy}")
        self.part = part


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
    """The model could not be called, or its answer ended early."""


class NoAnswerError(HooklineError):
    """A request on a message bus got no answer."""

    def __init__(self, why: str, *, timed_out: bool = False, worker: str | None = None) -> None:
        super().__init__(why)
        self.timed_out = timed_out
        """True if the requester's deadline passed while a worker was busy with the request."""
        self.worker = worker
        """The worker that had the request, where that is known."""


class TurnLimitError(HooklineError):
    """The agent did not end within its turns."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the agent did not come to an end within {limit} turns; allow it more with --max-turns")
        self.limit = limit


class UsageError(HooklineError):
    """The command line was given something that it can't use."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra, from the same source and with the same tool as hookline."""
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - errors are rare, and this is slow to load

    origin = _origin()
    url = str(origin.get("url") or "")
    path = unquote(urlsplit(url).path)
    if not url:
        source = f"'hookline[{extra}]'"
    elif "dir_info" in origin:
        source = f"'{path}[{extra}]'"
    else:
        source = f"'hookline[{extra}] @ {url}'"
    if "/pipx/venvs/" in sys.prefix:
        return f"pipx install --force {source}"
    if "/uv/tools/" in sys.prefix:
        return f"uv tool install --force {source}"
    is_editable = origin.get("dir_info", {}).get("editable") is True
    return f"pip install {'-e ' if is_editable else ''}{source}"


def _origin() -> dict[str, Any]:
    """Return the `direct_url.json` of a package that is not from an index (PEP 610); empty for one that is."""
    import json  # noqa: PLC0415 - as above
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - as above

    try:
        origin = json.loads(distribution("hookline").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return origin if isinstance(origin, dict) and isinstance(origin.get("dir_info", {}), dict) else {}
