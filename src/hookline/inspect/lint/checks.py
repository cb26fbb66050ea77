"""The checks of settings that run no hook: one row each."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise

import msgspec

from hookline.dialects.registry import dialect_of
from hookline.engine.event_table import EVENT_TABLE, hears_block
from hookline.engine.plan import plan
from hookline.inspect.hooks import trusted_only
from hookline.inspect.lint.finding import LintFinding
from hookline.inspect.lint.foreign_names import other_agents_words
from hookline.inspect.lint.guards import fails_open
from hookline.inspect.lint.matchers import (
    duplicates,
    matcher_no_regex,
    matcher_no_tool,
    matcher_no_trigger,
    matcher_not_asked,
    matcher_wildcard,
    place_of,
    plans_of,
    subjects_of,
)
from hookline.inspect.lint.programs import program_fault
from hookline.inspect.lint.syntax import script_syntax
from hookline.inspect.lint.variables import unset_variables
from hookline.inspect.view import Path, Setup, value_at
from hookline.protocol.constants import OWN_DIALECT, ConfigSource, HookType, OnError
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.strings import nearest
from hookline.protocol.verdict import HookExecutionPlan
from hookline.settings.decode.schema import (
    EnvironmentSettings,
    HookGroupSettings,
    HooksConfigSettings,
    HookSettings,
    HttpSettings,
    LogSettings,
    WarmSettings,
)
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer, Problem, first_problems
from hookline.settings.read.jsonc import show_path
from hookline.settings.read.merge import by_authority, misplaced_keys, others_switch
from hookline.settings.trust.fingerprint import fingerprint
from hookline.settings.trust.store import show_uncovered

_SECOND_MS = 1000
# A password or a token in an address.
_USER_INFO = re.compile(r"//[^@/]*@")
# Guessing the name that was meant is slow, and a project's file may have many wrong ones.
_MOST_GUESSES = 20
_MOST_GUESSED = 1000
_DECIDES = re.compile(rb"decision|continue")
_READY = re.compile(rb"\bready\b|hookline\.hook|from hookline import hook")
_DENIES = re.compile(rb"""exit\W{1,3}2\b|\b(?:deny|block)\b""")
# As a key that is written, in JSON or in a program; reading the same key from the input is not a rewrite.
_REWRITES = re.compile(rb"""(?:tool_input|updatedInput)(?:[\\"'\]]+\s*[:=](?!=)|\s*:)""")
_OPTIONS: Mapping[Path, type[msgspec.Struct]] = {
    ("hooksConfig",): HooksConfigSettings,
    ("hooksConfig", "log"): LogSettings,
    ("hooksConfig", "http"): HttpSettings,
    ("hooksConfig", "environment"): EnvironmentSettings,
    ("hooksConfig", "warm"): WarmSettings,
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look for."""

    rule: str
    about: str
    """The mistakes that it finds, in a few words."""
    find: Callable[[Setup], Iterable[Problem]]
    needs_trust: bool = False
    """Whether it compiles matchers or reads scripts, so that a project's hooks are left out until they are trusted."""


def run_checks(setup: Setup) -> Iterator[LintFinding]:
    """The findings about a setup, in the order of the checks: of each check at most 20 per file."""
    trusted = trusted_only(setup)
    for check in CHECKS:
        for problem in first_problems(check.find(trusted if check.needs_trust else setup)):
            yield LintFinding(rule=check.rule, problem=problem)


def _not_enabled(setup: Setup) -> Iterator[Problem]:
    if setup.is_enabled:
        return
    with_hooks = next(_with_hooks(setup), None)
    if with_hooks is None:
        return
    # Report the file that says no, or else the first file with hooks.
    layer = next((layer for layer in by_authority(setup.layers) if layer.values.get("enableHooks") is False), None)
    if layer is not None:
        yield layer.problem(("enableHooks",), "is false, so no hook runs; write true to enable hooks")
    else:
        # An agent's own file can't enable hooks here.
        where = "" if with_hooks.dialect == OWN_DIALECT else " to your own settings, not to this file"
        yield with_hooks.problem(("hooks",), f'do not run: hooks are off by default; add "enableHooks": true{where}')


def _with_hooks(setup: Setup) -> Iterator[Layer]:
    """The layers with enabled hooks, and then those with hooks that cannot be used."""
    yield from (setup.place(hook)[0] for hook in setup.active())
    for problem in setup.problems:
        if problem.is_error and problem.path.startswith(("hooks.", "extensions[")):
            yield next(layer for layer in setup.layers if layer.origin == problem.origin)


def _unknown_key(setup: Setup) -> Iterator[Problem]:
    known = {(problem.origin, problem.path) for problem in setup.problems}
    for layer, place, struct, what in _places_of_options(setup):
        if (layer.origin, show_path(place)) in known:
            continue  # it is wrong as a whole, or ignored
        for problem in _unknown_keys(layer, place, struct, what):
            if (problem.origin, problem.path) not in known:
                yield problem


def _places_of_options(setup: Setup) -> Iterator[tuple[Layer, Path, type[msgspec.Struct], str]]:
    """Every object with fixed keys: its type, and its name for people."""
    for hook in setup.hooks:
        layer, path = setup.place(hook)
        if layer.dialect != OWN_DIALECT:
            continue  # they have more keys, and ignore those that they don't know
        if hook.type is HookType.PACK:
            continue  # its options were looked at when the settings were read
        yield layer, path, HookSettings, "a hook"
        yield layer, path[:-2], HookGroupSettings, "a group"
    for layer in setup.layers:
        for place, struct in _OPTIONS.items():
            if isinstance(value_at(layer, place), Mapping):  # warm may be true or false
                yield layer, place, struct, show_path(place)


def _unknown_keys(layer: Layer, place: Path, struct: type[msgspec.Struct], what: str) -> Iterator[Problem]:
    known = [field.encode_name for field in msgspec.structs.fields(struct)]
    switches = {problem.path: problem for problem in others_switch(layer)}
    for key in map(str, value_at(layer, place)):
        if key not in known:
            path = (*place, key)
            message = f"is not an option of {what} and is ignored; the options are {', '.join(known)}"
            yield switches.get(show_path(path)) or layer.problem(path, message)


def _misplaced_key(setup: Setup) -> Iterator[Problem]:
    for layer in setup.layers:
        yield from misplaced_keys(layer)


def _disabled_name(setup: Setup) -> Iterator[Problem]:
    labels = dict.fromkeys(hook.label for hook in setup.hooks)
    guesses = iter(range(_MOST_GUESSES))
    for layer in setup.layers:
        names = decode_settings((layer._replace(is_guest=False),)).options.disabled
        for index, name in enumerate(names):
            if name in labels:
                continue
            may_guess = next(guesses, None) is not None
            meant = nearest(name, islice(labels, _MOST_GUESSED)) if may_guess else None
            # A user's list may name hooks of another project.
            if not meant and layer.source is not ConfigSource.PROJECT:
                continue
            advice = f"did you mean {meant}?" if meant else "remove it, or write a hook's name"
            yield layer.problem(("hooksConfig", "disabled", index), f"names {name!r}, which no hook has; {advice}")


def _timeout(setup: Setup) -> Iterator[Problem]:
    for hook in setup.active():
        if hook.dialect != OWN_DIALECT and dialect_of(hook.dialect).timeout_unit_ms == _SECOND_MS:
            continue  # it is in seconds there
        if hook.timeout_ms == 0:
            yield setup.at(hook, "is 0, so the hook is ended at once; write a number of milliseconds", "timeout")
        elif hook.timeout_ms < _SECOND_MS:
            given = f"{hook.timeout_ms:g} millisecond{'' if hook.timeout_ms == 1 else 's'}"
            meant = f"{hook.timeout_ms * _SECOND_MS:.0f}"
            yield setup.at(hook, f"is {given}; if you mean seconds, write {meant}", "timeout")


def _program(setup: Setup) -> Iterator[Problem]:
    for hook in setup.active():
        if why_not := setup.why_not_asked(hook):
            yield setup.at(hook, f"is not asked, so the hook fails: {why_not}", "url")
        elif fault := program_fault(hook, setup.project_dir, setup.environ):
            yield setup.at(hook, fault, "command")


def _secret(setup: Setup) -> Iterator[Problem]:
    for layer in setup.layers:
        given = value_at(layer, ("hooksConfig", "fleet", "servers"))
        for index, address in enumerate(given if isinstance(given, list) else ()):
            if isinstance(address, str) and _USER_INFO.search(address):
                advice = "remove it, and name a file in hooksConfig.fleet.credentials or nkey"
                place = ("hooksConfig", "fleet", "servers", index)
                yield layer.problem(place, f"has a password or token in it, which everybody reads here; {advice}")


def _worker(setup: Setup) -> Iterator[Problem]:
    for hook in setup.active():
        if hook.worker is None or program_fault(hook, setup.project_dir, setup.environ):
            continue  # the rule `program` reports the second
        if not _mentions(_READY, hook, setup.project_dir, unreadable=True):
            why = 'nothing in its program says {"ready": true}, so it would wait for an event until its timeout'
            yield setup.at(hook, f"is probably no worker: {why}; see docs/workers.md, or remove it", "worker")


def _duplicate(setup: Setup) -> Iterator[Problem]:
    for event in HookEventName:
        for skip in duplicates(plans_of(event, setup)):
            yield setup.at(skip.hook, f"never runs ({skip.reason}); remove one of the two")


def _uncovered(setup: Setup) -> Iterator[Problem]:
    for hook in setup.active():
        if refused := setup.why_refused(hook):
            yield setup.at(hook, f"does not run: {refused}", "command")
        elif words := setup.uncovered(hook):
            yield setup.at(hook, f"has words that trust can't cover; {show_uncovered(words)}", "command")


def _no_block(setup: Setup) -> Iterator[Problem]:
    for hook in setup.active():
        is_given = (
            hook.dialect == OWN_DIALECT
            and hook.type is not HookType.PACK
            and hook.refusal is None
            and not hook.required
        )
        if is_given and hook.on_error is OnError.BLOCK and not hears_block(hook.event):
            advice = "remove it, and let the hook itself answer when it fails"
            yield setup.at(hook, f"has no effect: {hook.event} can't block; {advice}", "onError")


def _erased_block(setup: Setup) -> Iterator[Problem]:
    for event in (event for event, row in EVENT_TABLE.items() if row.replaces_fields and row.can_block):
        hooks = sorted(setup.active(event), key=lambda hook: hook.rank)
        if any(hook.sequential for hook in hooks):
            continue  # a block ends the chain
        for earlier, later in pairwise(hooks):
            if earlier.command != later.command and _mentions(_DECIDES, later, setup.project_dir, unreadable=True):
                why = f"answers after {earlier.label}, and on {event} a later answer replaces an earlier one"
                advice = 'add "sequential": true to the group, or let it print no decision'
                yield setup.at(later, f"{why}, so it can erase a block; {advice}", "command")


def _unseen_rewrite(setup: Setup) -> Iterator[Problem]:
    hooks = setup.active(HookEventName.BEFORE_TOOL)
    may_rewrite = [hook for hook in hooks if _mentions(_REWRITES, hook, setup.project_dir, unreadable=False)]
    rewriting = {place_of(hook) for hook in may_rewrite}
    for subject in subjects_of(HookEventName.BEFORE_TOOL, setup) if rewriting else ():
        made = plan(hooks, HookEventName.BEFORE_TOOL, subject)
        for guard in made.hooks:
            other = next((hook for hook in _unseen_by(guard, made) if place_of(hook) in rewriting), None)
            if other is not None and _mentions(_DENIES, guard, setup.project_dir, unreadable=False):
                why = f"judges arguments that {other.label} can rewrite without its knowledge"
                yield setup.at(guard, f'{why}; add "final": true to judge them as they will run')


def _unseen_by(guard: HookEntry, made: HookExecutionPlan) -> Iterator[HookEntry]:
    """The hooks whose changes a hook is not told: those that run at the same time, and later ones."""
    if guard.final:
        return
    is_chain = any(hook.sequential and hook.rank >= guard.rank for hook in made.hooks)
    place = made.hooks.index(guard)
    for index, hook in enumerate(made.hooks):
        if hook is not guard and not hook.final and (index > place or (hook.rank == guard.rank and not is_chain)):
            yield hook


def _mentions(pattern: re.Pattern[bytes], hook: HookEntry, project_dir: str, *, unreadable: bool) -> bool:
    """Whether a hook's command or scripts mention something; `unreadable` is the answer if one can't be read."""
    texts = [(hook.command or "").encode(errors="replace")]
    for file in fingerprint(hook, project_dir).files:
        try:
            texts.append(file.read_bytes())
        except OSError:
            return unreadable
    return any(pattern.search(text) for text in texts)


CHECKS: tuple[Check, ...] = (
    Check("settings", "settings that cannot be used, or only in part", lambda setup: setup.problems),
    Check("not-enabled", "hooks are configured and not enabled", _not_enabled),
    Check("misplaced-key", "a key that is misspelled or at the wrong level", _misplaced_key),
    Check("unknown-key", "an unknown key of a hook, a group or the options", _unknown_key),
    Check("disabled-name", "hooksConfig.disabled names a hook that does not exist", _disabled_name),
    Check("matcher-wildcard", "a wildcard where a regular expression is expected", matcher_wildcard, needs_trust=True),
    Check("matcher-no-regex", "a matcher that is not a regular expression", matcher_no_regex, needs_trust=True),
    Check("matcher-no-tool", "a matcher that matches no known tool", matcher_no_tool, needs_trust=True),
    Check(
        "matcher-no-trigger",
        "a matcher that equals no source, reason, trigger or type",
        matcher_no_trigger,
        needs_trust=True,
    ),
    Check("matcher-not-asked", "a matcher on an event that has nothing to match", matcher_not_asked),
    Check("timeout", "a timeout that is probably meant in seconds", _timeout),
    Check("program", "a command whose program is missing or cannot be started", _program),
    Check("script-syntax", "a Python script with a syntax error", script_syntax, needs_trust=True),
    Check("secret", "a password or token in the settings", _secret),
    Check("worker", "a worker whose program never says that it is ready", _worker, needs_trust=True),
    Check("unset-variable", "a command or a header with a variable that nothing sets", unset_variables),
    Check(
        "other-agent", "a script that compares with the names of another agent", other_agents_words, needs_trust=True
    ),
    Check("uncovered", "a project's command with a word that trust can't cover", _uncovered),
    Check("duplicate", "a hook that never runs because another has the same command", _duplicate, needs_trust=True),
    Check("fails-open", "a guard whose failure allows the call", fails_open, needs_trust=True),
    Check("no-block", "onError on an event that can't block", _no_block),
    Check("erased-block", "a hook that can erase the block of an earlier one", _erased_block, needs_trust=True),
    Check("unseen-rewrite", "a guard that judges other arguments than will be used", _unseen_rewrite, needs_trust=True),
)
