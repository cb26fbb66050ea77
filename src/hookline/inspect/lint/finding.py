from dataclasses import dataclass
from typing import Any

from hookline.settings.read.files import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem, and the rule that found it."""

    rule: str
    problem: Problem

    @property
    def level(self) -> str:
        """`error` for settings that do not work, `warning` for likely mistakes."""
        return "error" if self.problem.is_error else "warning"

    @property
    def text(self) -> str:
        """The mistake and its remedy, without the position."""
        return f"{self.problem.path} {self.problem.message}".strip()

    def to_dict(self) -> dict[str, Any]:
        """The finding as `hookline check --json` shows it."""
        return {
            "file": self.problem.origin,
            "line": self.problem.line,
            "column": self.problem.column,
            "path": self.problem.path,
            "level": self.level,
            "rule": self.rule,
            "message": self.problem.message,
        }
