"""Files that are private, written whole or not at all, and changed by one process at a time."""

import errno
import fcntl
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hookline.errors import HooklineError

LOCK_WAIT_S = 5.0

_LOCK_POLL_S = 0.02

# Written into locks, so that those that a killed process left behind can be told from files of others.
_LOCK_MARK = b"hookline\n"

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotRegularError(OSError):
    """Something else than a regular file has the name; `strerror` says what."""


def open_regular(path: Path, flags: int) -> int:
    """Open a regular file, for its owner alone if it is new; NotRegularError if it is anything else.

    A FIFO would wait for its other end, and opening some devices has an effect, so they are not even opened.
    """
    with suppress(FileNotFoundError):
        _require_regular(path.stat(), path)
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)
    try:
        _require_regular(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_private(path: Path, most: int) -> bytes:
    """The first bytes of a file with a secret; HooklineError if it can't be read, or not by its owner alone."""
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise HooklineError(f"{path} can be read by other users; run: chmod 600 {path}, and think of a new key")
            return file.read(most)
    except OSError as error:
        raise HooklineError(f"{path} can't be read: {error.strerror}") from error


def write_atomically(path: Path, data: bytes, *, is_durable: bool = True, mode: int = 0o600) -> None:
    """Replace the file's content in one step; its permissions, its owner and a symbolic link to it stay.

    A new file gets `mode`, whatever the umask is; its directory must exist. A file that is not durable may be damaged
    if the machine stops soon afterwards.
    """
    target = Path(os.path.realpath(path))
    directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        replace_at(directory, target.name, data, is_durable=is_durable, mode=mode)
    finally:
        os.close(directory)


def replace_at(directory: int, name: str, data: bytes, *, is_durable: bool = True, mode: int = 0o600) -> None:
    """Replace the content of a file in an open directory in one step, as `write_atomically` does."""
    _remove_abandoned(directory, name)
    temporary, descriptor = _open_temporary(directory, name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if mode != 0o600:  # noqa: PLR2004 - as it was opened
                os.fchmod(descriptor, mode)
            _copy_access(directory, name, descriptor)
            if is_durable:
                os.fsync(descriptor)
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise
    if is_durable:
        # Some file systems cannot do this; the content itself is safe by now.
        with suppress(OSError):
            os.fsync(directory)


@contextmanager
def locked(path: Path, *, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Hold the lock for reading, changing and writing the file; HooklineError if another process keeps it.

    The lock is a separate file, because the file itself is replaced at each write.
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
        # Unlock explicitly: a child that was forked in the meantime has a copy of the descriptor, which keeps the lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def make_private_directory(directory: Path) -> None:
    """Make the directory, and those above it that are missing, for the owner alone."""
    # Not `parents=True`, which gives the parents the default permissions.
    if not directory.parent.is_dir():
        make_private_directory(directory.parent)
    directory.mkdir(mode=0o700, exist_ok=True)


def state_path(name: str) -> Path:
    """Return the path of a state file: in HOOKLINE_STATE_DIR, or else in the user's state directory."""
    if directory := os.environ.get("HOOKLINE_STATE_DIR"):
        return Path(directory) / name
    return _user_state_path() / name


def _user_state_path() -> Path:
    """Return the directory of platformdirs; in plain cases on Linux without it: it takes half of a bare start."""
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        moved, home = os.environ.get("XDG_STATE_HOME", ""), os.environ.get("HOME", "")
        if moved.startswith("/") and moved == moved.strip():
            return Path(moved, "hookline")
        if not moved and home.startswith("/"):
            return Path(home, ".local/state/hookline")
    from platformdirs import user_state_path  # noqa: PLC0415 - hardly ever needed, as the docstring says

    return user_state_path("hookline")


def _require_regular(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise NotRegularError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def _open_temporary(directory: int, name: str) -> tuple[str, int]:
    """Create a file with a unique name, locked: a file that can be locked and has no process is abandoned."""
    while True:
        temporary = f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=directory)
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        # Another container, which does not see our process, has removed it before it was locked.
        os.close(descriptor)


def _remove_abandoned(directory: int, name: str) -> None:
    """Remove the leftovers of killed processes: temporary files of this name, and locks of any file."""
    temporary = re.compile(rf"\.{re.escape(name)}\.([1-9]\d{{0,9}})\.[0-9a-f]{{8}}\.tmp")
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if (found := temporary.fullmatch(entry.name)) and _is_gone(int(found[1])):
                _remove_unlocked(directory, entry, b"")
            elif entry.name.endswith(".lock"):
                _remove_unlocked(directory, entry, _LOCK_MARK)


def _remove_unlocked(directory: int, entry: "os.DirEntry[str]", content: bytes) -> None:
    """Remove a regular file of this user that begins with this content and that no process holds."""
    with suppress(OSError):
        status = entry.stat(follow_symlinks=False)
        is_marked = not content or status.st_size == len(content)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or not is_marked:
            return
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(entry.name, flags, dir_fd=directory)
        try:
            if os.read(descriptor, len(content)) == content:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A process that waits for the lock then sees that its file has no name.
                if os.path.samestat(os.fstat(descriptor), os.stat(entry.name, dir_fd=directory, follow_symlinks=False)):
                    os.unlink(entry.name, dir_fd=directory)
        finally:
            os.close(descriptor)


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # the process is another user's
        return False
    return False


def _copy_access(directory: int, name: str, descriptor: int) -> None:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
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


def _acquire(lock: Path, target: Path, deadline: float) -> int:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if _try_lock(descriptor, lock):
            with suppress(OSError):  # a full disk must not refuse the lock
                os.pwrite(descriptor, _LOCK_MARK, 0)
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
