"""Answer one event of another agent: `hookline bridge install` puts this command into that agent's settings.

The agent's JSON is read from stdin; the answer goes to stdout in that agent's format. Exit codes are the agent's own:
2 blocks. A command that breaks blocks, too, and says why on stderr.

Examples:
  hookline hook claude PreToolUse < question.json
"""

import argparse
import asyncio
import faulthandler
import os
import selectors
import signal
import sys
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.apps.cli.streams import deliver
from hookline.bridge.arguments import add_arguments, deadline_of
from hookline.bridge.call import Bridge, BridgeCall, Reply, overdue
from hookline.bridge.judge import EXIT_BLOCK
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.runners.function.watchdog import WATCHDOG

if TYPE_CHECKING:
    from hookline.bridge import client
    from hookline.bridge.server import control
else:
    control = lazy_module("hookline.bridge.server.control")
    client = lazy_module("hookline.bridge.client")

_LOOK_S = 0.5
_SPARE_S = 10.0
_LONGEST_S = 86400.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_arguments(parser)


def run(given: argparse.Namespace) -> int:
    """Refuses: an agent's words are answered by `answer`, which can refuse in the agent's own way."""
    raise UsageError(f"give the words of {given.agent} to hookline.apps.cli.commands.hook.answer")


def answer(words: tuple[str, ...]) -> int:
    """Answer one question of an agent.

    Another process does the work, because code in C can hold the interpreter's lock beyond the deadline, and then no
    thread of that process could refuse. The deadline counts from the start, as the agent's own timeout does.
    """
    deadline_s = deadline_of(words)
    # Hooks that do not end at once are given five seconds. The agent's own timeout is a sixth above the deadline.
    longest_s = deadline_s * 1.12 + 0.3
    until = time.monotonic() + longest_s
    parent = os.getppid()
    reading, writing = os.pipe()
    worker = os.fork()
    if not worker:
        os.close(reading)
        return _work(words, writing, longest_s)
    os.close(writing)
    try:
        reply = _read_reply(reading, until, parent)
    except _NotWantedError:
        return EXIT_BLOCK  # the worker notices the end of this process, and ends the hooks
    except TimeoutError:
        os.kill(worker, signal.SIGKILL)
        reply = overdue(words, f"did not answer within {deadline_s:g} s")
    except EOFError:
        reply = overdue(words, "ended without an answer")
    code = _print(reply)
    with suppress(ChildProcessError):
        os.waitpid(worker, 0)
    return code


def _work(words: tuple[str, ...], writing: int, longest_s: float) -> int:
    """Ask the server if there is one, or else the hooks, and writes the reply to the pipe."""
    # Ends this process if it still holds the lock when its parent is gone.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        faulthandler.dump_traceback_later(min(longest_s + _SPARE_S, _LONGEST_S), exit=True, file=nowhere)
        reply, wants_server = _ask_server(words)
        if isinstance(reply, Reply):
            _write_reply(writing, reply)
            return 0
        bridge = Bridge()
        call = BridgeCall(words=words, stdin=reply, cwd=_cwd(), environ=dict(os.environ))
        WATCHDOG.use_alarm()
        answer = asyncio.run(_while_wanted(bridge.answer(call), os.getppid()))
        _write_reply(writing, answer)
        may_serve = bridge.systems.may_serve and not answer.is_pong
        bridge.systems.close()
        if wants_server and may_serve:
            control.start_server()
        faulthandler.cancel_dump_traceback_later()
    return 0


class _NotWantedError(Exception):
    """The shell or agent that started this process is gone."""


def _read_reply(reading: int, until: float, parent: int) -> Reply:
    """The worker's reply; TimeoutError, EOFError or _NotWantedError without one."""
    received = b""
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while True:
            if (left_s := until - time.monotonic()) <= 0:
                raise TimeoutError
            if os.getppid() != parent:
                raise _NotWantedError
            if not selector.select(min(left_s, _LOOK_S)):
                continue
            if not (data := os.read(reading, 1 << 16)):
                raise EOFError
            received += data
            head, line_break, body = received.partition(b"\n")
            if line_break:
                code, stdout_size, stderr_size = map(int, head.split())
                if len(body) == stdout_size + stderr_size:
                    return Reply(exit_code=code, stdout=body[:stdout_size], stderr=body[stdout_size:])


def _write_reply(writing: int, reply: Reply) -> None:
    data = b"%d %d %d\n" % (reply.exit_code, len(reply.stdout), len(reply.stderr)) + reply.stdout + reply.stderr
    with suppress(BrokenPipeError):
        while data:
            data = data[os.write(writing, data) :]
    os.close(writing)


async def _while_wanted(answer: Coroutine[Any, Any, Reply], parent: int) -> Reply:
    """The answer; a no, and the hooks are ended, when the shell or agent that started this process is gone.

    An agent that has waited long enough may end the shell alone, and would then wait for us to close the pipes.
    """
    working = asyncio.create_task(answer)
    while not working.done() and os.getppid() == parent:
        await asyncio.wait((working,), timeout=_LOOK_S)
    if working.done():
        return working.result()
    working.cancel()
    await asyncio.wait((working,))
    return Reply(exit_code=EXIT_BLOCK)


def _ask_server(words: tuple[str, ...]) -> tuple[Reply | bytes, bool]:
    """The server's reply or, if there is none, stdin; and whether a server should be started."""
    if sys.platform != "linux":
        return _stdin(), False
    given = [os.fsencode(word) for word in words]
    environ = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    if not client.may_serve(given, environ):
        return _stdin(), False
    try:
        code, stdout, stderr = client.ask(given, environ)
    except client.NoServerError:
        return _stdin(), True
    except client.LostServerError as lost:
        late = overdue(words, f"did not answer within {deadline_of(words):g} s")
        return late if lost.is_late else lost.stdin, False
    return Reply(exit_code=code, stdout=stdout, stderr=stderr), False


def _stdin() -> bytes:
    return sys.stdin.buffer.read()


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed; the agent's question usually names a directory
        return "/"


def _print(reply: Reply) -> int:
    """The exit code after the reply was printed; a reply that can't be printed is a no, by the exit code alone."""
    return reply.exit_code if deliver(reply.stdout, reply.stderr) else EXIT_BLOCK
