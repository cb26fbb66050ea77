"""Identify the peer of a local socket, and check that this process may run hooks for it."""

import os
import socket
import struct
from functools import lru_cache

_CREDENTIALS = struct.Struct("3i")
# A caller in a container or a chroot of its own sees other files and another network than this process, and one in a
# sandbox may do less: its hooks must not get out of it, and a sandboxed server must not run the hooks of others.
_PLACES = ("ns/mnt", "ns/net", "ns/pid", "ns/user", "root")
_RIGHTS = (b"CapEff:", b"NoNewPrivs:", b"Seccomp:", b"Groups:")

_Place = tuple[object, ...]


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process id and the user id of the program that connected."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(data)
    return pid, uid


def shares_our_sandbox(pid: int) -> bool:
    """True if a process has the same namespaces and rights as this one; False if that is unknown."""
    try:
        return _place(pid) == _our_place()
    except OSError:
        return False


@lru_cache(maxsize=1)
def _our_place() -> _Place:
    return _place(os.getpid())


def _place(pid: int) -> _Place:
    seen = (os.stat(f"/proc/{pid}/{name}") for name in _PLACES)  # noqa: PTH116 - at every call
    with open(f"/proc/{pid}/status", "rb", buffering=0) as file:  # noqa: PTH123 - the same
        rights = [line for line in file.read().split(b"\n") if line.startswith(_RIGHTS)]
    return (*((status.st_dev, status.st_ino) for status in seen), *rights)
