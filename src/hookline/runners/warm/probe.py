"""Start the interpreter with an empty program first: one that ignores the archive would run the script at once.

Each interpreter of the pool is preceded by such a probe. A .pth file may look at any variable, argument or file, so the
result for another script, or from another time, is not valid for this one.
"""

import os
from typing import NamedTuple

from hookline.runners.process.command import Invocation
from hookline.runners.warm.interpreter import NotWarmError, answer, start
from hookline.runners.warm.launch_spec import LaunchSpec, Signature, signature
from hookline.runners.warm.process_state import shadowed_modules
from hookline.runners.warm.standby import leave


class ProbeResult(NamedTuple):
    """The files and folders that Python read and searched at its start."""

    files: dict[str, Signature]
    imported: frozenset[str]
    """The outermost modules that it had imported when it got to us."""
    hidden: dict[str, frozenset[str]]
    """Which of these each folder has that is searched before the standard library."""

    def is_current(self) -> bool:
        """Whether it would do the same now."""
        return all(signature(path) == known for path, known in self.files.items()) and all(
            shadowed_modules(folder, self.imported) == known for folder, known in self.hidden.items()
        )


def probe(invocation: Invocation, cwd: str, spec: LaunchSpec) -> ProbeResult:
    """Raise NotParkedError if Python, started like this, ignores what we ask of it."""
    program, *found = _probe(invocation, cwd, spec)
    file = os.stat(spec.python)
    if not spec.is_shim and program != b"%d:%d" % (file.st_dev, file.st_ino):
        raise NotWarmError("the program has started another one")
    names: dict[bytes, list[str]] = {}
    for each in found:
        names.setdefault(each[:1], []).append(os.fsdecode(each[1:]))
    imported = frozenset(names.get(b"m", ()))
    return ProbeResult(
        {path: signature(path) for path in names.get(b"s", ())},
        imported,
        {folder: shadowed_modules(folder, imported) for folder in names.get(b"l", ())},
    )


def _probe(invocation: Invocation, cwd: str, spec: LaunchSpec) -> list[bytes]:
    words = (*spec.launcher, "-c", "pass", *spec.arguments)
    program = os.path.join(cwd, spec.program)
    control, pid = start(Invocation(os.fsencode(program), words, invocation.env), cwd, "probe", "-c")
    try:
        found = answer(control, b"probed")
    except BaseException:
        control.close()
        leave(pid, 0)
        raise
    control.close()
    leave(pid)
    return found
