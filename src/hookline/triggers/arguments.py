from collections.abc import Mapping
from copy import copy
from typing import Any

_ATOMS = frozenset({str, int, float, bool, type(None)})


def own_copy(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments as they are now, which must not change between hooks and tool; None if they are no mapping."""
    try:
        return {key: value if type(value) in _ATOMS else _copied(value) for key, value in arguments.items()}
    except Exception:  # noqa: BLE001 - foreign code: a value that can't be copied is used as it is
        try:
            return dict(arguments)
        except Exception:  # noqa: BLE001 - the same
            return None


def _copied(value: Any) -> Any:
    if type(value) is list or type(value) is tuple:
        return type(value)(map(_copied, value))
    if not isinstance(value, dict):
        return value
    # Of its own kind: a tool may count on its order, or on its defaults.
    copied = {} if type(value) is dict else copy(value)
    for key, item in value.items():
        copied[key] = _copied(item)
    return copied
