"""Imports modules of the standard library that earlier runs of a script have used, before its event."""

import _warnings
import os
import sys

_MODULE, _SPEC = type(sys), type(sys.__spec__)
# These act when they are imported, or keep something that each process must have for itself.
_NOT_LOADED = frozenset(
    ("antigravity", "this", "readline", "rlcompleter", "multiprocessing", "idlelib", "tkinter", "turtle", "curses")
)


class _Hidden(BaseException):
    """Not an ImportError: a module that handles that would differ from the one that the script imports."""


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
        version = "python{}{}.zip".format(*sys.version_info)
        self._archive = os.path.join(os.path.dirname(self._root[:-1]), version)
        self._names = getattr(sys, "stdlib_module_names", None)
        self._find_spec = sys.modules["_frozen_importlib"]._find_spec

    def leading_entries(self) -> "list[str]":
        """The folders and archives that Python searches before its own library."""
        found = []
        for path in map(os.path.abspath, _search_path()):
            if path + os.sep == self._root:
                break
            if path != self._archive:
                found.append(path)
        return found

    def files(self) -> "list[bytes]":
        """Return the inputs of Python's start: files (`s`), library files (`f`), folders (`l`), modules (`m`)."""
        leading = self.leading_entries()
        archives = [entry for entry in leading if entry.endswith(".zip") or os.path.isfile(entry)]
        found = [b"s" + os.fsencode(path) for path in self._files_of_site() + archives]
        found += [b"f" + os.fsencode(path) for path in self.own_files()]
        found += [b"l" + os.fsencode(path) for path in leading if path not in archives]
        imported = {name.partition(".")[0] for name in sys.modules} - {"sitecustomize", "__main__"}
        return found + [b"m" + os.fsencode(name) for name in imported]

    def own_files(self) -> "list[str]":
        """The files of the library that were imported."""
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        return [path for path in files if isinstance(path, str) and self._is_in_it(path)]

    def _files_of_site(self) -> "list[str]":
        """Return the files that `site` reads if they exist, and the modules that .pth files have imported."""
        site = sys.modules["site"]
        folders = {entry for entry in _search_path() if entry.endswith("-packages")}
        folders.update(getattr(site, "getsitepackages", list)())
        if site.ENABLE_USER_SITE:
            folders.add(site.USER_SITE)
        pth = [os.path.join(folder, name) for folder in folders for name in entries(folder) if name.endswith(".pth")]
        files = {getattr(module, "__file__", None) for name, module in sys.modules.items() if name != "sitecustomize"}
        return [*folders, *pth, *[path for path in files if path and not self._is_in_it(path)]]

    def load(self, words: "list[str]") -> "set[str]":
        """Import modules that are of the library for sure; return the outermost names of what was imported.

        The words are of a report: names, names of modules from somewhere else (`!`), and what was searched before us.
        """
        names = [word for word in words if word[0] not in "!/"]
        folders = [self._folder, *self.leading_entries(), *[word for word in words if word[0] == "/"]]
        hidden = {entry.partition(".")[0] for folder in folders for entry in entries(folder)}
        guard = _Guard(hidden | {word[1:].partition(".")[0] for word in words if word[0] == "!"} | _NOT_LOADED)
        known = set(sys.modules)
        sys.meta_path.insert(0, guard)
        # A module that warns must do so when the script imports it.
        _warnings.filters.insert(0, ("error", None, Warning, None, 0))
        _filters_changed()
        for name in _in_order(names):
            try:
                if name not in sys.modules and self._has(name):
                    __import__(name)
            except (Exception, _Hidden):
                # If the script imports this module, it gets the same error and must import every part of the package.
                _remove_orphans(set(sys.modules) - known)
        del _warnings.filters[0]
        _filters_changed()
        sys.meta_path.remove(guard)
        return {name.partition(".")[0] for name in set(sys.modules) - known}

    def _has(self, name: str) -> bool:
        top = name.partition(".")[0]
        if self._names is not None and top not in self._names:
            return False
        parent = sys.modules.get(name.rpartition(".")[0])
        if name != top and parent is None:
            return False
        spec = self._find_spec(name, getattr(parent, "__path__", None))
        return spec is not None and spec.origin is not None and self._has_origin(spec.origin)

    def word_for(self, name: str, module: object) -> "str | None":
        """Return the word for a module in a report; `!` marks a file outside the library.

        None for anything but an ordinary module: to ask such a thing for anything could run it, as with a lazy one.
        """
        if type(module) is not _MODULE:
            return None
        spec = module.__dict__.get("__spec__")
        origin = spec.origin if type(spec) is _SPEC else None
        return name if type(origin) is not str or self._has_origin(origin) else f"!{name}"

    def _has_origin(self, origin: str) -> bool:
        return origin in ("built-in", "frozen") or self._is_in_it(origin)

    def _is_in_it(self, path: str) -> bool:
        return path.startswith(self._root) and "-packages" not in path


def _filters_changed() -> None:
    if hasattr(_warnings, "_filters_mutated_lock_held"):  # Python 3.14 and later
        _warnings._acquire_lock()  # type: ignore[attr-defined]
        _warnings._filters_mutated_lock_held()
        _warnings._release_lock()  # type: ignore[attr-defined]
    else:
        _warnings._filters_mutated()  # type: ignore[attr-defined]


def _in_order(names: "list[str]") -> "list[str]":
    """The order in which to import modules; they are given as sys.modules has them, each behind those that it imports.

    So outer ones come first and import the others in their own order: `_asyncio` does not work if `asyncio` is not
    there before it. A package comes before its parts.
    """
    return sorted(reversed(names), key=lambda name: (name.startswith("_"), name.count(".")))  # noqa: C414 - keeps order


def _search_path() -> "list[str]":
    """The entries of sys.path; Python passes over everything that is not text."""
    return [entry for entry in sys.path if isinstance(entry, str)]  # type: ignore[redundant-expr]


def _remove_orphans(names: "set[str]") -> None:
    """Take modules out whose package could not be imported: with them, the next import of it would leave out steps."""
    for name in sorted(names):
        package = name.rpartition(".")[0]
        if package and package not in sys.modules:
            del sys.modules[name]


def entries(folder: str) -> "list[str]":
    """The names in a folder."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
