"""One script with its arguments and cwd: its warm interpreter, and whether that is still valid."""

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hookline.runners.process.command import Invocation
from hookline.runners.warm.interpreter import Interpreter
from hookline.runners.warm.launch_spec import LaunchSpec, Signature, is_still_found, launch_spec_of, signature
from hookline.runners.warm.process_state import facts_of, shadowed_modules, variables

if TYPE_CHECKING:
    from hookline.runners.warm.probe import ProbeResult
    from hookline.runners.warm.standby import Standby

# A folder that was changed so recently may change again within the same tick of its clock.
_TICK_S = 0.05
# No file has this one, so that it is looked at again.
_UNKNOWN: Signature = ()
# In the locale C; they come last.
_SET_BY_PYTHON = (b"LC_CTYPE",)
# How often the files of the standard library are looked at: there are many, and they hardly ever change.
_LIBRARY_S = 1.0


class ScriptSlot:
    """One script with its arguments and cwd, and its warm interpreter."""

    def __init__(self, invocation: Invocation, cwd: str) -> None:
        self.invocation = invocation
        self.cwd = cwd
        self.program: Signature = None
        self.spec: LaunchSpec | None = None
        self.facts: tuple[Any, ...] | None = None
        # The caller has seen one run before it creates a slot.
        self.runs = 1
        self.last_used = 0.0
        self.is_refused = False
        self.is_starting = False
        self.is_forgotten = False
        self.interpreter: Interpreter | None = None
        self.standbys: list[Standby] = []
        self.folder = ""
        self.fixed: dict[str, Signature] = {}
        self.searched: dict[str, Signature] = {}
        self.library: dict[str, Signature] = {}
        self._library_seen = 0.0
        self.loaded: set[str] = set()
        # The modules that it had imported when it stopped, and those among them that the searched folders have.
        self.imported: frozenset[str] = frozenset()
        self.hidden: dict[str, frozenset[str]] = {}
        self.reporting: Signature = None
        self.reports_left = 0

    @property
    def script(self) -> str:
        """The file of the script."""
        return os.path.join(self.cwd, self.spec.script if self.spec else "")

    def is_current(self, invocation: Invocation) -> bool:
        """Whether a run of this program now would start as the parked one did."""
        program = signature(os.path.join(self.cwd, os.fsdecode(invocation.executable)))
        spec = self.spec
        if program != self.program or spec is None or not is_still_found(spec, invocation, self.cwd):
            self.program, spec = program, launch_spec_of(invocation, self.cwd)
        facts = None if spec is None else facts_of(spec, invocation, self.cwd)
        is_current = (spec, facts) == (self.spec, self.facts)
        if not is_current:
            self.spec, self.facts, self.is_refused = spec, facts, False
        return is_current

    def take(self, interpreter: Interpreter, invocation: Invocation, probe_result: "ProbeResult") -> None:
        """Have an interpreter from now on, which was started with this invocation after this trial."""
        self.invocation, self.interpreter = invocation, interpreter
        self.reporting, self.loaded, self.fixed = None, set(), {}
        self.imported, self.hidden = probe_result.imported, probe_result.hidden
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
        # The folders that were checked before may shadow one of the new modules.
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
        found = shadowed_modules(folder, self.loaded | self.imported)
        return bool(found & self.loaded) or found & self.imported != self.hidden.get(folder, found & self.imported)

    def changes(self, invocation: Invocation) -> tuple[bytes, ...] | None:
        """How the environment differs from the one that it was parked with; None if that can't be sent."""
        now, then = variables(invocation.env), variables(self.invocation.env)
        names, kept = [*now], [name for name in then if name in now]
        if now == then and names == kept:
            return ()
        if self.spec is None or self.spec.is_shim:
            return None
        # From here on the order is another one: a variable that is set again comes last.
        slot = next((slot for slot, name in enumerate(kept) if name != names[slot]), len(kept))
        gone = [b"-" + name for name in (*[name for name in then if name not in now], *kept[slot:])]
        entries = {entry.partition(b"=")[0]: entry for entry in invocation.env}
        changed = [name for name in names[:slot] if then[name] != now[name]]
        added = [b"+" + entries[name] for name in (*changed, *names[slot:])]
        return (*gone, *added, *[b">" + name for name in _SET_BY_PYTHON if name not in now])


def _are_same(files: dict[str, Signature]) -> bool:
    return all(signature(path) == known for path, known in files.items())


def _folder_of(script: str) -> str:
    """Where Python looks for modules first: beside the file that a link leads to."""
    return os.path.dirname(os.path.realpath(script) if os.path.islink(script) else script)
