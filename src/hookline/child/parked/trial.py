"""Tries a start with a program that does nothing: an interpreter that ignores us would run the script at once.

It is tried before each parking. A .pth file may look at any variable, argument or file, so what was seen of another
script, or at another time, says nothing about this one.
"""

import os
from typing import NamedTuple

from hookline.child.parked.hiding import hiding
from hookline.child.parked.interpreter import NotParkedError, answer, start
from hookline.child.parked.recipe import Recipe, Signature, signature
from hookline.child.parked.spare import leave
from hookline.child.spawn import Invocation


class Trial(NamedTuple):
    """What Python has read and searched when it started; with other files it may not get to us."""

    files: dict[str, Signature]
    imported: frozenset[str]
    """The outermost modules that it had imported when it got to us."""
    hidden: dict[str, frozenset[str]]
    """Which of these each folder has that is searched before the standard library."""

    def is_current(self) -> bool:
        """Whether it would do the same now."""
        return all(signature(path) == known for path, known in self.files.items()) and all(
            hiding(folder, self.imported) == known for folder, known in self.hidden.items()
        )


def try_start(invocation: Invocation, cwd: str, recipe: Recipe) -> Trial:
    """Raise NotParkedError if Python, started like this, ignores what we ask of it."""
    program, *found = _probe(invocation, cwd, recipe)
    file = os.stat(recipe.python)  # noqa: PTH116
    if not recipe.is_shim and program != b"%d:%d" % (file.st_dev, file.st_ino):
        raise NotParkedError("the program has started another one")
    names: dict[bytes, list[str]] = {}
    for each in found:
        names.setdefault(each[:1], []).append(os.fsdecode(each[1:]))
    imported = frozenset(names.get(b"m", ()))
    return Trial(
        {path: signature(path) for path in names.get(b"s", ())},
        imported,
        {folder: hiding(folder, imported) for folder in names.get(b"l", ())},
    )


def _probe(invocation: Invocation, cwd: str, recipe: Recipe) -> list[bytes]:
    words = (*recipe.launcher, "-c", "pass", *recipe.arguments)
    program = os.path.join(cwd, recipe.program)  # noqa: PTH118 - a name with a slash stays as it is
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
