"""The keys `limits` and `worker` of one hook: if either is invalid, the hook fails instead of running without it."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hookline.protocol.answers import kind_of
from hookline.protocol.constants import DEFAULT_WORKER_MEMORY_BYTES, OWN_DIALECT
from hookline.protocol.hook_entry import CommandLine, HookRun, ResourceLimits, WorkerCommand, WorkerOptions
from hookline.settings.decode.fields import LayerProblems, Path, fields_of
from hookline.settings.decode.schema import HookSettings, LimitSettings, WorkerSettings

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# The largest number that the kernel accepts.
_LARGEST = (1 << 63) - 1
_COUNT = "a whole number of at least 1"
_LIMITS = {
    "memory": 'a whole number of bytes, or a string such as "256MB"',
    "cpu": f"{_COUNT}, in seconds",
    "processes": _COUNT,
    "files": _COUNT,
}
_WORKER_OPTIONS = {
    "fallback": '"fail" or "cold"',
    "restartAfter": "a whole number of at least 1",
    "memory": 'a whole number of bytes, or a string such as "256MB"',
}


def read_limits(raw: Any, hook: HookSettings, path: Path, problems: LayerProblems) -> ResourceLimits | None:
    """Return the limits of a hook, or None if it has none; all invalid ones are reported, the first is `fault`."""
    if raw is None:
        return None if hook.network else ResourceLimits(network=False)
    faults = list(_faults(raw))
    for key, fault in faults:
        problems.error((*path, *key), f"{fault}; the hook fails, and blocks where it can, until you fix or remove it")
    if faults:
        key, fault = faults[0]
        return ResourceLimits(network=hook.network, fault=f"{'.'.join(('limits', *key))} {fault}")
    given = msgspec.convert(raw, LimitSettings)
    limits = ResourceLimits(
        memory_bytes=bytes_of(given.memory) if isinstance(given.memory, str) else given.memory,
        cpu_s=given.cpu,
        processes=given.processes,
        files=given.files,
        network=hook.network,
    )
    return None if limits == ResourceLimits() else limits


def _faults(raw: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the faults, each with its path inside `limits`."""
    if not isinstance(raw, Mapping):
        yield (), f'is {kind_of(raw)}, expected an object such as {{"memory": "256MB", "cpu": 10}}'
        return
    for key, value in raw.items():
        field = fields_of(LimitSettings).get(key)
        if field is None:
            yield (str(key),), f"is not a limit; the limits are {', '.join(_LIMITS)}"
        elif not _is_usable(value, field):
            yield (key,), f"can't be used (expected {_LIMITS[key]})"


def _is_usable(value: Any, field: msgspec.structs.FieldInfo) -> bool:
    try:
        number = msgspec.convert(value, field.type)
    except ValueError:
        return False
    return not isinstance(number, int) or number <= _LARGEST


def bytes_of(text: str) -> int:
    """The number of bytes in a text such as 256MB, which the schema has checked."""
    amount = text.rstrip("iB")
    return int(amount[:-1]) * _UNITS[amount[-1]]


def read_worker(
    raw: Any, run: HookRun, dialect: str, path: Path, problems: LayerProblems
) -> tuple[HookRun, str | None]:
    """Return the run as that of a worker if the settings ask for one, and why it can't be one."""
    if raw is None or raw is False:
        return run, None
    if not isinstance(run, CommandLine):
        problems.warn(path, f'has no effect on a hook of type "{run.type}"; remove it')
        return run, None
    if (fault := _worker_fault(raw, dialect)) is not None:
        problems.error(path, f"{fault}; the hook fails, and blocks where it can, until you fix or remove it")
        return run, f"its worker {fault}"
    given = WorkerSettings() if raw is True else msgspec.convert(raw, WorkerSettings)
    memory = bytes_of(given.memory) if isinstance(given.memory, str) else given.memory
    options = WorkerOptions(
        runs_cold=given.fallback == "cold",
        restart_after=given.restart_after,
        memory_bytes=memory or DEFAULT_WORKER_MEMORY_BYTES,
    )
    return WorkerCommand(run.text, run.args, run.shell, run.warm, options=options), None


def _worker_fault(raw: Any, dialect: str) -> str | None:
    if dialect != OWN_DIALECT:
        return f"is understood by hooks in hookline's own words only, and this one is in those of {dialect}"
    if raw is True:
        return None
    if not isinstance(raw, Mapping):
        return f'is {kind_of(raw)}, expected true or an object such as {{"restartAfter": 1000}}'
    for key, value in raw.items():
        field = fields_of(WorkerSettings).get(key)
        if field is None:
            return f"has the option {key}, which does not exist; the options are {', '.join(_WORKER_OPTIONS)}"
        try:
            msgspec.convert(value, field.type)
        except ValueError:
            return f"can't be used: {key} is not {_WORKER_OPTIONS[key]}"
    return None
