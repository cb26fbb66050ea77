"""The scripts of a bundle on disk: unpacked once, and compared with their hashes before each event."""

import hashlib
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from hookline.contract.hooks import HookEntry, PolicyMark
from hookline.settings.policy.documents import MOST_FILE_BYTES, Bundle, PackedFile
from hookline.settings.read import open_without_waiting

# The hooks of one event ask one after another.
_LOOK_AGAIN_S = 0.002
_OPEN_FILES = 50


def unpack(bundle: Bundle, directory: Path) -> None:
    """Writes the scripts into a directory that does not exist yet; everybody may read them, nobody else write."""
    temporary = directory.with_name(f".{directory.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    temporary.mkdir(mode=0o700, parents=True)
    try:
        for folder in sorted({str(above) for name in bundle.files for above in PurePosixPath(name).parents} - {"."}):
            (temporary / folder).mkdir()
            (temporary / folder).chmod(0o755)
        names = list(bundle.files)
        for first in range(0, len(names), _OPEN_FILES):
            _write({temporary / name: bundle.files[name] for name in names[first : first + _OPEN_FILES]})
        temporary.chmod(0o755)
        if directory.exists():
            remove(directory)
        temporary.rename(directory)
    except BaseException:
        remove(temporary)
        raise


def _write(files: Mapping[Path, PackedFile]) -> None:
    with ExitStack() as stack:
        written = []
        for path, file in files.items():
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            opened = stack.enter_context(os.fdopen(os.open(path, flags, 0o600), "wb"))
            opened.write(file.data)
            opened.flush()
            os.fchmod(opened.fileno(), 0o555 if file.executable else 0o444)
            written.append(opened.fileno())
        # When all are written: file by file it takes half as long again.
        for descriptor in written:
            os.fsync(descriptor)


def remove(directory: Path) -> None:
    """Removes what was unpacked, or a part of it."""
    shutil.rmtree(directory, ignore_errors=True)


def tree_fault(mark: PolicyMark) -> str | None:
    """Why the scripts on disk are not those that were signed, or None. A file too many is a fault, too.

    Python would import a module that somebody put beside a script in place of the one that was meant.
    """
    try:
        found = dict(_files(Path(mark.directory), ""))
        if missing := mark.files.keys() - found.keys():
            return f"its script {min(missing)} is not in {mark.directory}"
        if strange := found.keys() - mark.files.keys():
            return f"{mark.directory} has {min(strange)}, which is not in the policy"
        for name, status in found.items():
            if not stat.S_ISREG(status.st_mode) or _hash(Path(mark.directory) / name) != mark.files[name]:
                return f"its script {name} is not the one that was signed"
    except OSError as error:
        return f"its scripts in {mark.directory} can't be read ({error.strerror})"
    return None


def _files(directory: Path, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path), f"{prefix}{entry.name}/")
            else:
                yield f"{prefix}{entry.name}", entry.stat(follow_symlinks=False)


def _hash(path: Path) -> str:
    with open_without_waiting(path, buffering=0) as file:
        return hashlib.sha256(file.read(MOST_FILE_BYTES + 1)).hexdigest()


class Pins:
    """Asks whether the scripts of policies are as they were signed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Mapping[str, str], str | None]] = {}

    def why_not(self, hook: HookEntry) -> str | None:
        """Why a hook of a policy can't run, or None for one that can; for other hooks always None."""
        mark = hook.policy
        if mark is None or not mark.files or hook.command is None:
            return None
        now = time.monotonic()
        known = self._known.get(mark.directory)
        if known is None or now - known[0] > _LOOK_AGAIN_S or known[1] is not mark.files:
            fault = tree_fault(mark)
            if fault is not None:
                fault = f"{fault}; run: hookline policy pull"
            known = self._known[mark.directory] = (now, mark.files, fault)
        return known[2]


def as_pinned(hooks: Iterable[HookEntry]) -> tuple[HookEntry, ...]:
    """The hooks as they would run now: those whose scripts were changed fail."""
    pins = Pins()
    return tuple(hook if (why := pins.why_not(hook)) is None else replace(hook, refusal=why) for hook in hooks)
