"""Whether another user could have written a file that is read without confirmation."""

import grp
import os
import pwd
import shlex
import stat
from pathlib import Path

Fault = tuple[str, str]
"""The fault of a file and its remedy, as the end of a sentence."""


def access_fault(path: Path, status: os.stat_result) -> Fault | None:
    """Return why a user's or the system's settings file can't be trusted, or None.

    Only root and this user may own it or write to it; the same is true of its directory, and of the directory with the
    link if it is one. In a sticky directory, others can't replace it.
    """
    if status.st_uid not in _trusted_users():
        advice = f"look through it and run: chown {os.geteuid()} {shlex.quote(str(path))}"
        return f"belongs to another user (uid {status.st_uid})", advice
    if _others_can_write(status):
        return "can be written by other users", f"look through it and run: chmod go-w {shlex.quote(str(path))}"
    for directory in dict.fromkeys((path.parent, Path(os.path.realpath(path)).parent)):
        above = directory.stat()
        if above.st_uid not in _trusted_users():
            return f"is in a directory that belongs to another user (uid {above.st_uid})", f"move it out of {directory}"
        if _others_can_write(above) and not above.st_mode & stat.S_ISVTX:
            advice = f"look through it and run: chmod go-w {shlex.quote(str(directory))}"
            return "is in a directory that other users can write to", advice
    return None


def _trusted_users() -> tuple[int, int]:
    return 0, os.geteuid()


def _others_can_write(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid, status.st_uid)


def _is_private_group(gid: int, uid: int) -> bool:
    """Whether a group is the user's own: the primary one, of the same name, without further members.

    Where each user has such a group, the umask is often 002 and every file writable by it.
    """
    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
