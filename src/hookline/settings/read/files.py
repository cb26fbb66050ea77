"""Reads one settings file. Light on purpose: this is all that runs while hooks are disabled."""

import json
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from hookline.errors import HooklineError
from hookline.extensions import lazy_module
from hookline.protocol.constants import OWN_DIALECT, ConfigSource
from hookline.settings.read import jsonc
from hookline.settings.read.jsonc import PathStep
from hookline.settings.read.permissions import access_fault

if TYPE_CHECKING:
    from hookline.settings.read import toml
    from hookline.settings.read.policy_state import PolicyState
else:
    toml = lazy_module("hookline.settings.read.toml")  # only Codex has such files

NOTHING_RUNS = "so none of its hooks run"
# Of each file; the rest is counted.
MOST_PROBLEMS = 20

_LARGEST_BYTES = 4 << 20
# Python parses TOML some hundred times slower than JSON, and each command would wait for it.
_LARGEST_TOML_BYTES = 256 << 10


# Neither msgspec nor dataclasses: this is loaded while hooks are disabled, and at the start of every command.
class Problem(NamedTuple):
    """Something wrong with the settings: where, what, and what to do."""

    origin: str
    path: str
    message: str
    is_error: bool = False
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = f"{self.origin}:{self.line}:{self.column}" if self.line else self.origin
        return f"{place}: {self.path} {self.message}" if self.path else f"{place}: {self.message}"


class Layer(NamedTuple):
    """The settings of one file (or given in code), as they were read."""

    source: ConfigSource
    origin: str
    """The file's path, or another name that the user can look for."""
    values: Mapping[str, Any] = MappingProxyType({})
    text: str | None = None
    is_guest: bool = False
    """True for a project's own file: its hooks need trust, and it can't change how other hooks run."""
    problems: tuple[Problem, ...] = ()
    dialect: str = OWN_DIALECT
    """The dialect of its hooks, unless they name one: `claude` for .claude/settings.json."""
    env: Mapping[str, str] = MappingProxyType({})
    """Variables for all of its hooks, such as CLAUDE_PLUGIN_ROOT for those of a plugin."""
    silences_below: int = 0
    """For another agent's file: its dialect's hooks in layers with less authority than this are disabled by it."""
    policy: "PolicyState | None" = None
    """For the company's policy: its version, what is wrong with it, and its switches."""
    project: str | None = None
    """For a project inside the session's own: its directory. It adds hooks, which rank below those of the outer one."""
    is_canary: bool = False
    """True for the guard of `hookline doctor --prove`, which runs beside a policy's hooks even where no other may."""

    @property
    def is_unreadable(self) -> bool:
        """True when the file exists and has never been read."""
        return self.text is None and any(problem.is_error for problem in self.problems)

    def problem(self, path: Sequence[PathStep], message: str, *, is_error: bool = False) -> Problem:
        """A problem at a place of this layer, with line and column if the layer has a text."""
        at = jsonc.position_of(self.text, path) if self.text is not None and not _is_toml(self.origin) else None
        return Problem(
            origin=self.origin,
            path=jsonc.show_path(path),
            message=message,
            is_error=is_error,
            line=at and at[0],
            column=at and at[1],
        )


def first_problems(problems: Iterable[Problem], most: int = MOST_PROBLEMS) -> list[Problem]:
    """Each problem once, and at most so many per file: errors first, and the last one says how many more there are."""
    by_origin: dict[str, list[Problem]] = {}
    for problem in dict.fromkeys(problems):
        by_origin.setdefault(problem.origin, []).append(problem)
    return [problem for found in by_origin.values() for problem in _shortened(found, most)]


def _shortened(problems: list[Problem], most: int) -> list[Problem]:
    if len(problems) <= most:
        return problems
    # Stable, so errors and warnings each keep their order.
    problems = sorted(problems, key=lambda problem: not problem.is_error)
    shown, rest = problems[: most - 1], problems[most - 1 :]
    message = f"and {len(rest):,} more problems in this file"
    return [*shown, Problem(origin=rest[0].origin, path="", message=message, is_error=rest[0].is_error)]


def read_layer(
    path: Path,
    source: ConfigSource,
    *,
    is_guest: bool = False,
    dialect: str = OWN_DIALECT,
    env: Mapping[str, str] | None = None,
) -> Layer:
    """Return the layer of one file: empty if the file does not exist, with a problem if it can't be used.

    `dialect` and `env` are for the files of other agents; the layer gives them to all of its hooks.
    """
    origin = str(path)
    try:
        # A project's hooks need trust anyway, and the user names the other files.
        text = _read(path, is_believed=source in (ConfigSource.USER, ConfigSource.SYSTEM))
        values = {} if text is None else _parse_toml(text) if _is_toml(origin) else _parse(text)
    except _UnusableError as error:
        problem = Problem(
            origin=origin,
            path="",
            message=f"{error.what}, {NOTHING_RUNS}; {error.advice}",
            is_error=True,
            line=error.line,
            column=error.column,
        )
        return Layer(
            source=source, origin=origin, is_guest=is_guest, problems=(problem,), dialect=dialect, env=env or {}
        )
    twice = "appears twice in one object, and only the last one is used; merge the two"
    problems = tuple(
        Problem(origin=origin, path="", message=f"the key {json.dumps(key)} {twice}", line=line, column=column)
        for key, line, column in ([] if text is None or _is_toml(origin) else jsonc.repeated_keys(text))
    )
    return Layer(
        source=source,
        origin=origin,
        values=values,
        text=text,
        is_guest=is_guest,
        problems=problems,
        dialect=dialect,
        env=env or {},
    )


def open_without_waiting(path: str | Path, *, buffering: int = -1) -> BinaryIO:
    """The file, open for reading; opening a pipe does not wait for a writer."""
    flags = os.O_NONBLOCK | os.O_NOCTTY
    return open(path, "rb", buffering, opener=lambda name, usual: os.open(name, usual | flags))


def read_file(path: Path) -> Mapping[str, Any] | None:
    """Return the values of another agent's JSON or TOML file, or None if it does not exist.

    Raises HooklineError with the file's name for a file that is too large, not regular, or not readable.
    """
    try:
        text = _read(path, is_believed=False)
        return None if text is None else _parse_toml(text) if _is_toml(str(path)) else _parse(text)
    except _UnusableError as error:
        raise HooklineError(f"{path} can't be read: it {error.what}; {error.advice}") from error


class _UnusableError(Exception):
    """Why a settings file can't be used, and what to do about it."""

    def __init__(self, what: str, advice: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.advice = advice
        self.line = line
        self.column = column


def _read(path: Path, *, is_believed: bool) -> str | None:
    """Return the text of the file; None if it does not exist."""
    try:
        # A project's file is read before it is trusted: it may be a pipe, or a link to an endless device.
        with open_without_waiting(path) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _UnusableError("is not a regular file", "put a settings file there")
            if is_believed and (fault := access_fault(path, status)):
                raise _UnusableError(*fault)
            most = _LARGEST_TOML_BYTES if _is_toml(str(path)) else _LARGEST_BYTES
            # Not by its status alone: it may grow, or be a file of /proc, whose size is 0.
            if len(data := file.read(most + 1)) > most:
                raise _UnusableError(f"is larger than {most >> 10:,} KiB", "keep only settings in it")
            return data.decode("utf-8-sig")
    except FileNotFoundError:
        if path.is_symlink():
            raise _UnusableError("is a link to a file that does not exist", "fix the link or remove it") from None
        return None
    except NotADirectoryError:
        return None
    except IsADirectoryError:
        raise _UnusableError("is a directory", "put a settings file there") from None
    except OSError as error:
        raise _UnusableError(f"can't be read ({error.strerror})", "check its permissions") from error
    except UnicodeDecodeError as error:
        raise _UnusableError(f"is not UTF-8 (byte {error.start})", "save it as UTF-8") from error


def _is_toml(origin: str) -> bool:
    return origin.endswith(".toml")


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return toml.parse(text)
    except ValueError as error:
        raise _UnusableError(f"is not TOML that can be read ({error})", "fix it") from error


def _parse(text: str) -> dict[str, Any]:
    if not text.strip():
        raise _UnusableError("is empty", "write {} or remove it")
    try:
        values = jsonc.parse(text)
    except json.JSONDecodeError as error:
        raise _UnusableError(f"is not JSON ({error.msg})", "fix it at this place", error.lineno, error.colno) from error
    except ValueError as error:
        raise _UnusableError(f"is not JSON ({error})", "fix it") from error
    except RecursionError as error:
        raise _UnusableError("is nested too deeply", "fix it") from error
    if not isinstance(values, dict):
        raise _UnusableError("is not a JSON object", "start it with {")
    return values
