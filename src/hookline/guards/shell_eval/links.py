"""Links and copied programs that a command makes: what is done to them is done to their originals."""

import posixpath
from collections.abc import Sequence

from hookline.guards.facts import GUESSED
from hookline.guards.shell_eval.calls import Call, program_of
from hookline.guards.shell_eval.words import is_known

_LINKING = frozenset(("ln", "cp", "mv", "install"))
# Who does this to a link itself leaves its target alone.
_TO_THE_LINK = frozenset(("rm", "unlink", "ln", "mv", "rmdir"))
_MOST = 16
_PAIR = 2


class Links:
    """The originals of what a command has linked or copied."""

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}
        self._programs: dict[str, str] = {}

    def note(self, call: Call) -> None:
        """Notes what a call links or copies."""
        if call.program not in _LINKING or len(call.operands) != _PAIR or self.count >= _MOST:
            return
        source, target = call.operands
        if not is_known(source) or not is_known(target):
            return
        if call.program == "ln":
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
