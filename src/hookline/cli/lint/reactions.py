"""Tells samples to a hook in two agents' words, and says which of them it reacts to.

The hook runs without its agent, so nothing of this is in the log or in statistics.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from hookline.cli.lint.inside import Suspicion, suspicions
from hookline.cli.lint.samples import samples, show_sample
from hookline.cli.lint.setup import Setup
from hookline.cli.lint.trial import make_runner, told_to
from hookline.cli.lint.words import Words
from hookline.cli.report.overview import trusted_only
from hookline.contract.answers import Answer, said
from hookline.contract.hooks import HookEntry
from hookline.engine.matcher import Match, match
from hookline.engine.run import HookRunner
from hookline.settings.read import Problem

_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Effect:
    verb: str
    sample: str


async def reactions(setup: Setup) -> AsyncIterator[Problem]:
    """What each hook that seems to wait for another agent's words does in both."""
    runner = make_runner(setup)
    for suspicion in suspicions(trusted_only(setup)):
        now = await _effects(suspicion, suspicion.told, setup, runner)
        then = await _effects(suspicion, suspicion.meant, setup, runner)
        yield setup.at(suspicion.hook, _compare(suspicion, now, then), "command")


def _compare(suspicion: Suspicion, now: Sequence[_Effect], then: Sequence[_Effect]) -> str:
    told, meant = f"{suspicion.told.agent}'s", f"{suspicion.meant.agent}'s"
    if now == then:
        return f"{_show(now)}, whether told {meant} words or {told}"
    better = f"; {suspicion.remedy}" if then else ""
    return f"{_show(then)} when told {meant} words, and {_show(now)} when told {told}{better}"


def _show(effects: Sequence[_Effect]) -> str:
    """What a hook does, as the beginning of a sentence."""
    by_verb: dict[str, list[str]] = {}
    for effect in effects:
        by_verb.setdefault(effect.verb, []).append(effect.sample)
    parts = [f"{verb} {_listed(list(dict.fromkeys(shown)))}" for verb, shown in by_verb.items()]
    return " and ".join(parts) or "reacts to no sample"


def _listed(shown: Sequence[str]) -> str:
    more = [f"{len(shown) - _MOST_SHOWN} more"] if len(shown) > _MOST_SHOWN else []
    return ", ".join((*shown[:_MOST_SHOWN], *more))


async def _effects(suspicion: Suspicion, words: Words, setup: Setup, runner: HookRunner) -> list[_Effect]:
    effects: list[_Effect] = []
    hook = replace(suspicion.hook, dialect=words.name, their_event=None)
    for subject, fields in samples(hook.event, setup):
        if match(hook, subject, may_wait=True) is not Match.NO:
            verb = await _verb(hook, fields, setup, runner)
            if verb is not None:
                effects.append(_Effect(verb, show_sample(subject, fields)))
    return effects


async def _verb(hook: HookEntry, fields: Mapping[str, Any], setup: Setup, runner: HookRunner) -> str | None:
    """What a hook does about a sample, in a word; None for nothing."""
    for run in await runner.execute_hooks_parallel((hook,), told_to(hook, fields, setup)):
        if run.failed:
            return "fails on"
        if (answer := run.answer) is not None:
            return next((verb for verb, applies in _VERBS if applies(answer)), None)
    return None


_VERBS: tuple[tuple[str, Callable[[Answer], bool]], ...] = (
    ("blocks", lambda answer: answer.blocks),
    ("asks about", lambda answer: answer.asks),
    ("stops at", lambda answer: answer.stops),
    ("rewrites", lambda answer: bool(said(answer.tool_input))),
    ("answers", lambda answer: answer.is_specific or bool(said(answer.note))),
)
