"""The log and the agent name the switch or the policy that decided, where no hook did."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.company import Company, Machine, agents_off, settings

from hookline.apps.cli.main import main
from hookline.testing import calls, says


def _rows(capsys: pytest.CaptureFixture[str], project: Path) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["log", "--json", "--project", str(project)]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [record for record in records if record.get("kind") == "event"]


def _agent(project: Path, *words: str) -> int:
    replay = project.parent / "replay.jsonl"
    answers = ([calls(("run_shell_command", {"command": "touch made"}))], [says("Done.")])
    lines = ({"method": "generateContentStream", "response": answer} for answer in answers)
    replay.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return main(["agent", "--project", str(project), "--model", f"replay:{replay}", "--prompt", "go", "--yes", *words])


@pytest.mark.req("CLAIM-003")
def test_a_switch_has_a_row_with_who_decided(
    company: Company, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Although no hook ran."""
    company.gives_settings(settings("exit 0"))
    company.gives(company.switches(agents_off("incident 4711")))
    machine = Machine(project)
    assert machine.fires().deciders == ("the kill switch",)
    machine.close()
    (row,) = _rows(capsys, project)
    assert (row["outcome"], row["decider"]) == ("blocked", "switch")
    assert "incident 4711" in row["reason"]
    assert main(["log", "--project", str(project)]) == 0
    assert "switch" in capsys.readouterr().out


@pytest.mark.req("CLAIM-003")
def test_a_policy_that_can_not_be_used_has_a_row(
    company: Company, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its block is the policy's decision, not a hook's."""
    company.write_system(required=True)
    machine = Machine(project)
    verdict = machine.fires()
    assert (verdict.blocked, verdict.deciders) == (True, ("the company's policy",))
    machine.close()
    (row,) = _rows(capsys, project)
    assert (row["outcome"], row["decider"]) == ("blocked", "policy")


@pytest.mark.req("CLAIM-003")
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_the_agent_names_the_switch(
    company: Company, project: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    """And not "a hook"."""
    company.gives(company.switches(agents_off("incident 4711")))
    _agent(project, *options)
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert "incident 4711" in shown
    assert "the kill switch" in shown
    assert "a hook" not in shown
    assert not (project / "made").exists()
