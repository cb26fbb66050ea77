"""The rules of the packs, by their own examples."""

import tomllib

import pytest

from hookline.guards.catalog import PACKS
from hookline.guards.command_rules import evaluate_command
from hookline.guards.rules import RuleError, load, read_rules

PLACE = ("/home/me/project", "/home/me", "/home/me/project")
NAMES = [pack.name for pack in PACKS.values()]


@pytest.mark.parametrize(
    ("pack", "rule", "command"),
    [(pack, rule.id, each) for pack in NAMES for rule in load(pack).rules for each in rule.stopped],
)
def test_a_rule_stops_what_it_says(pack: str, rule: str, command: str) -> None:
    assert rule in [finding.rule for finding in evaluate_command(pack, command, *PLACE)]


@pytest.mark.parametrize(
    ("pack", "rule", "command"),
    [(pack, rule.id, each) for pack in NAMES for rule in load(pack).rules for each in rule.passed],
)
def test_a_rule_lets_through_what_it_says(pack: str, rule: str, command: str) -> None:
    assert rule not in [finding.rule for finding in evaluate_command(pack, command, *PLACE)]


@pytest.mark.parametrize("program", ["docker", "podman", "ssh", "git", "curl", "find", "xargs", "env", "sudo", "bash"])
def test_a_program_without_arguments_can_be_read(program: str) -> None:
    """`docker` alone made the pack fail, and what fails is blocked."""
    for pack in NAMES:
        evaluate_command(pack, f"{program}; ls", *PLACE)


@pytest.mark.parametrize("command", sorted({each for rule in load("shell").rules for each in rule.passed}))
def test_no_rule_about_commands_stops_what_is_harmless(command: str) -> None:
    assert evaluate_command("shell", command, *PLACE) == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": "perhaps"}, "the action 'perhaps'"),
        ({"stopped": "[]"}, "examples both ways"),
        ({"when": '[{ run = "x", at = ["moon"] }]'}, "the places moon"),
        ({"when": '[{ runs = "x" }]'}, "unknown field `runs`"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(change: dict[str, str], message: str) -> None:
    fields = {
        "id": '"a"',
        "action": '"deny"',
        "severity": '"high"',
        "stops": '"x"',
        "why": '"y"',
        "when": '[{ run = "x" }]',
        "stopped": '["x"]',
        "passed": '["y"]',
    }
    fields |= {name: value if value[0] in '["' else f'"{value}"' for name, value in change.items()}
    text = "[[rule]]\n" + "\n".join(f"{name} = {value}" for name, value in fields.items())
    with pytest.raises(RuleError, match=message):
        read_rules(tomllib.loads(text))
