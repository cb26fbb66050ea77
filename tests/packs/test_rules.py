"""The rules of the packs, by their own examples."""

import pytest

from hookline.packs.rules import RuleError, load, read_rules
from hookline.packs.shell import judge

PLACE = ("/home/me/project", "/home/me", "/home/me/project")
RULES = load("shell").rules


@pytest.mark.parametrize(("rule", "command"), [(rule.id, each) for rule in RULES for each in rule.stopped])
def test_a_rule_stops_what_it_says(rule: str, command: str) -> None:
    assert rule in [finding.rule for finding in judge(command, *PLACE)]


@pytest.mark.parametrize("command", sorted({each for rule in RULES for each in rule.passed}))
def test_nothing_stops_what_is_harmless(command: str) -> None:
    assert judge(command, *PLACE) == ()


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
        read_rules(text)
