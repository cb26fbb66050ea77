"""Imports modules of the standard library that earlier runs of a script have used, before its event."""

import _warnings
import gc
import os
import sys

from _hookline_c import Refused, call_by_name

# These act when they are imported, or keep something that each process must have for itself.
_NOT_LOADED = frozenset(
    ("antigravity", "this", "readline", "rlcompleter", "multiprocessing", "idlelib", "tkinter", "turtle", "curses")
)


class _Hidden(BaseException):
    """No ImportError: a module that goes on without another one would not be as the script finds it."""


class _Guard:
    """Keeps modules of the library from importing what the script would get from somewhere else."""

    def __init__(self, hidden: "set[str]") -> None:
        self._hidden = hidden

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Never find anything."""
        if name.partition(".")[0] in self._hidden:
            raise _Hidden


class Library:
    """The standard library, as the script would find it."""

    def __init__(self, script: str) -> None:
        # Asked now: the working directory may be gone later.
        self._folder = os.path.dirname(os.path.realpath(script))
        self._root = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
        self._names = getattr(sys, "stdlib_module_names", None)
        self._find_spec = sys.modules["_frozen_importlib"]._find_spec

    def leading_folders(self) -> "list[str]":
        """The folders that Python searches before its own library."""
        folders = []
        for entry in sys.path:
            if os.path.abspath(entry) + os.sep == self._root:
                break
            if not entry.endswith(".zip"):
                folders.append(os.path.abspath(entry))
        return folders

    def load(self, names: "list[str]") -> "set[str]":
        """Import those that are of the library for sure; return the outermost names of what was imported."""
        folders = [self._folder, *self.leading_folders()]
        guard = _Guard({entry.partition(".")[0] for folder in folders for entry in entries(folder)} | _NOT_LOADED)
        known = set(sys.modules)
        sys.meta_path.insert(0, guard)
        # A module that warns must do so when the script imports it.
        _warnings.filters.insert(0, ("error", None, Warning, None, 0))
        _warnings._filters_mutated()  # type: ignore[attr-defined]
        for name in names:
            try:
                if name not in sys.modules and self._has(name):
                    __import__(name)
            except (Exception, _Hidden):
                continue  # the script will meet it, too, if it imports this
        del _warnings.filters[0]
        _warnings._filters_mutated()  # type: ignore[attr-defined]
        sys.meta_path.remove(guard)
        settle()
        return {name.partition(".")[0] for name in set(sys.modules) - known}

    def _has(self, name: str) -> bool:
        top = name.partition(".")[0]
        if self._names is not None and top not in self._names:
            return False
        parent = sys.modules.get(name.rpartition(".")[0])
        if name != top and parent is None:
            return False
        spec = self._find_spec(name, getattr(parent, "__path__", None))
        if spec is None or spec.origin is None:
            return False
        is_file = spec.origin.startswith(self._root) and "-packages" not in spec.origin
        return is_file or spec.origin in ("built-in", "frozen")


def settle() -> None:
    """Have as little as possible written to the memory that is shared with copies of this process."""
    if len(os.listdir("/proc/self/task")) > 1:
        raise Refused("something has started a thread")
    gc.collect()
    # The collector would write to every page.
    gc.freeze()
    try:
        call_by_name("malloc_trim", 0)
    except OSError:  # another C library
        return


def entries(folder: str) -> "list[str]":
    """The names in a folder."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
