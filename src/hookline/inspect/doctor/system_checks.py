"""Check what hooks need besides settings: shell, limits, warm interpreters, log, bridges, frameworks, a real hook."""

import json
import os
import resource
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, Any

from hookline.adapters.table import ADAPTERS
from hookline.bridge.agents import HOSTS
from hookline.bridge.installation.status import installations
from hookline.bridge.unsupported import unsupported_effects
from hookline.client.config import Config
from hookline.engine.system import passes_of
from hookline.extensions import lazy_module
from hookline.files import open_regular
from hookline.inspect.doctor.diagnostic import Diagnostic, Severity, error, ok, warning
from hookline.inspect.fire import fire_once
from hookline.inspect.view import Setup
from hookline.log.paths import log_path, why_unwritable
from hookline.protocol.constants import DEFAULT_MAX_WARM, FiredBy
from hookline.protocol.events import HookEventName
from hookline.protocol.text.exit_text import show_ending
from hookline.protocol.text.readable import plural
from hookline.runners.process.command import shell_invocation
from hookline.runners.process.features import FEATURES, unknown_word
from hookline.runners.warm_policy import cold_variable
from hookline.settings.read.paths import SettingsPaths

if TYPE_CHECKING:
    from hookline.bridge.server import control
else:
    control = lazy_module("hookline.bridge.server.control")

_MARKER = "hookline-canary-is-alive"
_CANARY_TIMEOUT_MS = 10_000
_ABOUT = "warm hooks"


def system_checks(setup: Setup) -> Iterator[Diagnostic]:
    """Check the shell, the limits, warm interpreters and the log."""
    yield _shell(setup)
    yield _limits(setup)
    yield _warm(setup)
    yield _log(setup)


def _shell(setup: Setup) -> Diagnostic:
    shell = shell_invocation("", setup.project_dir, setup.environ)
    path = os.fsdecode(shell.executable)
    if shell.argv[0] != "bash":
        return warning("shell", f"{path}, because bash is not on PATH")
    return ok("shell", path)


def _limits(setup: Setup) -> Diagnostic:
    allowed = [
        "any number of" if limit == resource.RLIM_INFINITY else str(limit)
        for limit, _ in map(resource.getrlimit, (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
    ]
    message = (
        f"{setup.options.max_concurrent} hooks at once, {setup.options.output_limit} bytes of output each; "
        f"the system allows {allowed[0]} open files and {allowed[1]} processes"
    )
    return ok("limits", message)


def _log(setup: Setup) -> Diagnostic:
    log = setup.options.log
    if not log.enabled:
        return warning("log", "disabled by hooksConfig.log.enabled; hooks run, and nothing is recorded")
    path = log_path(log.path)
    fault = _write_fault(path)
    if fault:
        return warning("log", f"{path} cannot be written ({fault}); hooks run, and nothing is recorded")
    return ok("log", str(path))


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


def _warm(setup: Setup) -> Diagnostic:
    """Whether interpreters of Python scripts are started before their events."""
    if unknown := unknown_word():
        return warning(_ABOUT, unknown)
    warm = setup.options.warm
    most = DEFAULT_MAX_WARM * warm if isinstance(warm, bool) else warm.max
    if not most:
        why = "hooksConfig.warm is false" if warm is False else "hooksConfig.warm.max is 0"
        return ok(_ABOUT, f"off: {why}")
    if FEATURES.why_cold is not None:
        return ok(_ABOUT, f"off: {FEATURES.why_cold}; hooks run all the same")
    if cold := _why_cold(setup):
        return warning(_ABOUT, cold)
    return ok(_ABOUT, f"the interpreters of at most {most} Python scripts wait for events")


def _why_cold(setup: Setup) -> str | None:
    """Return the variable that makes all hooks cold, or the first hook whose own `env` does."""
    passes = passes_of(setup.options.environment)
    inherited = {name: value for name, value in setup.environ.items() if passes is None or passes(name)}
    if why := cold_variable(inherited):
        return f"every Python hook is cold: {why}"
    for hook in setup.active():
        if why := cold_variable(hook.env):
            return f"{hook.label} is always cold: in its env, {why}"
    return None


def bridge_checks(setup: Setup) -> Iterator[Diagnostic]:
    """Check the bridge in other agents: whether it answers, and which effects get lost."""
    hooks = [hook for hook in setup.hooks if hook.enabled]
    for name, host in HOSTS.items():
        for found in installations(name, Path(setup.project_dir)):
            about = f"bridge {name}"
            if found.problem:
                yield error(about, found.problem)
                continue
            yield ok(about, f"{found.file}: {found.summary}")
            lost = sum(bool(one.unsupported) or not one.asked_at for one in unsupported_effects(host, hooks))
            if lost:
                message = f"{plural(lost, 'hook')} can't have every effect there; hookline bridge status {name}"
                yield warning(about, message)
    if (server := _server()) is not None:
        yield ok("server", f"process {server['pid']} has answered {plural(server['calls'], 'call')}")


def _server() -> dict[str, Any] | None:
    if sys.platform != "linux":
        return None
    return control.ask_server("--status")


def framework_checks() -> Iterator[Diagnostic]:
    """Check what the adapters for installed frameworks can't do."""
    for adapter in ADAPTERS:
        try:
            installed = version(adapter.package)
        except PackageNotFoundError:
            continue
        if problem := adapter.too_old():
            yield warning(adapter.framework, problem)
            continue
        lost = "; ".join(f"{key} ({why})" for key, why in adapter.cannot.items())
        severity, shown = (
            (Severity.WARNING, f"can't do this: {lost}") if lost else (Severity.OK, "has every effect of hooks")
        )
        message = f"{adapter.package} {installed} is installed; hookline.adapters.{adapter.name} {shown}"
        yield Diagnostic(adapter.framework, severity, message)


async def canary_check(config: Config) -> Diagnostic:
    """Fire a test hook: settings file, plan, process and answer are all real."""
    hook = {"type": "command", "command": f"printf %s {_MARKER}", "timeout": _CANARY_TIMEOUT_MS}
    with TemporaryDirectory(prefix="hookline-") as folder:
        settings = {
            "enableHooks": True,
            "hooks": {HookEventName.BEFORE_TOOL.value: [{"hooks": [hook]}]},
            "hooksConfig": {"log": {"path": str(Path(folder, "hooks.jsonl"))}},
        }
        file = Path(folder, "settings.json")
        file.write_text(json.dumps(settings), encoding="utf-8")  # noqa: ASYNC240 - nothing else runs in this loop
        # Not the system's settings: a policy may allow only its own hooks, and other checks cover it.
        none = Path(folder, "none.json")
        nowhere = SettingsPaths(project=none, user=none, system=none)
        copy = Config(
            config.get_working_dir(),
            settings_files=[file],
            settings_paths=nowhere,
            environ=config.get_environ(),
            fired_by=FiredBy.DOCTOR,
        )
        verdict = await fire_once(copy, HookEventName.BEFORE_TOOL, {"tool_name": "canary", "tool_input": {}})
    if verdict.note == _MARKER:
        return ok("canary", f"a hook was fired and answered in {verdict.duration_ms:.0f} ms")
    endings = [f"it {show_ending(run)} {run.stderr}".strip() for run in verdict.runs]
    problem = "; ".join((*endings, *(error.message for error in verdict.errors))) or "it was not run"
    return error("canary", f"a hook was fired and did not answer: {problem}")
