"""What `hookline doctor` looks at, one sign after another."""

import asyncio
import json
import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from hookline.child.command import shell_invocation
from hookline.cli.lint.programs import program_fault
from hookline.cli.lint.setup import Setup, read_setup
from hookline.cli.report.text import plural
from hookline.config import Config
from hookline.contract.endings import show_ending
from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import Verdict
from hookline.log.paths import log_path
from hookline.settings.merge import by_authority, hooks_enabled
from hookline.settings.read import Layer
from hookline.settings.trust import TrustState, TrustStore, default_trust_path
from hookline.system import HookSystem

_MARKER = "hookline-canary-is-alive"
_CANARY_TIMEOUT_MS = 10_000


class Health(StrEnum):
    """How bad it is."""

    GOOD = "good"
    ODD = "odd"
    BAD = "bad"
    """Some hook does not run because of it."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that was looked at."""

    about: str
    health: Health
    said: str

    def to_dict(self) -> dict[str, str]:
        """The sign as `hookline doctor --json` shows it."""
        return {"about": self.about, "health": self.health.value, "said": self.said}


def examine(config: Config) -> list[Sign]:
    """Everything that decides whether hooks run for a configuration, and a hook that was really fired."""
    setup = read_setup(config)
    return [
        *_layers(setup),
        _enabled(setup),
        _shell(setup),
        _limits(setup),
        _log(setup),
        *_trust_store(),
        *_hooks(setup),
        _canary(config),
    ]


def _layers(setup: Setup) -> Iterator[Sign]:
    for layer in setup.layers:
        about = f"{layer.source} file"
        unusable = [problem for problem in layer.problems if problem.is_error]
        if unusable:
            yield Sign(about, Health.BAD, str(unusable[0]))
        elif layer.text is None:
            yield Sign(about, Health.GOOD, f"{layer.origin} does not exist")
            yield from _of_a_parent(layer, setup)
        else:
            yield Sign(about, Health.GOOD, f"{layer.origin}: {_says(layer)}")
    broken = sorted((problem for problem in setup.problems if problem.path), key=lambda problem: not problem.is_error)
    if broken:
        said = f"{len(broken)} to mend, the first: {broken[0]}; hookline check tells them all"
        yield Sign("problems", Health.BAD if any(problem.is_error for problem in broken) else Health.ODD, said)


def _of_a_parent(layer: Layer, setup: Setup) -> Iterator[Sign]:
    """A note where a directory above has the file that the project lacks."""
    project = Path(setup.project_dir)
    if not layer.is_guest or not Path(layer.origin).is_relative_to(project):
        return
    ours = {os.path.realpath(other.origin) for other in setup.layers}
    for parent in project.parents:
        file = parent / Path(layer.origin).relative_to(project)
        # Not Path.is_file: of a directory that is closed to us, it would raise.
        if os.path.isfile(file) and os.path.realpath(file) not in ours:  # noqa: PTH113 - as said above
            said = f"{file} is not read, because parent directories are not searched"
            yield Sign(f"{layer.source} file", Health.ODD, f"{said}; for its hooks give --project {parent}")
            return


def _says(layer: Layer) -> str:
    value = _own_word(layer)
    return "says nothing of enableHooks" if value is None else f"says enableHooks {str(value).lower()}"


def _own_word(layer: Layer) -> bool | None:
    """Whether one layer alone enables hooks; None when it has no say."""
    if hooks_enabled((layer,))[0]:
        return True
    tools = layer.values.get("tools")
    given = (layer.values.get("enableHooks"), tools.get("enableHooks") if isinstance(tools, dict) else None)
    return None if given == (None, None) else False


def _enabled(setup: Setup) -> Sign:
    deciding = next((layer for layer in by_authority(setup.layers) if _own_word(layer) is not None), None)
    if deciding is None and (unusable := setup.unusable()):
        return Sign("enabled", Health.BAD, f"unknown until {unusable[0].origin} is mended; no hook runs meanwhile")
    if deciding is None:
        advice = "hookline init writes one that does" if not setup.hooks else "add it to the file with your hooks"
        return Sign("enabled", Health.BAD, f'no: no settings file says "enableHooks": true; {advice}')
    if setup.is_enabled:
        return Sign("enabled", Health.GOOD, f"yes, by {deciding.origin}")
    return Sign("enabled", Health.BAD, f"no, by {deciding.origin}, which has the last word; change it there")


def _shell(setup: Setup) -> Sign:
    shell = shell_invocation("", setup.project_dir, setup.environ)
    path = os.fsdecode(shell.executable)
    if shell.argv[0] != "bash":
        return Sign("shell", Health.ODD, f"{path}, because there is no bash on PATH")
    return Sign("shell", Health.GOOD, path)


def _limits(setup: Setup) -> Sign:
    options = setup.options
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    said = (
        f"{options.max_concurrent} hooks at once, {options.output_limit} bytes of output each; "
        f"the system allows {_limit(files)} open files and {_limit(processes)} processes"
    )
    return Sign("limits", Health.GOOD, said)


def _limit(value: int) -> str:
    return "any number of" if value == resource.RLIM_INFINITY else str(value)


def _log(setup: Setup) -> Sign:
    log = setup.options.log
    if not log.enabled:
        return Sign("log", Health.ODD, "switched off by hooksConfig.log.enabled; hooks run, and nothing is recorded")
    path = log_path(log.path)
    fault = _write_fault(path)
    if fault:
        return Sign("log", Health.ODD, f"{path} cannot be written ({fault}); hooks run, and nothing is recorded")
    return Sign("log", Health.GOOD, str(path))


def _write_fault(path: Path) -> str | None:
    try:
        if path.exists():
            # Not to wait for a reader, should it be a pipe.
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC))
            return None
        # The directory is made with the first record; here only what is there already may be touched.
        folder = next(parent for parent in path.parents if parent.exists())
        with TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return str(error.strerror)


def _trust_store() -> Iterator[Sign]:
    path = default_trust_path()
    store = TrustStore(path)
    if store.problem:
        yield Sign("trust", Health.BAD, store.problem)
        return
    records = store.records()
    projects = len({record.project_dir for record in records})
    said = (
        f"{plural(len(records), 'hook')} of {plural(projects, 'project')} trusted" if records else "nothing is trusted"
    )
    yield Sign("trust", Health.GOOD, f"{path}: {said}")


def _hooks(setup: Setup) -> Iterator[Sign]:
    if not setup.hooks and (unusable := setup.unusable()):
        yield Sign("hooks", Health.ODD, f"unknown until {unusable[0].origin} is mended")
    elif not setup.hooks:
        yield Sign("hooks", Health.ODD, "none are configured; hookline init writes one")
    store = TrustStore(default_trust_path())
    for hook in setup.hooks:
        yield Sign(hook.event, *_hook(hook, store, setup))


def _hook(hook: HookEntry, store: TrustStore, setup: Setup) -> tuple[Health, str]:
    if not hook.enabled:
        return Health.ODD, f"{hook.label} is disabled by {hook.disabled_by}"
    if fault := program_fault(hook, setup.project_dir, setup.environ):
        return Health.BAD, f"{hook.label} {fault} ({hook.origin}: {hook.location})"
    if not hook.needs_trust:
        return Health.GOOD, f"{hook.label} can be run"
    match store.state_of(hook, setup.project_dir):
        case TrustState.TRUSTED:
            return Health.GOOD, f"{hook.label} can be run, and is trusted"
        case TrustState.NEW:
            return Health.BAD, f"{hook.label} is not trusted yet; look at it and run: hookline trust"
        case TrustState.CHANGED:
            return Health.BAD, f"{hook.label} has changed since it was trusted; look at it and run: hookline trust"


def _canary(config: Config) -> Sign:
    """Fires a hook of our own: settings file, plan, process and answer are all real."""
    hook = {"type": "command", "command": f"printf %s {_MARKER}", "timeout": _CANARY_TIMEOUT_MS}
    with TemporaryDirectory(prefix="hookline-") as folder:
        settings = {
            "enableHooks": True,
            "hooks": {HookEventName.SESSION_START.value: [{"hooks": [hook]}]},
            "hooksConfig": {"log": {"path": str(Path(folder, "hooks.jsonl"))}},
        }
        file = Path(folder, "settings.json")
        file.write_text(json.dumps(settings), encoding="utf-8")
        system = Config(config.get_working_dir(), settings_files=[file], environ=config.get_environ()).get_hook_system()
        return _seen(None if system is None else asyncio.run(_fire(system)))


async def _fire(system: HookSystem) -> Verdict:
    await system.initialize()
    try:
        return await system.get_event_handler().fire(HookEventName.SESSION_START, {"source": "startup"})
    finally:
        system.dispose()


def _seen(verdict: Verdict | None) -> Sign:
    if verdict is not None and verdict.note == _MARKER:
        return Sign("canary", Health.GOOD, f"a hook was fired and answered in {verdict.duration_ms:.0f} ms")
    runs, errors = (verdict.runs, verdict.errors) if verdict is not None else ((), ())
    endings = [f"it {show_ending(run)} {run.stderr}".strip() for run in runs]
    problem = "; ".join((*endings, *(error.message for error in errors))) or "it was not run"
    return Sign("canary", Health.BAD, f"a hook was fired and did not answer: {problem}")
