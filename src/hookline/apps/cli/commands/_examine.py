"""What `hookline doctor` looks at, one sign after another."""

import json
import os
import resource
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, Any

from hookline.adapters.table import ADAPTERS
from hookline.apps.cli.commands._examine_fleet import fleet_signs, policy_signs
from hookline.apps.cli.commands._examine_warm import warm_sign
from hookline.apps.cli.commands._signs import Health, Sign
from hookline.apps.cli.commands.fire import fire_once
from hookline.apps.cli.interrupt import run_loop
from hookline.apps.cli.report.foreign import bridge_lines, unread_lines, unread_report
from hookline.apps.cli.report.proof import words_of
from hookline.apps.cli.report.text import plural
from hookline.bridge.installation.status import installations
from hookline.bridge.judge import hosts
from hookline.bridge.unsupported import unsupported_effects
from hookline.client.config import Config
from hookline.errors import HooklineError
from hookline.extensions import lazy_module
from hookline.files import open_regular
from hookline.inspect.hooks import evidence_of, key_of, read_statistics, recorded_in
from hookline.inspect.lint.programs import UNTRUSTED, run_fault
from hookline.inspect.proof.coverage import agent_words
from hookline.inspect.view import Setup, read_setup, value_at
from hookline.log.paths import log_path, why_unwritable
from hookline.log.read.entry import LogQuery
from hookline.log.read.statistics import RUNS, HookStatistics
from hookline.protocol.constants import OWN_DIALECT, ConfigSource, FiredBy
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.exit_text import show_ending
from hookline.runners.process.command import shell_invocation
from hookline.settings.read.files import Layer
from hookline.settings.read.merge import by_authority, hooks_enabled
from hookline.settings.read.paths import SettingsPaths
from hookline.settings.trust.store import default_trust_path, is_below, show_uncovered

if TYPE_CHECKING:
    from hookline.bridge.server import control
else:
    control = lazy_module("hookline.bridge.server.control")

_MARKER = "hookline-canary-is-alive"
_HOOK_KEYS = ("hooks.", "extensions[", "use[")
_CANARY_TIMEOUT_MS = 10_000


def examine(config: Config) -> list[Sign]:
    """Everything that decides whether hooks run for a configuration, and the test of a hook that is really fired."""
    setup = read_setup(config)
    return [
        *_layers(setup),
        *policy_signs(config.get_settings()),
        *_agents(config),
        *_checkout(setup),
        _enabled(setup),
        *_switches(config),
        _shell(setup),
        _limits(setup),
        warm_sign(setup),
        _log(setup),
        *_trust_store(setup),
        *_hooks(setup),
        *fleet_signs(setup),
        *_bridges(setup),
        *_standing(config, setup),
        *_frameworks(),
        _canary(config),
    ]


def _layers(setup: Setup) -> Iterator[Sign]:
    # The policy has lines of its own.
    for layer in (layer for layer in setup.layers if layer.policy is None):
        about = f"{layer.source} file"
        unusable = [problem for problem in layer.problems if problem.is_error]
        if unusable:
            yield Sign(about, Health.BAD, str(unusable[0]))
        elif layer.dialect != OWN_DIALECT:
            if layer.text is not None:
                yield Sign(about, Health.GOOD, f"{layer.origin} is read, because it is a file of {layer.dialect}")
        elif layer.text is None:
            yield Sign(about, Health.GOOD, f"{layer.origin} does not exist")
            yield from _of_a_parent(layer, setup)
        else:
            value = _enables(layer)
            shown = "does not set enableHooks" if value is None else f"sets enableHooks to {str(value).lower()}"
            yield Sign(about, Health.GOOD, f"{layer.origin} {shown}")
    broken = sorted((problem for problem in setup.problems if problem.path), key=lambda problem: not problem.is_error)
    if broken:
        message = f"{plural(len(broken), 'problem')}, the first: {broken[0]}; hookline check shows all"
        yield Sign("problems", Health.BAD if broken[0].is_error else Health.ODD, message)


def _agents(config: Config) -> Iterator[Sign]:
    """Hooks of other agents that are not read, and our own bridge in files that are."""
    for line in unread_lines(unread_report(config)):
        yield Sign("other agents", Health.ODD, line)
    for line in bridge_lines(config.get_settings().bridges):
        yield Sign("other agents", Health.GOOD, line)


def _checkout(setup: Setup) -> Iterator[Sign]:
    """A note if a repository could change the user's own settings, which need no trust."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - never raises
    user = next((layer for layer in setup.layers if layer.source is ConfigSource.USER), None)
    if user is not None and Path(user.origin).is_relative_to(home) and (home / ".git").exists():
        message = f"{home} is a git checkout, and hooks in {user.origin} run without trust"
        yield Sign("home", Health.ODD, f"{message}; keep {Path(user.origin).parent} out of the repository")


def _of_a_parent(layer: Layer, setup: Setup) -> Iterator[Sign]:
    """A note if a parent directory has the file that the project lacks."""
    project = Path(setup.project_dir)
    if not layer.is_guest or not Path(layer.origin).is_relative_to(project):
        return
    ours = {os.path.realpath(other.origin) for other in setup.layers}
    for parent in project.parents:
        file = parent / Path(layer.origin).relative_to(project)
        # Not Path.is_file, which raises if a directory cannot be searched.
        if os.path.isfile(file) and os.path.realpath(file) not in ours:  # noqa: PTH113 - as said above
            why = "a search ends at a repository's root and at files of other users, and --project is taken as it is"
            yield Sign(
                f"{layer.source} file", Health.ODD, f"{file} is not read: {why}; for its hooks: --project {parent}"
            )
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
    """The same as the sign of `enabled`, in short, for every hook."""
    if deciding := _deciding(setup):
        return f"hooks are off, by {deciding.origin}"
    if unusable := setup.unusable():
        return f"hooks are off until {unusable[0].origin} is fixed"
    return 'hooks are off: no settings file says "enableHooks": true'


def _enabled(setup: Setup) -> Sign:
    deciding = _deciding(setup)
    if setup.is_enabled and deciding:
        return Sign("enabled", Health.GOOD, f"yes, by {deciding.origin}")
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
    return Sign("enabled", Health.BAD, message)


def _switches(config: Config) -> Iterator[Sign]:
    """Switches of other agents, which do nothing here."""
    for problem in config.get_problems():
        if problem.path == "hooksConfig.enabled":
            yield Sign("enabled", Health.ODD, str(problem))


def _shell(setup: Setup) -> Sign:
    shell = shell_invocation("", setup.project_dir, setup.environ)
    path = os.fsdecode(shell.executable)
    if shell.argv[0] != "bash":
        return Sign("shell", Health.ODD, f"{path}, because there is no bash on PATH")
    return Sign("shell", Health.GOOD, path)


def _limits(setup: Setup) -> Sign:
    allowed = [
        "any number of" if limit == resource.RLIM_INFINITY else str(limit)
        for limit, _ in map(resource.getrlimit, (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
    ]
    message = (
        f"{setup.options.max_concurrent} hooks at once, {setup.options.output_limit} bytes of output each; "
        f"the system allows {allowed[0]} open files and {allowed[1]} processes"
    )
    return Sign("limits", Health.GOOD, message)


def _log(setup: Setup) -> Sign:
    log = setup.options.log
    if not log.enabled:
        return Sign("log", Health.ODD, "disabled by hooksConfig.log.enabled; hooks run, and nothing is recorded")
    path = log_path(log.path)
    fault = _write_fault(path)
    if fault:
        return Sign("log", Health.ODD, f"{path} cannot be written ({fault}); hooks run, and nothing is recorded")
    return Sign("log", Health.GOOD, str(path))


def _write_fault(path: Path) -> str | None:
    try:
        if path.exists():
            os.close(open_regular(path, os.O_RDWR | os.O_APPEND))
            return None
        # The first record creates the directory; here only an existing one is tried.
        folder = next(parent for parent in path.parents if parent.exists())
        with TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return why_unwritable(error)


def _trust_store(setup: Setup) -> Iterator[Sign]:
    if problem := setup.trust.problem_in(setup.project_dir):
        yield Sign("trust", Health.BAD, problem)
        return
    project = os.path.realpath(setup.project_dir)
    if is_below(default_trust_path(), project):
        message = f"{default_trust_path()} is inside the project, because your home directory is"
        advice = "do not accept hooks that a repository puts here; work in a directory below"
        yield Sign("trust", Health.ODD, f"{message}; {advice}")
    records = setup.trust.records()
    projects = len({record.project_dir for record in records})
    trusted = f"{plural(len(records), 'hook')} of {plural(projects, 'project')}" if records else "nothing"
    yield Sign("trust", Health.GOOD, f"{default_trust_path()}: {trusted} trusted")


def _hooks(setup: Setup) -> Iterator[Sign]:
    if not setup.hooks and (unusable := setup.unusable()):
        yield Sign("hooks", Health.ODD, f"unknown until {unusable[0].origin} is fixed")
    elif not setup.hooks and any(
        problem.is_error and problem.path.startswith(_HOOK_KEYS) for problem in setup.problems
    ):
        yield Sign("hooks", Health.ODD, "none of those that are configured can be used; hookline check shows why")
    elif not setup.hooks:
        yield Sign("hooks", Health.ODD, "none are configured; hookline init writes one")
    for hook in setup.hooks:
        health, message = _hook(hook, setup)
        yield Sign(hook.event, health, f"{hook.label} {message}")
    if setup.unused:
        first = setup.unused[0]
        message = f"{plural(len(setup.unused), 'hook')} of other agents, the first: {first.label}: {first.reason}"
        yield Sign("never run", Health.ODD, f"{message}; hookline list shows all")


def _hook(hook: HookEntry, setup: Setup) -> tuple[Health, str]:
    if not hook.enabled:
        return Health.ODD, f"is disabled by {hook.disabled_by}"
    if fault := run_fault(hook, setup):
        return Health.BAD, fault if fault.startswith(UNTRUSTED) else f"{fault} ({hook.origin}: {hook.location})"
    if not setup.is_enabled:
        return Health.ODD, f"does not run: {_why_off(setup)}"
    if words := setup.uncovered(hook):
        return Health.ODD, f"can be run, and {show_uncovered(words)}"
    return Health.GOOD, "can be run, and is trusted" if hook.needs_trust else "can be run"


def _bridges(setup: Setup) -> Iterator[Sign]:
    """Which other agents have hookline as their hook command, whether it answers there, and what gets lost."""
    hooks = [hook for hook in setup.hooks if hook.enabled]
    for name, host in hosts().items():
        for found in installations(name, Path(setup.project_dir)):
            about = f"bridge {name}"
            if found.problem:
                yield Sign(about, Health.BAD, found.problem)
                continue
            yield Sign(about, Health.GOOD, f"{found.file}: {found.summary}")
            lost = sum(bool(one.unsupported) or not one.asked_at for one in unsupported_effects(host, hooks))
            if lost:
                message = f"{plural(lost, 'hook')} can't have every effect there; hookline bridge status {name}"
                yield Sign(about, Health.ODD, message)
    if (server := _server()) is not None:
        yield Sign("server", Health.GOOD, f"process {server['pid']} has answered {plural(server['calls'], 'call')}")


def _standing(config: Config, setup: Setup) -> Iterator[Sign]:
    """For each agent and each hook: configured, observed, enforced, with the date of the last evidence."""
    try:
        statistics = read_statistics(recorded_in(config), LogQuery(kinds=RUNS))
    except HooklineError as error:
        # The sign of the log says what is wrong with it.
        yield Sign("evidence", Health.GOOD, f"none, because the log can't be read: {error}")
        return
    for row in agent_words(Path(setup.project_dir), statistics, hooks_enabled=setup.is_enabled):
        yield Sign("evidence", Health.GOOD, f"{row['name']}: {words_of(row)}", _three(row))
    for hook in (hook for hook in setup.hooks if hook.enabled):
        seen = evidence_of(statistics.hooks.get(key_of(hook)) or HookStatistics())
        words = {"configured": setup.is_enabled and setup.why_untrusted(hook) is None, **seen}
        # It stands in the settings, so "not configured" would mislead.
        shown = words_of(words, "does not run now")
        yield Sign("evidence", Health.GOOD, f"{hook.label} ({hook.event}): {shown}", words)


def _three(row: Mapping[str, Any]) -> dict[str, Any]:
    return {word: row[word] for word in ("configured", "observed", "enforced")}


def _frameworks() -> Iterator[Sign]:
    """What the adapters for the frameworks that are installed beside hookline can't do."""
    for adapter in ADAPTERS:
        try:
            installed = version(adapter.package)
        except PackageNotFoundError:
            continue
        if problem := adapter.too_old():
            yield Sign(adapter.framework, Health.ODD, problem)
            continue
        lost = "; ".join(f"{key} ({why})" for key, why in adapter.cannot.items())
        health, shown = (Health.ODD, f"can't do this: {lost}") if lost else (Health.GOOD, "has every effect of hooks")
        message = f"{adapter.package} {installed} is installed; hookline.adapters.{adapter.name} {shown}"
        yield Sign(adapter.framework, health, message)


def _server() -> dict[str, Any] | None:
    if sys.platform != "linux":
        return None
    return control.ask_server("--status")


def _canary(config: Config) -> Sign:
    """Fires a hook of our own: settings file, plan, process and answer are all real."""
    hook = {"type": "command", "command": f"printf %s {_MARKER}", "timeout": _CANARY_TIMEOUT_MS}
    with TemporaryDirectory(prefix="hookline-") as folder:
        settings = {
            "enableHooks": True,
            "hooks": {HookEventName.BEFORE_TOOL.value: [{"hooks": [hook]}]},
            "hooksConfig": {"log": {"path": str(Path(folder, "hooks.jsonl"))}},
        }
        file = Path(folder, "settings.json")
        file.write_text(json.dumps(settings), encoding="utf-8")
        # Elsewhere than the system's settings: a policy may allow its own hooks alone, and has signs of its own.
        none = Path(folder, "none.json")
        nowhere = SettingsPaths(project=none, user=none, system=none)
        copy = Config(
            config.get_working_dir(),
            settings_files=[file],
            settings_paths=nowhere,
            environ=config.get_environ(),
            fired_by=FiredBy.DOCTOR,
        )
        verdict = run_loop(fire_once(copy, HookEventName.BEFORE_TOOL, {"tool_name": "canary", "tool_input": {}}))
    if verdict.note == _MARKER:
        return Sign("canary", Health.GOOD, f"a hook was fired and answered in {verdict.duration_ms:.0f} ms")
    endings = [f"it {show_ending(run)} {run.stderr}".strip() for run in verdict.runs]
    problem = "; ".join((*endings, *(error.message for error in verdict.errors))) or "it was not run"
    return Sign("canary", Health.BAD, f"a hook was fired and did not answer: {problem}")
