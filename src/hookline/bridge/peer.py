"""Who is at the other end of a local socket, and whether this process may run hooks in its place."""

import os
import socket
import struct
from functools import lru_cache

_CREDENTIALS = struct.Struct("3i")
# A caller in a container or a chroot of its own sees other files and another network than this process.
_PLACES = ("ns/mnt", "ns/net", "ns/pid", "ns/user", "root")


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process id and the user id of the program that connected."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(data)
    return pid, uid


def is_in_our_place(pid: int) -> bool:
    """Whether a process sees the same files, network, processes and users as this one; False when that is unknown."""
    try:
        return _place(pid) == _our_place()
    except OSError:
        return False


@lru_cache(maxsize=1)
def _our_place() -> tuple[tuple[int, int], ...]:
    return _place(os.getpid())


def _place(pid: int) -> tuple[tuple[int, int], ...]:
    found = (os.stat(f"/proc/{pid}/{name}") for name in _PLACES)  # noqa: PTH116 - at every call
    return tuple((status.st_dev, status.st_ino) for status in found)
