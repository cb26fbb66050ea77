"""The limits of one hook: whatever can't be understood makes the hook fail, so that it never runs without them."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hookline.contract.answers import kind_of
from hookline.contract.hooks import ResourceLimits
from hookline.settings._fields import LayerProblems, Path, fields_of
from hookline.settings.schema import HookSettings, LimitSettings

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# What the kernel's numbers can hold.
_LARGEST = (1 << 63) - 1
_COUNT = "a whole number of at least 1"
_EXPECTED = {
    "memory": 'a whole number of bytes, or a string such as "256MB"',
    "cpu": f"{_COUNT}, in seconds",
    "processes": _COUNT,
    "files": _COUNT,
}


def read_limits(raw: Any, hook: HookSettings, path: Path, problems: LayerProblems) -> ResourceLimits | None:
    """The limits of a hook, or None if it has none; wrong ones are reported, and the first is the limits' `fault`."""
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
    """What is wrong, each with the key inside `limits`."""
    if not isinstance(raw, Mapping):
        yield (), f'is {kind_of(raw)}, expected an object such as {{"memory": "256MB", "cpu": 10}}'
        return
    for key, value in raw.items():
        field = fields_of(LimitSettings).get(key)
        if field is None:
            yield (str(key),), f"is not a limit; the limits are {', '.join(_EXPECTED)}"
        elif not _is_usable(value, field):
            yield (key,), f"can't be used (expected {_EXPECTED[key]})"


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
