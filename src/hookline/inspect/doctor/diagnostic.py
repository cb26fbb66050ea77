"""One finding of `hookline doctor`."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """The severity of a finding, as `--json` writes it."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    """A hook does not run because of it."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """The result of one check; its fields are what `hookline doctor --json` prints."""

    about: str
    severity: Severity
    message: str
    words: Mapping[str, Any] | None = None
    """For evidence: configured, observed and enforced, with the times of the last two."""


def ok(about: str, message: str, words: Mapping[str, Any] | None = None) -> Diagnostic:
    """A check that found nothing wrong."""
    return Diagnostic(about, Severity.OK, message, words)


def warning(about: str, message: str) -> Diagnostic:
    """A check that found something unusual."""
    return Diagnostic(about, Severity.WARNING, message)


def error(about: str, message: str) -> Diagnostic:
    """A check that found why a hook does not run."""
    return Diagnostic(about, Severity.ERROR, message)
