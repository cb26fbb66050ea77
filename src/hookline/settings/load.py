"""Reads one settings file. Light on purpose: this is all that runs while hooks are disabled."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hookline.contract.hooks import ConfigSource
from hookline.settings import jsonc
from hookline.settings.jsonc import PathStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The settings of one file (or given in code), as they were read."""

    source: ConfigSource
    origin: str
    """The file's path, or what else a person would look for."""
    values: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    is_guest: bool = False
    """True for a project's own file: its hooks need trust, and it cannot change how others' hooks run."""
    problems: tuple[Problem, ...] = ()

    def problem(self, path: Sequence[PathStep], message: str, *, is_error: bool = False) -> Problem:
        """A problem at a place of this layer, with its line where there is a text."""
        at = jsonc.position_of(self.text, path) if self.text is not None else None
        return Problem(
            origin=self.origin,
            path=jsonc.show_path(path),
            message=message,
            is_error=is_error,
            line=at and at[0],
            column=at and at[1],
        )


def read_layer(path: Path, source: ConfigSource, *, is_guest: bool = False) -> Layer:
    """The layer of one file: empty when there is none, with a problem when it cannot be used."""
    origin = str(path)

    def unusable(message: str, line: int | None = None, column: int | None = None) -> Layer:
        problem = Problem(origin=origin, path="", message=message, is_error=True, line=line, column=column)
        return Layer(source=source, origin=origin, is_guest=is_guest, problems=(problem,))

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return Layer(source=source, origin=origin, is_guest=is_guest)
    except OSError as error:
        return unusable(f"cannot be read ({error.strerror}), so none of its hooks run; check its permissions")
    except UnicodeDecodeError as error:
        return unusable(f"is not UTF-8 (byte {error.start}), so none of its hooks run; save it as UTF-8")
    try:
        values = jsonc.parse(text)
    except json.JSONDecodeError as error:
        what = f"is not JSON ({error.msg}), so none of its hooks run; mend it at this place"
        return unusable(what, error.lineno, error.colno)
    except ValueError as error:
        return unusable(f"is not JSON ({error}), so none of its hooks run; mend it")
    except RecursionError:
        return unusable("is nested too deeply to be read, so none of its hooks run; mend it")
    if not isinstance(values, dict):
        return unusable("does not hold a JSON object, so none of its hooks run; start it with {")
    return Layer(source=source, origin=origin, values=values, text=text, is_guest=is_guest)
