from pathlib import Path

from hookline.inspect.lint.finding import LintFinding, sarif
from hookline.settings.read.files import Problem

RULES = {"one": "the first", "two": "the second"}


def finding(origin: Path, *, is_error: bool = False, line: int | None = None) -> LintFinding:
    problem = Problem(
        origin=str(origin), path="hooks", message="is wrong; mend it", is_error=is_error, line=line, column=line and 7
    )
    return LintFinding(rule="two", problem=problem)


def test_a_result_names_rule_level_and_place(project: Path) -> None:
    """A file of the project is named relative to it, as code scanning wants it."""
    inside = project / "my hooks" / "settings.json"
    (run,) = sarif([finding(inside, line=3)], RULES, project_dir=str(project), version="1.2")["runs"]
    assert run["results"] == [
        {
            "ruleId": "two",
            "ruleIndex": 1,
            "level": "warning",
            "message": {"text": "hooks is wrong; mend it"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "my%20hooks/settings.json", "uriBaseId": "PROJECT"},
                        "region": {"startLine": 3, "startColumn": 7},
                    }
                }
            ],
        }
    ]
    assert run["originalUriBaseIds"] == {"PROJECT": {"uri": f"{project.resolve().as_uri()}/"}}
    assert run["tool"]["driver"] == {
        "name": "hookline",
        "version": "1.2",
        "rules": [
            {"id": "one", "shortDescription": {"text": "the first"}},
            {"id": "two", "shortDescription": {"text": "the second"}},
        ],
    }


def test_a_file_elsewhere_is_named_in_full(project: Path, tmp_path: Path) -> None:
    """The user's settings are not part of the project; a finding without a line has no region."""
    (run,) = sarif([finding(tmp_path / "x.json", is_error=True)], RULES, project_dir=str(project), version="1")["runs"]
    (result,) = run["results"]
    assert result["level"] == "error"
    assert result["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": (tmp_path / "x.json").resolve().as_uri()}}}
    ]
