"""The actions of the page besides reading the log: those of `list`, `replay`, `enable` and `disable`."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hookline.apps.cli.report.trials import NO_TRIALS, trial_report
from hookline.client.config import Config
from hookline.errors import HooklineError, UsageError
from hookline.inspect.hooks import key_of, known_hooks
from hookline.inspect.proof.coverage import agent_words
from hookline.inspect.proof.evidence import Clean
from hookline.inspect.proof.shadow import TriedHook, ask_transcripts, read_trials
from hookline.inspect.switches import Confirm, switch_off, switch_on
from hookline.inspect.view import Setup, read_setup
from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader
from hookline.log.read.statistics import HookStatistics, Statistics
from hookline.protocol.constants import WHY_DISABLED, ConfigSource, FiredBy
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.outcome_words import outcome_of
from hookline.protocol.text.readable import HOOKS_DISABLED, plural
from hookline.protocol.verdict import Verdict
from hookline.stderr import warn_user
from hookline.testing.cases.case import Case
from hookline.testing.cases.judge import Difference
from hookline.testing.cases.recorded import Recorded, changes_since, read_event
from hookline.testing.cases.run import run_cases
from hookline.testing.cases.write import case_file_lines

Report = dict[str, Any]
Query = Mapping[str, str]


class Backend:
    """The page of one project; `make_config` reads its settings each time, with further facts of a `Config`."""

    def __init__(
        self, log: Path, make_config: Callable[..., Config], confirm: Confirm, *, has_named_settings: bool = False
    ) -> None:
        self.log = log
        """The log that is shown."""
        self._make_config = make_config
        self._confirm = confirm
        self._has_named_settings = has_named_settings
        self._one_at_a_time = asyncio.Lock()

    def hooks(self) -> Report:
        """Every hook with its state and health, and the evidence of each agent."""
        config = self._config()
        setup = read_setup(config)
        with LogReader(self.log) as reader:
            numbers = reader.statistics(LogQuery())
        configured, functions, _, problems = known_hooks(config)
        for problem in problems:
            warn_user(problem)
        healths = (_health(setup, hook, numbers) for hook in setup.hooks)
        known = [{**shown, **health} for shown, health in zip(configured, healths, strict=True)]
        is_enabled = config.get_enable_hooks()
        agents = agent_words(Path(setup.project_dir), numbers, hooks_enabled=is_enabled)
        return {"enabled": is_enabled, "hooks": known, "functions": functions, "fired": numbers.fired, "agents": agents}

    def trials(self) -> Report:
        """The hooks in shadow mode, as `hookline log --stats --shadow --all-projects` shows them."""
        clean = self._config().get_redactor().clean
        with LogReader(self.log) as reader:
            tried = read_trials(reader, LogQuery(), clean)
        self._ask_transcripts(tried, clean)
        return {"trials": [trial_report(each) for each in tried], "none": NO_TRIALS}

    def _ask_transcripts(self, tried: Sequence[TriedHook], clean: Clean) -> None:
        ask_transcripts(tried, clean)

    def settings(self) -> Report:
        """The files and their problems."""
        config = self._config()
        setup = read_setup(config)
        return {
            "fleet": False,
            "project": setup.project_dir,
            "log": str(self.log),
            "enabled": config.get_enable_hooks(),
            "notice": None if config.get_enable_hooks() else HOOKS_DISABLED,
            "trust": str(setup.options.trust),
            "files": [
                {
                    "source": layer.source.value,
                    "file": layer.origin,
                    "dialect": layer.dialect,
                    "exists": layer.text is not None or bool(layer.values),
                    "needsTrust": layer.is_guest,
                }
                for layer in setup.layers
            ],
            "problems": [{"text": str(problem), "isError": problem.is_error} for problem in setup.problems],
            "hooks": known_hooks(config).hooks,
            "unused": [
                {"hook": hook.label, "reason": hook.reason, "file": hook.origin, "location": hook.location}
                for hook in setup.unused
            ],
        }

    def machines(self) -> Report:
        """The machines of a fleet; HooklineError on the page of one machine."""
        raise UsageError("this is the log of one machine; hookline ui --fleet shows the company's")

    def case_of(self, fire: str) -> Report:
        """One event as a case, as `hookline replay --save -` prints it."""
        lines = list(case_file_lines([self._recorded(fire)]))
        return {"text": "\n".join(lines).strip() + "\n"}

    async def replay(self, fire: str) -> Report:
        """The differences that `hookline replay` finds for one event; only hooks run."""
        recorded = await asyncio.to_thread(self._recorded, fire)
        if not self._config().get_enable_hooks():
            raise UsageError(f"hooks are disabled: {WHY_DISABLED}; nothing was replayed")

        def compare(_case: Case, verdict: Verdict) -> tuple[Difference, ...]:
            return changes_since(recorded, verdict)

        async with self._one_at_a_time:
            (result,) = await run_cases([recorded.to_case()], self._config_of_case, compare=compare)
        report = {
            "problem": result.problem,
            "messages": result.messages,
            "differences": [{"what": it.what, "before": it.expected, "now": it.got} for it in result.differences],
            "hidden": recorded.has_hidden,
            "elsewhere": None if self._is_here(recorded.project) else recorded.project,
            **({} if result.verdict is None else _verdict(result.verdict)),
        }
        cleaned: Report = self._config().get_redactor().clean(report)
        return cleaned

    def switch(self, name: str, *, is_on: bool) -> Report:
        """Enable or disable a hook in the user's settings, with the checks of `hookline enable` and `disable`."""
        if self._has_named_settings:
            raise HooklineError("nothing was changed: hookline ui was started with --settings; edit that file")
        change = switch_on if is_on else switch_off
        target, is_changed = change(read_setup(self._config()), name, ConfigSource.USER, self._confirm, "hookline ui")
        return {"file": target.origin, "changed": is_changed}

    def _is_here(self, directory: str) -> bool:
        return os.path.realpath(directory) == os.path.realpath(self._config().get_working_dir())

    def _config(self) -> Config:
        return self._make_config()

    def _config_of_case(self, environment: Mapping[str, str]) -> Config:
        return self._make_config(environ={**os.environ, **environment}, fired_by=FiredBy.TEST)

    def _recorded(self, fire: str) -> Recorded:
        with LogReader(self.log) as reader:
            records = [record for record in reader.whole_records(fire) if record.get("fire") == fire]
        if not records:
            raise UsageError(f"no event {fire} is recorded")
        return read_event(records)


def _health(setup: Setup, hook: HookEntry, numbers: Statistics) -> Report:
    statistics = numbers.hooks.get(key_of(hook)) or HookStatistics()
    why = list(_why_off(setup, hook))
    if not statistics.runs and not why:
        fired = numbers.fired.get(hook.event.value, 0)
        why.append(_why_never(hook, fired))
    return {
        "blocks": statistics.blocks,
        "timeouts": statistics.timeouts,
        "max": statistics.durations.maximum if statistics.durations.counts else None,
        "histogram": [
            {"from": start, "below": None if end == float("inf") else end, "runs": count}
            for start, end, count in statistics.durations.histogram()
        ],
        "why": "; ".join(why) or None,
    }


def _why_never(hook: HookEntry, fired: int) -> str:
    if not fired:
        return f"{hook.event} was never fired"
    # The log has all projects, and what was before this hook.
    none = "not where and since this hook is configured"
    matched = none if hook.matcher in (None, "", "*") else f"and the matcher {hook.matcher} did not match"
    return f"{hook.event} was fired {plural(fired, 'time')}, {matched}; hookline fire --plan {hook.event} shows more"


def _why_off(setup: Setup, hook: HookEntry) -> Iterator[str]:
    if not setup.is_enabled:
        yield HOOKS_DISABLED
    if not hook.enabled:
        yield f"disabled by {hook.disabled_by}"
    elif reason := setup.why_untrusted(hook):
        yield reason
    elif hook.refusal:
        yield f"fails at each event: {hook.refusal}"


def _verdict(verdict: Verdict) -> Mapping[str, Any]:
    return {
        "outcome": outcome_of(verdict).value,
        "isRewritten": bool(verdict.effect),
        "reason": verdict.reason or verdict.stop_reason,
        "by": list(verdict.deciders),
        "effect": verdict.effect,
        "provenance": verdict.decided_by,
        "duration": verdict.duration_ms,
        "runs": [{"hook": run.hook.label, **run.to_dict()} for run in verdict.runs],
    }
