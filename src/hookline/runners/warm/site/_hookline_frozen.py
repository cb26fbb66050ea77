"""Call `gc.freeze()`, so that the collector does not write to the pages of preloaded objects.

What is set aside is never freed by the collector, and neither is whatever it refers to: a logger keeps the handlers of
a script, with their files. So if a run has made anything that does something when it is freed, all of it is given back
to the collector when the run ends, and Python ends as it always does. That takes a millisecond or two; most runs have
nothing of the kind.
"""

import atexit
import gc
import os
from _weakref import ReferenceType

# Scripts may replace them.
from builtins import BaseException, any, id, issubclass, map, set, type  # noqa: A004

from _hookline_c import Refused, call_by_name

_FUNCTION = type(lambda: None)
# Asked in this way, a class of the script's own can't notice it.
_bases_of = type.__dict__["__mro__"].__get__
_names_in = type.__dict__["__dict__"].__get__
_callback_of = ReferenceType.__dict__["__callback__"].__get__


class Frozen:
    """The objects that `gc.freeze` took from the collector."""

    def __init__(self) -> None:
        self._sign: "list[object]" = []

    def settle(self) -> None:
        """Set everything aside that there is by now."""
        if len(os.listdir("/proc/self/task")) > 1:
            raise Refused("something has started a thread")
        gc.collect()
        gc.freeze()
        try:
            call_by_name("malloc_trim", 0)
        except OSError:  # another C library
            return

    def register(self) -> None:
        """Have the run that begins now give it back if it has to. What is registered first is called last."""
        self._sign = [self]
        atexit.register(self._give_back)

    def _give_back(self) -> None:
        try:
            has_to = self._has_to()
        except BaseException:
            has_to = True
        if has_to:
            gc.unfreeze()

    def _has_to(self) -> bool:
        made = gc.get_objects()
        kinds = _kinds(made)
        if not any(map(_acts, kinds)) and not _call_back(made, kinds):
            return False
        # If the script has set this aside, it has done so with its own things, too, and wants it that way.
        return id(self._sign) in set(map(id, made))


def _kinds(things: "list[object]") -> "set[type]":
    """The types of these things; and those that are types themselves, because the collector may not know their own."""
    kinds = set(map(type, things))
    metas = {kind for kind in kinds if issubclass(kind, type)}
    if metas:
        kinds.update(thing for thing in things if type(thing) in metas)  # type: ignore[misc]
    return kinds


def _acts(kind: type) -> bool:
    """Return True if freeing an object of this type calls code; also true of files, generators and sockets."""
    return any("__del__" in _names_in(base) for base in _bases_of(kind))


def _call_back(things: "list[object]", kinds: "set[type]") -> bool:
    """Whether a function is called when what one of these refers to weakly is freed."""
    weak = {kind for kind in kinds if issubclass(kind, ReferenceType)}
    return any(type(_callback_of(thing)) is _FUNCTION for thing in things if type(thing) in weak)
