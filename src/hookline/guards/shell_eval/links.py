"""Links and copied programs that a command makes: what is done to them is done to their originals."""

import posixpath
from collections.abc import Iterator, Sequence

from hookline.guards.facts import GUESSED
from hookline.guards.shell_eval.calls import ProgramCall, program_of
from hookline.guards.shell_eval.words import is_known

_LINKING = frozenset(("ln", "link", "cp", "mv", "install"))
# These change a link itself, and not its target.
_TO_THE_LINK = frozenset(("rm", "unlink", "ln", "mv", "rmdir"))


class Links:
    """The originals of what a command has linked or copied."""

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}
        self._programs: dict[str, str] = {}

    def note(self, call: ProgramCall) -> None:
        """Notes what a call links or copies."""
        if call.program not in _LINKING:
            return
        for source, target in _pairs(call):
            if not is_known(source) or not is_known(target):
                continue
            if call.program in ("ln", "link"):
                self._targets[call.path(target)] = call.path(source)
            if program_of(source) in GUESSED:
                self._programs[call.path(target)] = source

    @property
    def count(self) -> int:
        """How many are known."""
        return len(self._targets) + len(self._programs)

    def words(self, words: Sequence[str], cwd: str) -> list[str]:
        """The words of a call, with the originals in place of links."""
        program = self.path(words[0], cwd) if "/" in words[0] else words[0]
        program = self._programs.get(posixpath.normpath(posixpath.join(cwd, program)), program)
        is_to_link = program in _TO_THE_LINK
        return [program, *(self.path(each, cwd, is_to_link=is_to_link) for each in words[1:])]

    def path(self, word: str, cwd: str, *, is_to_link: bool = False) -> str:
        """A path below a link as one below its target."""
        path = posixpath.join(cwd, word) if ".." in word else posixpath.normpath(posixpath.join(cwd, word))
        path = f"{path}/" if word.endswith("/") else path
        for link, target in self._targets.items():
            if (path == link and not is_to_link) or path.startswith(f"{link}/"):
                return f"{target.rstrip('/')}{path[len(link) :]}" or "/"
        return word


def _pairs(call: ProgramCall) -> Iterator[tuple[str, str]]:
    """Each original with the names that it may get: the target, or a name in the target directory."""
    operands = call.operands
    folder = call.value_of("-t", "--target-directory")
    if folder is not None:
        sources, target = [each for each in operands if each != folder], folder
    else:
        sources, target = [*operands[:-1]] or [*operands], operands[-1] if operands[1:] else "."
    for source in sources:
        yield source, posixpath.join(target, posixpath.basename(source.rstrip("/")))
        if folder is None and len(sources) == 1 and operands[1:]:
            yield source, target
