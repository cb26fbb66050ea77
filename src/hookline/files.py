"""Files that are private, written whole or not at all, and changed by one process at a time."""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hookline.errors import HooklineError

LOCK_WAIT_S = 5.0

_LOCK_POLL_S = 0.02


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the file's content in one step; its permissions, its owner and a symbolic link to it stay.

    A new file is readable by its owner alone; its directory must exist.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            _copy_access(target, descriptor)
            os.fsync(descriptor)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_directory(target.parent)


@contextmanager
def locked(path: Path, *, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Hold the lock that guards reading, changing and writing the file; HooklineError if it stays taken.

    The lock is a file of its own beside it, because the file itself is replaced at each write.
    """
    target = Path(os.path.realpath(path))
    lock = target.with_name(f"{target.name}.lock")
    descriptor = _acquire(lock, target, time.monotonic() + wait_s)
    try:
        yield
    finally:
        # Remove it while it is still held; processes that wait for it then notice that their file has no name.
        with suppress(OSError):
            lock.unlink()
        # Unlock explicitly: a child forked meanwhile has a copy of the descriptor, which keeps the lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def make_private_directory(directory: Path) -> None:
    """Make the directory, and those above it that are missing, for the owner alone."""
    # Not `parents=True`, which gives the parents the default permissions.
    if not directory.parent.is_dir():
        make_private_directory(directory.parent)
    directory.mkdir(mode=0o700, exist_ok=True)


def state_path(name: str) -> Path:
    """Where we keep a file of this name: in HOOKLINE_STATE_DIR, or else in the user's state directory."""
    if directory := os.environ.get("HOOKLINE_STATE_DIR"):
        return Path(directory) / name
    from platformdirs import user_state_path  # noqa: PLC0415 - slow to load, and not needed where the path is given

    return user_state_path("hookline") / name


def _copy_access(source: Path, descriptor: int) -> None:
    try:
        status = source.stat()
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(status.st_mode)
    try:
        os.fchown(descriptor, status.st_uid, status.st_gid)
    except PermissionError:
        try:
            os.fchown(descriptor, -1, status.st_gid)
        except PermissionError:
            # The rights of one group must not pass to another.
            mode &= ~stat.S_IRWXG
    os.fchmod(descriptor, mode)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Some file systems cannot do this; the content itself is safe by now.
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _acquire(lock: Path, target: Path, deadline: float) -> int:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if _try_lock(descriptor, lock):
            return descriptor
        os.close(descriptor)
        if time.monotonic() >= deadline:
            raise HooklineError(f"{target} is being changed by another process, which holds {lock}; try again later")
        time.sleep(_LOCK_POLL_S)


def _try_lock(descriptor: int, lock: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), lock.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
