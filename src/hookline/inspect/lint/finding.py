"""A finding of `hookline check`, and the SARIF 2.1.0 that code scanning services read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookline.settings.read.files import Problem

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
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


def sarif(
    findings: Iterable[LintFinding], rules: Mapping[str, str], *, project_dir: str, version: str
) -> dict[str, Any]:
    """One run of `hookline check`; files inside the project are named relative to it."""
    names = list(rules)
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "hookline",
                        "version": version,
                        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in rules.items()],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"PROJECT": {"uri": f"{Path(project_dir).resolve().as_uri()}/"}},
                "results": [_result(finding, names, project_dir) for finding in findings],
            }
        ],
    }


def _result(finding: LintFinding, rules: list[str], project_dir: str) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(finding.problem.origin, project_dir)}
    if finding.problem.line:
        place["region"] = {"startLine": finding.problem.line, "startColumn": finding.problem.column}
    return {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": finding.level,
        "message": {"text": finding.text},
        "locations": [{"physicalLocation": place}],
    }


def _artifact(origin: str, project_dir: str) -> dict[str, str]:
    file, project = Path(origin).resolve(), Path(project_dir).resolve()
    if file.is_relative_to(project):
        # As a URI, so that a space or a percent sign in a name stays what it is.
        return {"uri": file.as_uri().removeprefix(f"{project.as_uri()}/"), "uriBaseId": "PROJECT"}
    return {"uri": file.as_uri()}
