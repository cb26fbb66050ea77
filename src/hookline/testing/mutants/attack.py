"""Cases that a guard stops → mutants of their inputs as cases, and what the guard made of them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hookline.protocol.events import HookEventName
from hookline.shell.names import COMMAND_KEYS
from hookline.testing.cases.case import Case, Expectation, Outcome, outcomes_of
from hookline.testing.cases.run import Result
from hookline.testing.mutants import commands, paths
from hookline.testing.mutants.mutant import Mutant, MutantKind

_STOPPED = (Outcome.BLOCKED, Outcome.ASKED, Outcome.STOPPED)
_PATH_KEYS = ("file_path", "absolute_path", "path", "notebook_path", "target_file", "filename")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One mutant of one input, as a case."""

    original: Case
    mutant: Mutant
    case: Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The mistakes of the guard."""

    passed: tuple[Attempt, ...]
    """They do the same as what it stops, and got through."""
    stopped: tuple[Attempt, ...]
    """They are harmless, and were stopped."""
    unclear: tuple[Result, ...]
    """Cases that could not be judged."""
    tried: int


def originals(cases: Sequence[Case]) -> list[Case]:
    """The cases whose input a guard has to stop, and in which a command or a path can be changed."""
    stopped = [case for case in cases if case.expected.outcome in _STOPPED and case.event is HookEventName.BEFORE_TOOL]
    return [case for case in stopped if _target(case) is not None]


def path_of(case: Case) -> str | None:
    """The path that is changed in a case; None where it is a command."""
    key, value = _target(case) or ("", "")
    return value if key in _PATH_KEYS else None


def attempts(cases: Sequence[Case], project: str, link: str) -> Iterator[Attempt]:
    """All mutants of these cases."""
    for case in originals(cases):
        key, value = _target(case) or ("", "")
        made = (
            commands.mutants_of(value)
            if key.lower() in COMMAND_KEYS
            else paths.mutants_of(value, project, link, ignores_case=_ignores_case(link))
        )
        for mutant in made:
            yield Attempt(original=case, mutant=mutant, case=_mutated(case, key, mutant))


def findings(tried: Sequence[Attempt], results: Sequence[Result]) -> Findings:
    """The mistakes of the guard that the results, in the same order, show."""
    passed, stopped, unclear = [], [], []
    for attempt, result in zip(tried, results, strict=True):
        if result.verdict is None:
            unclear.append(result)
            continue
        is_stopped = any(outcome in _STOPPED for outcome in outcomes_of(result.verdict))
        if attempt.mutant.kind is MutantKind.SAME and not is_stopped:
            passed.append(attempt)
        elif attempt.mutant.kind is MutantKind.HARMLESS and is_stopped:
            stopped.append(attempt)
    return Findings(passed=tuple(passed), stopped=tuple(stopped), unclear=tuple(unclear), tried=len(tried))


def _target(case: Case) -> tuple[str, str] | None:
    """The argument that is changed: the command, or else the path of a file that is read or written."""
    arguments = _arguments(case)
    for key, value in arguments.items():
        if key.lower() in COMMAND_KEYS and isinstance(value, str) and value.strip():
            return key, value
    for key in _PATH_KEYS:
        if isinstance(value := arguments.get(key), str) and value:
            return key, value
    return None


def _arguments(case: Case) -> Mapping[str, Any]:
    given = case.fields.get("tool_input")
    return given if isinstance(given, Mapping) else {}


def _mutated(case: Case, key: str, mutant: Mutant) -> Case:
    wanted = Outcome.BLOCKED if mutant.kind is MutantKind.SAME else Outcome.ALLOWED
    return replace(
        case,
        name=f"{case.name}: {mutant.way}",
        fields={**case.fields, "tool_input": {**_arguments(case), key: mutant.text}},
        expected=Expectation(outcome=wanted),
        input_label="",
    )


def _ignores_case(link: str) -> bool:
    """Whether the file system finds a name in another case, seen on the link that was made there."""
    folder, name = os.path.split(link)
    return os.path.lexists(os.path.join(folder, name.swapcase()))
