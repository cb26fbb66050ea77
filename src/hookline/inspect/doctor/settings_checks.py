"""Check the settings: files, problems, the switch for hooks, trust, and every hook."""

import os
from collections.abc import Iterator
from pathlib import Path

from hookline.client.config import Config
from hookline.inspect.doctor.diagnostic import Diagnostic, Severity, error, ok, warning
from hookline.inspect.doctor.fleet_checks import policy_checks
from hookline.inspect.foreign_settings import bridge_lines, unread_lines, unread_report
from hookline.inspect.lint.programs import UNTRUSTED, run_fault
from hookline.inspect.view import Setup, value_at
from hookline.protocol.constants import OWN_DIALECT, ConfigSource
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.readable import plural
from hookline.settings.read.files import Layer
from hookline.settings.read.merge import by_authority, hooks_enabled
from hookline.settings.trust.store import default_trust_path, is_below, show_uncovered

_HOOK_KEYS = ("hooks.", "extensions[", "use[")


def settings_checks(config: Config, setup: Setup) -> Iterator[Diagnostic]:
    """Check the settings files, and whether they enable hooks."""
    yield from _layers(setup)
    yield from policy_checks(config.get_settings())
    yield from _agents(config)
    yield from _checkout(setup)
    yield _enabled(setup)
    yield from _switches(config)


def hook_checks(setup: Setup) -> Iterator[Diagnostic]:
    """Check the trust store, and whether each hook can run."""
    yield from _trust_store(setup)
    yield from _hooks(setup)


def _layers(setup: Setup) -> Iterator[Diagnostic]:
    # Other checks cover the policy.
    for layer in (layer for layer in setup.layers if layer.policy is None):
        about = f"{layer.source} file"
        unusable = [problem for problem in layer.problems if problem.is_error]
        if unusable:
            yield error(about, str(unusable[0]))
        elif layer.dialect != OWN_DIALECT:
            if layer.text is not None:
                yield ok(about, f"{layer.origin} is read, because it is a file of {layer.dialect}")
        elif layer.text is None:
            yield ok(about, f"{layer.origin} does not exist")
            yield from _of_a_parent(layer, setup)
        else:
            value = _enables(layer)
            shown = "does not set enableHooks" if value is None else f"sets enableHooks to {str(value).lower()}"
            yield ok(about, f"{layer.origin} {shown}")
    broken = sorted((problem for problem in setup.problems if problem.path), key=lambda problem: not problem.is_error)
    if broken:
        message = f"{plural(len(broken), 'problem')}, the first: {broken[0]}; hookline check shows all"
        yield Diagnostic("problems", Severity.ERROR if broken[0].is_error else Severity.WARNING, message)


def _agents(config: Config) -> Iterator[Diagnostic]:
    """Hooks of other agents that are not read, and our own bridge in files that are."""
    for line in unread_lines(unread_report(config)):
        yield warning("other agents", line)
    for line in bridge_lines(config.get_settings().bridges):
        yield ok("other agents", line)


def _checkout(setup: Setup) -> Iterator[Diagnostic]:
    """A note if a repository could change the user's own settings, which need no trust."""
    home = Path(os.path.expanduser("~"))
    user = next((layer for layer in setup.layers if layer.source is ConfigSource.USER), None)
    if user is not None and Path(user.origin).is_relative_to(home) and (home / ".git").exists():
        message = f"{home} is a git checkout, and hooks in {user.origin} run without trust"
        yield warning("home", f"{message}; keep {Path(user.origin).parent} out of the repository")


def _of_a_parent(layer: Layer, setup: Setup) -> Iterator[Diagnostic]:
    """A note if a parent directory has the file that the project lacks."""
    project = Path(setup.project_dir)
    if not layer.is_guest or not Path(layer.origin).is_relative_to(project):
        return
    ours = {os.path.realpath(other.origin) for other in setup.layers}
    for parent in project.parents:
        file = parent / Path(layer.origin).relative_to(project)
        # Not Path.is_file, which raises if a directory cannot be searched.
        if os.path.isfile(file) and os.path.realpath(file) not in ours:
            why = "a search ends at a repository's root and at files of other users, and --project is taken as it is"
            yield warning(f"{layer.source} file", f"{file} is not read: {why}; for its hooks: --project {parent}")
            return


def _enables(layer: Layer) -> bool | None:
    """Whether one layer alone enables hooks; None when it does not set that."""
    if hooks_enabled((layer,))[0]:
        return True
    given = [value_at(layer, path) for path in (("enableHooks",), ("tools", "enableHooks"))]
    return None if given == [None, None] else False


def _deciding(setup: Setup) -> Layer | None:
    """The layer that says whether hooks are enabled, or None."""
    return next((layer for layer in by_authority(setup.layers) if _enables(layer) is not None), None)


def _why_off(setup: Setup) -> str:
    """Return why hooks are off, in short, for the line of each hook."""
    if deciding := _deciding(setup):
        return f"hooks are off, by {deciding.origin}"
    if unusable := setup.unusable():
        return f"hooks are off until {unusable[0].origin} is fixed"
    return 'hooks are off: no settings file says "enableHooks": true'


def _enabled(setup: Setup) -> Diagnostic:
    deciding = _deciding(setup)
    if setup.is_enabled and deciding:
        return ok("enabled", f"yes, by {deciding.origin}")
    if deciding:
        message = f"no, by {deciding.origin}, which overrides the other files; change it there"
    elif unusable := setup.unusable():
        message = f"unknown until {unusable[0].origin} is fixed; no hook runs until then"
    else:
        advice = "hookline init writes one that does"
        if any(hook.dialect == OWN_DIALECT for hook in setup.hooks):
            advice = "add it to the file with your hooks"
        elif setup.hooks:
            # An agent's own file can't enable hooks here.
            user = next(layer.origin for layer in setup.layers if layer.source is ConfigSource.USER)
            advice = f"add it to {user}"
        off = f"{plural(len(setup.hooks), 'hook')} configured, all off: " if setup.hooks else ""
        message = f'no: {off}no settings file says "enableHooks": true; {advice}'
    return error("enabled", message)


def _switches(config: Config) -> Iterator[Diagnostic]:
    """Switches of other agents, which do nothing here."""
    for problem in config.get_problems():
        if problem.path == "hooksConfig.enabled":
            yield warning("enabled", str(problem))


def _trust_store(setup: Setup) -> Iterator[Diagnostic]:
    if problem := setup.trust.problem_in(setup.project_dir):
        yield error("trust", problem)
        return
    project = os.path.realpath(setup.project_dir)
    if is_below(default_trust_path(), project):
        message = f"{default_trust_path()} is inside the project, because your home directory is"
        advice = "do not accept hooks that a repository puts here; work in a directory below"
        yield warning("trust", f"{message}; {advice}")
    records = setup.trust.records()
    projects = len({record.project_dir for record in records})
    trusted = f"{plural(len(records), 'hook')} of {plural(projects, 'project')}" if records else "nothing"
    yield ok("trust", f"{default_trust_path()}: {trusted} trusted")


def _hooks(setup: Setup) -> Iterator[Diagnostic]:
    if not setup.hooks and (unusable := setup.unusable()):
        yield warning("hooks", f"unknown until {unusable[0].origin} is fixed")
    elif not setup.hooks and any(
        problem.is_error and problem.path.startswith(_HOOK_KEYS) for problem in setup.problems
    ):
        yield warning("hooks", "none of those that are configured can be used; hookline check shows why")
    elif not setup.hooks:
        yield warning("hooks", "none are configured; hookline init writes one")
    for hook in setup.hooks:
        severity, message = _hook(hook, setup)
        yield Diagnostic(hook.event, severity, f"{hook.label} {message}")
    if setup.unused:
        first = setup.unused[0]
        message = f"{plural(len(setup.unused), 'hook')} of other agents, the first: {first.label}: {first.reason}"
        yield warning("never run", f"{message}; hookline list shows all")


def _hook(hook: HookEntry, setup: Setup) -> tuple[Severity, str]:
    if not hook.enabled:
        return Severity.WARNING, f"is disabled by {hook.disabled_by}"
    if fault := run_fault(hook, setup):
        return Severity.ERROR, fault if fault.startswith(UNTRUSTED) else f"{fault} ({hook.origin}: {hook.location})"
    if not setup.is_enabled:
        return Severity.WARNING, f"does not run: {_why_off(setup)}"
    if words := setup.uncovered(hook):
        return Severity.WARNING, f"can be run, and {show_uncovered(words)}"
    return Severity.OK, "can be run, and is trusted" if hook.needs_trust else "can be run"
