"""Findings as SARIF 2.1.0, which code scanning services read."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hookline.inspect.lint.finding import Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Iterable[Finding], rules: Mapping[str, str], *, project_dir: str, version: str) -> dict[str, Any]:
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


def _result(finding: Finding, rules: list[str], project_dir: str) -> dict[str, Any]:
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
