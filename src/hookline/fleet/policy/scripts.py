"""The scripts of a bundle on disk: unpacked once, and compared with their hashes before each event."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from hookline.fleet.policy.documents import MOST_FILE_BYTES, Bundle, PackedFile
from hookline.protocol.hook_entry import PolicyMark
from hookline.settings.read.files import open_without_waiting


def unpack(bundle: Bundle, directory: Path) -> None:
    """Write the scripts into a new directory, readable by all users and writable by the owner alone."""
    temporary = directory.with_name(f".{directory.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    temporary.mkdir(mode=0o700, parents=True)
    try:
        for folder in sorted({str(above) for name in bundle.files for above in PurePosixPath(name).parents} - {"."}):
            (temporary / folder).mkdir()
            (temporary / folder).chmod(0o755)
        for name, file in bundle.files.items():
            _write(temporary / name, file)
        temporary.chmod(0o755)
        if directory.exists():
            remove(directory)
        temporary.rename(directory)
    except BaseException:
        remove(temporary)
        raise


def _write(path: Path, file: PackedFile) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as opened:
        opened.write(file.data)
        opened.flush()
        os.fchmod(opened.fileno(), 0o555 if file.executable else 0o444)
        os.fsync(opened.fileno())


def remove(directory: Path) -> None:
    """Removes what was unpacked, or a part of it."""
    shutil.rmtree(directory, ignore_errors=True)


def scripts_fault(mark: PolicyMark) -> str | None:
    """Return why the scripts on disk are not those that were signed, or None. An additional file is also a fault.

    Python would import a module that an attacker put beside a script.
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
