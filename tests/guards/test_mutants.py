"""The forms that `hookline test --mutate` makes, of every command that a rule says it stops."""

import pytest

from hookline.guards.catalog import PACKS
from hookline.guards.command_rules import evaluate_command
from hookline.guards.rules import load
from hookline.testing.mutants.commands import mutants_of
from hookline.testing.mutants.mutant import MutantKind

PLACE = ("/home/me/project", "/home/me", "/home/me/project")


@pytest.mark.req("DELTA-MUTANT-002")
@pytest.mark.attack("30.B1", "every form of every command that a rule stops")
@pytest.mark.parametrize("pack", [pack.name for pack in PACKS.values()])
def test_no_form_of_what_a_rule_stops_gets_through(pack: str) -> None:
    """Only the pack about commands reports doubts, so it also judges each form."""
    wrong = []
    for rule in load(pack).rules:
        for mutant in (each for command in rule.stopped for each in mutants_of(command)):
            is_stopped = any(evaluate_command(name, mutant.text, *PLACE) for name in (pack, "shell"))
            if is_stopped is not (mutant.kind is MutantKind.SAME):
                wrong.append((rule.id, mutant.way, mutant.text))
    assert wrong == []


@pytest.mark.parametrize(
    "program", ["docker", "git", "ssh", "sudo", "xargs", "parallel", "env", "bash", "python3", "make"]
)
def test_a_program_without_arguments_is_judged(program: str) -> None:
    for pack in PACKS.values():
        evaluate_command(pack.name, program, *PLACE)
