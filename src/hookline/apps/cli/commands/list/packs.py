"""`hookline list --packs`: the packs of guards that come with hookline, with every rule and examples."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.errors import UsageError
from hookline.guards.catalog import PACKS, PREFIX, Pack
from hookline.guards.rules import listed
from hookline.protocol.text.strings import did_you_mean


def list_packs(given: argparse.Namespace) -> int:
    """Print the packs, or the rules of one."""
    if not given.packs:
        if given.rule is not None:
            raise UsageError("of which pack? Write, for example, hookline list --packs shell --rule git-discard")
        report = {"packs": [_described(pack) for pack in PACKS.values()]}
        print_report(given, report, _overview(report["packs"]))
        return 0
    pack = _pack(given.packs)
    rules = _rules(pack)
    if given.rule is not None:
        rules = [rule for rule in rules if rule["id"] == given.rule]
        if not rules:
            raise UsageError(f"{pack.use} has no rule {given.rule}; hookline list --packs {pack.name} lists them")
    print_report(given, {**_described(pack), "rules": rules}, _lines(pack, rules))
    return 0


def _pack(name: str) -> Pack:
    use = name if name.startswith(PREFIX) else PREFIX + name
    if use not in PACKS:
        names = [pack.name for pack in PACKS.values()]
        advice = did_you_mean(name.removeprefix(PREFIX), names, "hookline list --packs lists them", cutoff=0.5)
        raise UsageError(f"there is no pack {name}; {advice}")
    return PACKS[use]


def _described(pack: Pack) -> dict[str, Any]:
    events = [event.value for event in pack.events]
    return {"pack": pack.use, "about": pack.about, "events": events, "patterns": pack.patterns}


def _rules(pack: Pack) -> list[dict[str, Any]]:
    return listed(pack.name)


def _overview(packs: list[dict[str, Any]]) -> Iterator[str]:
    width = max(len(pack["pack"]) for pack in packs)
    for pack in packs:
        yield f"{style.bold(pack['pack'].ljust(width))}  {pack['about']}"
    yield ""
    yield 'In settings: "use": ["hookline:shell"], or with options:'
    yield '  "use": [{"pack": "hookline:shell", "allow": ["git-discard"], "ask": ["git push *"]}]'
    yield style.dim(
        "allow, deny and ask take ids of rules, and patterns of what is judged; hookline list --packs PACK has both."
    )


def _lines(pack: Pack, rules: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{style.bold(pack.use)}: {pack.about}; a pattern is {pack.patterns}"
    for rule in rules:
        yield ""
        yield from _rule(rule)


def _rule(rule: Mapping[str, Any]) -> Iterator[str]:
    paint = style.bad if rule["action"] == "deny" else style.warn
    yield f"{style.bold(rule['id'])}  {paint(rule['action'])}, {rule['severity']}"
    yield f"  {rule['stops']}"
    yield f"  {rule['why']}"
    if rule["instead"]:
        yield f"  {rule['instead']}"
    for word, examples in (("stops", rule["stopped"]), ("passes", rule["passed"])):
        if examples:
            yield style.dim(f"  {word:<7}{examples[0]}")
