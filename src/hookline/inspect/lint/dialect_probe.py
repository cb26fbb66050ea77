"""Sends samples to a hook in the formats of two agents, and reports to which format the hook reacts.

The hook runs without its agent, so nothing of this is in the log or in statistics.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from hookline.engine.matcher import match
from hookline.engine.run import HookRunner
from hookline.inspect.hooks import trusted_only
from hookline.inspect.lint.foreign_names import remedy, suspicions
from hookline.inspect.lint.samples import input_of_hook, make_runner, samples, show_sample
from hookline.inspect.lint.vocabulary import Words, all_words
from hookline.inspect.view import Setup
from hookline.protocol.answers import HookAnswer, or_none
from hookline.protocol.hook_entry import HookEntry
from hookline.settings.read.files import Problem

_MOST_SHOWN = 3
_FAILS = "fails on"


@dataclass(frozen=True, slots=True)
class _Effect:
    verb: str
    sample: str


async def reactions(setup: Setup, silent: Sequence[HookEntry]) -> AsyncIterator[Problem]:
    """The hooks that react to another agent's format: those with its names in their script, and the silent guards."""
    runner = make_runner(setup)
    suspected: list[HookEntry] = []
    for suspicion in suspicions(trusted_only(setup)):
        hook, told, meant = suspicion.hook, suspicion.told, suspicion.meant
        suspected.append(hook)
        now, then = [await _effects(hook, words, setup, runner) for words in (told, meant)]
        if now == then:
            message = f"{_show(now)}, whether told {meant.agent}'s words or {told.agent}'s"
        else:
            message = _compare(told, meant, now, then)
        yield setup.at(hook, message, "command")
    for hook in silent:
        if hook not in suspected and hook.dialect in all_words():
            told = all_words()[hook.dialect]
            others = [words for words in all_words().values() if words is not told and hook.event in words.events]
            for meant in others:
                then = await _effects(hook, meant, setup, runner)
                if any(effect.verb != _FAILS for effect in then):
                    yield setup.at(hook, _compare(told, meant, [], then), "command")
                    break


def _compare(told: Words, meant: Words, now: Sequence[_Effect], then: Sequence[_Effect]) -> str:
    better = f"; {remedy(told, meant)}" if then else ""
    return f"{_show(then)} when told {meant.agent}'s words, and {_show(now)} when told {told.agent}'s{better}"


def _show(effects: Sequence[_Effect]) -> str:
    """The effect of a hook, as the beginning of a sentence."""
    by_verb: dict[str, list[str]] = {}
    for effect in effects:
        by_verb.setdefault(effect.verb, []).append(effect.sample)
    parts = [f"{verb} {_listed(list(dict.fromkeys(shown)))}" for verb, shown in by_verb.items()]
    return " and ".join(parts) or "reacts to no sample"


def _listed(shown: Sequence[str]) -> str:
    more = [f"{len(shown) - _MOST_SHOWN} more"] if len(shown) > _MOST_SHOWN else []
    return ", ".join((*shown[:_MOST_SHOWN], *more))


async def _effects(hook: HookEntry, words: Words, setup: Setup, runner: HookRunner) -> list[_Effect]:
    effects: list[_Effect] = []
    hook = replace(hook, dialect=words.name, foreign_event=None)
    for subject, fields in samples(hook.event, setup):
        if match(hook, subject):
            verb = await _verb(hook, fields, setup, runner)
            if verb is not None:
                effects.append(_Effect(verb, show_sample(subject, fields)))
    return effects


async def _verb(hook: HookEntry, fields: Mapping[str, Any], setup: Setup, runner: HookRunner) -> str | None:
    """The effect of a hook on a sample, in a word; None for none."""
    for run in await runner.execute_hooks_parallel((hook,), input_of_hook(hook, fields, setup)):
        if run.failed:
            return _FAILS
        if (answer := run.answer) is not None:
            return next((verb for verb, applies in _VERBS if applies(answer)), None)
    return None


_VERBS: tuple[tuple[str, Callable[[HookAnswer], bool]], ...] = (
    ("blocks", lambda answer: answer.blocks),
    ("asks about", lambda answer: answer.asks),
    ("stops at", lambda answer: answer.stops),
    ("rewrites", lambda answer: bool(or_none(answer.tool_input))),
    ("answers", lambda answer: answer.is_specific or bool(or_none(answer.note))),
)
