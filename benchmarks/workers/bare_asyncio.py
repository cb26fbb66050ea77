"""The least that can be done with asyncio, and less than can be depended on: no deadline, no limits, no errors.

It shows what is left to gain in Python. Same protocol as floor.c.
"""

import asyncio
import os
import select
import sys
import time
from functools import cache
from importlib import import_module

HOOK, BASH, SH = (os.fsencode(path) for path in sys.argv[1:4])
ENVIRON = tuple(name + b"=" + value for name, value in os.environb.items())
fork_exec = import_module("_posixsubprocess").fork_exec


@cache
def payload(size: int) -> bytes:
    """The same input in every round, as in the floor."""
    return b"x" * size


class Bare:
    """One epoll for all children, which are over when their stdout closes."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._children: dict[int, tuple[int, int]] = {}
        self._left = 0
        self._over = self._loop.create_future()
        self._loop.add_reader(self._epoll.fileno(), self._turn)

    async def run(self, count: int, data: bytes, shell: str) -> None:
        """Runs so many hooks at once."""
        program = {"bash": BASH, "sh": SH}.get(shell, HOOK)
        argv = (HOOK,) if shell == "-" else (program, b"-c", HOOK)
        self._left, self._over = count, self._loop.create_future()
        for number in range(count):
            if number:
                await asyncio.sleep(0)
            self._start(program, argv, data)
        await self._over

    def _start(self, program: bytes, argv: tuple[bytes, ...], data: bytes) -> None:
        stdin, feed = os.pipe()
        stdout, stdout_of_child = os.pipe()
        stderr, stderr_of_child = os.pipe()
        told, tells = os.pipe()
        what = (argv, (program,), True, (tells,), "/", ENVIRON)
        pipes = (stdin, -1, -1, stdout_of_child, -1, stderr_of_child, told, tells)
        rest = (True, True, -1, None, None, None, -1, None, True)
        pid = fork_exec(*what, *pipes, *rest)
        for fd in (told, tells, stdin, stdout_of_child, stderr_of_child):
            os.close(fd)
        os.write(feed, data)
        os.close(feed)
        self._children[stdout] = pid, stderr
        self._epoll.register(stdout, 0)

    def _turn(self) -> None:
        for stdout, _ in self._epoll.poll(0):
            pid, stderr = self._children.pop(stdout)
            if os.waitpid(pid, 0)[1]:
                raise RuntimeError("the hook failed")
            self._epoll.unregister(stdout)
            for fd in (stdout, stderr):
                while os.read(fd, 65536):
                    pass
                os.close(fd)
            self._left -= 1
            if not self._left:
                self._over.set_result(None)


async def main() -> None:
    """Answers one line per round."""
    bare = Bare()
    for line in sys.stdin:
        count, size, shell = line.split()
        given = payload(int(size))
        begin = time.perf_counter_ns()
        await bare.run(int(count), given, shell)
        print(time.perf_counter_ns() - begin, 0, flush=True)


asyncio.run(main())
