"""One script with its arguments and directory: what is parked for it, and whether that still fits."""

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hookline.child.parked.hiding import hiding
from hookline.child.parked.interpreter import Interpreter
from hookline.child.parked.recipe import Recipe, Signature, is_still_found, recipe_of, signature
from hookline.child.parked.surroundings import facts_of, variables
from hookline.child.spawn import Invocation

if TYPE_CHECKING:
    from hookline.child.parked.spare import Spare
    from hookline.child.parked.trial import Trial

# A folder that was changed so recently may change again within the same tick of its clock.
_TICK_S = 0.05
# No file has this one, so that it is looked at again.
_UNKNOWN: Signature = ()
# In the locale C; they come last.
_SET_BY_PYTHON = (b"LC_CTYPE",)
# How often the files of the standard library are looked at: there are many, and they hardly ever change.
_LIBRARY_S = 1.0


class Place:
    """One script with its arguments and directory, and what is parked for it."""

    def __init__(self, invocation: Invocation, cwd: str) -> None:
        self.invocation = invocation
        self.cwd = cwd
        self.program: Signature = None
        self.recipe: Recipe | None = None
        self.facts: tuple[Any, ...] | None = None
        # Whoever makes a place has seen one run before.
        self.runs = 1
        self.last_used = 0.0
        self.refusal: str | None = None
        self.is_parking = False
        self.is_forgotten = False
        self.interpreter: Interpreter | None = None
        self.spares: list[Spare] = []
        self.folder = ""
        self.fixed: dict[str, Signature] = {}
        self.searched: dict[str, Signature] = {}
        self.library: dict[str, Signature] = {}
        self._library_seen = 0.0
        self.loaded: set[str] = set()
        # What it had imported when it stopped, and which of that the folders have that it had searched.
        self.imported: frozenset[str] = frozenset()
        self.hidden: dict[str, frozenset[str]] = {}
        self.reporting: Signature = None
        self.reports: list[str] = []

    @property
    def script(self) -> str:
        """The file of the script."""
        return os.path.join(self.cwd, self.recipe.script if self.recipe else "")  # noqa: PTH118 - at every event

    def is_current(self, invocation: Invocation) -> bool:
        """Whether a run of this program now would start as the parked one did."""
        program = signature(os.path.join(self.cwd, os.fsdecode(invocation.executable)))  # noqa: PTH118
        recipe = self.recipe
        if program != self.program or recipe is None or not is_still_found(recipe, invocation, self.cwd):
            self.program, recipe = program, recipe_of(invocation, self.cwd)
        facts = None if recipe is None else facts_of(recipe, invocation, self.cwd)
        is_current = (recipe, facts) == (self.recipe, self.facts)
        if not is_current:
            self.recipe, self.facts, self.refusal = recipe, facts, None
        return is_current

    def take(self, interpreter: Interpreter, invocation: Invocation, trial: "Trial") -> None:
        """Have an interpreter from now on, which was started with this invocation after this trial."""
        self.invocation, self.interpreter = invocation, interpreter
        self.reporting, self.loaded, self.fixed = None, set(), {}
        self.imported, self.hidden = trial.imported, trial.hidden
        self.folder = _folder_of(self.script)
        self.searched = {self.folder: _UNKNOWN}
        self.library = {}
        for kind, path in ((each[:1], os.fsdecode(each[1:])) for each in interpreter.paths):
            if kind == b"s":
                self.fixed[path] = signature(path)
            elif kind == b"f":
                self.library[path] = signature(path)
            elif kind == b"l":
                self.searched[path] = _UNKNOWN

    def has_loaded(self, loaded: Sequence[str], report: Sequence[bytes]) -> None:
        """Know which modules and files it has now, and what the run that has used them searched before the library."""
        self.loaded |= {each for each in loaded if not each.startswith("/")}
        self.library = {path: signature(path) for path in loaded if path.startswith("/")} | self.library
        paths = [os.fsdecode(each) for each in report if each.startswith(b"/")]
        # Those that were looked at before may hide one of the new modules.
        self.searched = dict.fromkeys([*self.searched, *paths], _UNKNOWN)

    def is_untouched(self) -> bool:
        """Whether the files that Python has read at its start are as they were, and nothing hides a module of it."""
        if not (_are_same(self.fixed) and self._is_library_same()):
            return False
        if _folder_of(self.script) != self.folder:
            return False
        for folder, known in self.searched.items():
            now = signature(folder)
            if now != known or now is None:
                if self._hides_another(folder):
                    return False
                is_settled = now is not None and time.time() - now[3] / 1e9 > _TICK_S
                self.searched[folder] = now if is_settled else _UNKNOWN
        return True

    def _is_library_same(self) -> bool:
        """Whether the modules that it has imported are as they were a second ago."""
        now = time.monotonic()
        if now - self._library_seen < _LIBRARY_S:
            return True
        self._library_seen = now
        return _are_same(self.library)

    def _hides_another(self, folder: str) -> bool:
        """Whether a folder has one of the modules that are loaded, or hides others than before from Python's start."""
        found = hiding(folder, self.loaded | self.imported)
        return bool(found & self.loaded) or found & self.imported != self.hidden.get(folder, found & self.imported)

    def changes(self, invocation: Invocation) -> tuple[bytes, ...] | None:
        """How the environment differs from the one that it was parked with; None if that can't be sent."""
        now, then = variables(invocation.env), variables(self.invocation.env)
        names, kept = [*now], [name for name in then if name in now]
        if now == then and names == kept:
            return ()
        if self.recipe is None or self.recipe.is_shim:
            return None
        # From here on the order is another one: a variable that is set again comes last.
        place = next((place for place, name in enumerate(kept) if name != names[place]), len(kept))
        gone = [b"-" + name for name in (*[name for name in then if name not in now], *kept[place:])]
        entries = {entry.partition(b"=")[0]: entry for entry in invocation.env}
        changed = [name for name in names[:place] if then[name] != now[name]]
        added = [b"+" + entries[name] for name in (*changed, *names[place:])]
        return (*gone, *added, *[b">" + name for name in _SET_BY_PYTHON if name not in now])


def _are_same(files: dict[str, Signature]) -> bool:
    return all(signature(path) == known for path, known in files.items())


def _folder_of(script: str) -> str:
    """Where Python looks for modules first: beside the file that a link leads to."""
    return os.path.dirname(os.path.realpath(script) if os.path.islink(script) else script)  # noqa: PTH114, PTH120
