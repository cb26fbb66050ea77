"""The arguments of one tool call on their way through its hooks: one normal form for hooks, user, log and tool."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from typing import Any

Normalize = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Validate = Callable[[Mapping[str, Any]], str | None]
# The whole arguments, and the part of them that a hook changed (empty for the original ones) → the normal form.
NormalizeRewrite = Callable[[dict[str, Any], Mapping[str, Any]], Mapping[str, Any]]

_ATOMS = frozenset({str, int, float, bool, type(None)})


class ToolArguments:
    """The rules for the arguments of one call: their normal form, and whether a rewrite is valid.

    The same value always gets the same normal form, and a normal form is its own, even if the program's function is
    not that consistent. So what a guard has judged is what the user is asked about and what runs.
    """

    __slots__ = ("_known", "_normalize", "_validate", "fault")

    def __init__(self, normalize: NormalizeRewrite | None = None, validate: Validate | None = None) -> None:
        self._normalize = normalize
        self._validate = validate
        self._known: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.fault: str | None = None
        """Why arguments could not be normalized, or None; then the call must not run."""

    @classmethod
    def of(cls, normalize: Normalize | None, validate: Validate | None) -> "ToolArguments | None":
        """The rules of a program that normalizes all arguments at once; None for a program without rules.

        Its function gets what a hook changed as the last items, so that the last spelling of a name can win.
        """
        if normalize is None:
            return None if validate is None else cls(None, validate)

        def rewrite(arguments: dict[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
            kept = {name: value for name, value in arguments.items() if name not in changes}
            return normalize({**kept, **{name: arguments[name] for name in changes if name in arguments}})

        return cls(rewrite, validate)

    def normal(self, arguments: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The normal form of arguments; they stay as they are, and `fault` is set, if they have none."""
        given = dict(arguments)
        if self._normalize is None:
            return given
        for known, normal in self._known:
            if is_same(known, given) or is_same(normal, given):
                return dict(normal)
        try:
            normal = _whole_copy(self._normalize(_whole_copy(given), _whole_copy(changes or {})))
        except Exception as error:  # noqa: BLE001 - the program's code: arguments without a normal form are not used
            self.fault = self.fault or _unchecked(error)
            return given
        self._known.append((given, normal))
        return dict(normal)

    def why_invalid(self, arguments: Mapping[str, Any] | None) -> str | None:
        """Return the fault of arguments that hooks rewrote, or why they can't be checked; None for no rewrite."""
        if self.fault is not None or arguments is None or self._validate is None:
            return self.fault
        try:
            return self._validate(_whole_copy(arguments))
        except Exception as error:  # noqa: BLE001 - the program's code: arguments that can't be checked are not used
            return _unchecked(error)


def own_copy(arguments: object) -> dict[str, Any] | None:
    """Return a copy of the arguments, which must not change between hooks and tool; None if they can't be read."""
    if not isinstance(arguments, Mapping):
        return None
    with suppress(Exception):  # foreign code
        return {key: value if type(value) in _ATOMS else _copied(value) for key, value in arguments.items()}
    with suppress(Exception):  # a value that can't be copied is used as it is
        return dict(arguments)
    return None


def is_same(after: Any, before: Any) -> bool:
    """Whether two values are equal, and true is not 1; values that can't be compared count as different."""
    try:
        if isinstance(after, dict) and isinstance(before, dict):
            return after.keys() == before.keys() and all(is_same(after[key], before[key]) for key in after)
        if isinstance(after, list) and isinstance(before, list):
            return len(after) == len(before) and all(map(is_same, after, before))
        return bool(after == before) and isinstance(after, bool) is isinstance(before, bool)
    except Exception:  # noqa: BLE001 - foreign code: values that can't be compared count as different
        return False


def _whole_copy(arguments: object) -> dict[str, Any]:
    copied = own_copy(arguments)
    if copied is None:
        raise TypeError(f"a {type(arguments).__name__} can't be read as a mapping")
    return copied


def _unchecked(error: Exception) -> str:
    return f"they could not be checked ({type(error).__name__}: {error})"


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
