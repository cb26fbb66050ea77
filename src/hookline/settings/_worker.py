"""The key `worker` of one hook. If it can't be understood the hook fails: a worker must not be run in another way."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hookline.contract.answers import kind_of
from hookline.contract.hooks import WorkerOptions
from hookline.contract.vocabulary import DEFAULT_WORKER_MEMORY_BYTES, OWN_DIALECT
from hookline.settings._fields import LayerProblems, Path, fields_of
from hookline.settings._limits import bytes_of
from hookline.settings.schema import HookSettings, WorkerSettings

_EXPECTED = {
    "fallback": '"fail" or "cold"',
    "restartAfter": "a whole number of at least 1",
    "memory": 'a whole number of bytes, or a string such as "256MB"',
}


def read_worker(raw: Any, hook: HookSettings, dialect: str, path: Path, problems: LayerProblems) -> dict[str, Any]:
    """The fields of a HookEntry: nothing for a hook that is no worker, and why it can't be one otherwise."""
    if raw is None or raw is False:
        return {}
    if hook.type != "command":
        problems.warn(path, f'has no effect on a hook of type "{hook.type}"; remove it')
        return {}
    if (fault := _fault(raw, dialect)) is not None:
        problems.error(path, f"{fault}; the hook fails, and blocks where it can, until you fix or remove it")
        return {"refusal": f"its worker {fault}"}
    given = WorkerSettings() if raw is True else msgspec.convert(raw, WorkerSettings)
    memory = bytes_of(given.memory) if isinstance(given.memory, str) else given.memory
    options = WorkerOptions(
        runs_cold=given.fallback == "cold",
        restart_after=given.restart_after,
        memory_bytes=memory or DEFAULT_WORKER_MEMORY_BYTES,
    )
    return {"worker": options}


def _fault(raw: Any, dialect: str) -> str | None:
    if dialect != OWN_DIALECT:
        return f"is understood by hooks in hookline's own words only, and this one is in those of {dialect}"
    if raw is True:
        return None
    if not isinstance(raw, Mapping):
        return f'is {kind_of(raw)}, expected true or an object such as {{"restartAfter": 1000}}'
    for key, value in raw.items():
        field = fields_of(WorkerSettings).get(key)
        if field is None:
            return f"has the option {key}, which does not exist; the options are {', '.join(_EXPECTED)}"
        try:
            msgspec.convert(value, field.type)
        except ValueError:
            return f"can't be used: {key} is not {_EXPECTED[key]}"
    return None
