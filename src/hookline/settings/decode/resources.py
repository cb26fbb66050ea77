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
_EXPECTED = {
    "memory": 'a whole number of bytes, or a string such as "256MB"',
    "cpu": f"{_COUNT}, in seconds",
    "fallback": '"fail" or "cold"',
}


def read_limits(
    raw: Any, hook: HookSettings, path: Path, problems: LayerProblems
) -> tuple[ResourceLimits | None, str | None]:
    """Return the limits of a hook, or None if it has none; and why they are invalid."""
    given = LimitSettings()
    if raw is not None:
        example = 'an object such as {"memory": "256MB", "cpu": 10}'
        if (fault := _report_faults(raw, LimitSettings, example, path, problems)) is not None:
            return None, fault
        given = msgspec.convert(raw, LimitSettings)
    limits = ResourceLimits(
        memory_bytes=_bytes_of(given.memory),
        cpu_s=given.cpu,
        processes=given.processes,
        files=given.files,
        network=hook.network,
    )
    return None if limits == ResourceLimits() else limits, None


def read_worker(
    raw: Any, run: HookRun, dialect: str, path: Path, problems: LayerProblems
) -> tuple[HookRun, str | None]:
    """Return the run as that of a worker if the settings ask for one; and why it can't be one."""
    if raw is None or raw is False:
        return run, None
    if not isinstance(run, CommandLine):
        problems.warn(path, f'has no effect on a hook of type "{run.type}"; remove it')
        return run, None
    if dialect != OWN_DIALECT:
        fault = f"needs the dialect {OWN_DIALECT}, and this hook has the dialect {dialect}"
        return run, _report(path, (), fault, problems)
    options = {} if raw is True else raw
    example = 'true or an object such as {"restartAfter": 1000}'
    if (invalid := _report_faults(options, WorkerSettings, example, path, problems)) is not None:
        return run, invalid
    given = msgspec.convert(options, WorkerSettings)
    worker = WorkerOptions(
        runs_cold=given.fallback == "cold",
        restart_after=given.restart_after,
        memory_bytes=_bytes_of(given.memory) or DEFAULT_WORKER_MEMORY_BYTES,
    )
    return WorkerCommand(run.text, run.args, run.shell, run.warm, options=worker), None


def _bytes_of(size: int | str | None) -> int | None:
    """Return a size in bytes; the schema has checked a text such as 256MB."""
    if not isinstance(size, str):
        return size
    amount = size.rstrip("iB")
    return int(amount[:-1]) * _UNITS[amount[-1]]


def _report_faults(
    raw: Any, struct: type[msgspec.Struct], example: str, path: Path, problems: LayerProblems
) -> str | None:
    """Report every fault, and return the first as the reason why the hook fails."""
    reasons = [_report(path, key, fault, problems) for key, fault in _faults(raw, struct, example)]
    return reasons[0] if reasons else None


def _report(path: Path, key: tuple[str, ...], fault: str, problems: LayerProblems) -> str:
    problems.error((*path, *key), f"{fault}; the hook fails, and blocks where it can, until you fix or remove it")
    return f"its {'.'.join((str(path[-1]), *key))} {fault}"


def _faults(raw: Any, struct: type[msgspec.Struct], example: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the faults, each with its path inside the object."""
    if not isinstance(raw, Mapping):
        yield (), f"is {kind_of(raw)}, expected {example}"
        return
    fields = fields_of(struct)
    for key, value in raw.items():
        if key not in fields:
            yield (str(key),), f"does not exist; the options are {', '.join(fields)}"
        elif not _is_usable(value, fields[key]):
            yield (key,), f"can't be used (expected {_EXPECTED.get(key, _COUNT)})"


def _is_usable(value: Any, field: msgspec.structs.FieldInfo) -> bool:
    try:
        number = msgspec.convert(value, field.type)
    except ValueError:
        return False
    return not isinstance(number, int) or number <= _LARGEST
