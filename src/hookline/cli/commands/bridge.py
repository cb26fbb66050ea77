"""Let hookline's hooks guard another agent: Claude Code, Codex, Gemini CLI, Cursor or Copilot CLI.

  hookline bridge install AGENT      put hookline into the agent's own settings
  hookline bridge uninstall AGENT    take it out again
  hookline bridge status [AGENT]     is it installed, does it answer, when did it last run
  hookline bridge explain AGENT      what of your hooks gets lost in that agent
  hookline bridge AGENT [EVENT]      the hook command itself: the agent runs it

AGENT is claude, codex, gemini, cursor or copilot. `hookline bridge install --help` explains one form.

Examples:
  hookline bridge install claude
  hookline bridge install codex --project --events PreToolUse,UserPromptSubmit
  hookline bridge status
  hookline bridge claude PreToolUse < question.json

As an agent's hook command its exit codes are the agent's own: 2 blocks. A bridge that breaks blocks, too.
"""

import argparse
import asyncio
import os
import sys
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, Self

from hookline.bridge.call import Bridge, Call, Reply, overdue
from hookline.bridge.judge import EXIT_BLOCK, hosts
from hookline.bridge.words import deadline_of
from hookline.bridge.words import parser as agents_parser
from hookline.cli.commands._bridge import FORMS
from hookline.cli.commands._forms import Forms
from hookline.cli.guess import did_you_mean
from hookline.cli.streams import deliver
from hookline.engine.watchdog import WATCHDOG
from hookline.errors import UsageError

_FORMS = Forms("bridge", FORMS)
_WORDS = (*FORMS, *hosts())
_LOOK_S = 0.5


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.usage = (
        f"hookline bridge {{{','.join(FORMS)}}} AGENT [options]\n       hookline bridge AGENT [EVENT] [options]"
    )
    parser.add_argument("form", metavar="FORM", nargs="?", type=_form, choices=_WORDS, help=argparse.SUPPRESS)
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def parser_of(words: Sequence[str]) -> tuple[argparse.ArgumentParser, Sequence[str]] | None:
    """For completion: the parser of the words after `hookline bridge`, and the words that it reads."""
    if words[0] in FORMS:
        return _FORMS.parser_of(words)
    return (agents_parser(events=hosts()[words[0]].events), words) if words[0] in hosts() else None


def run(given: argparse.Namespace) -> int:
    """Runs one of the forms; as a hook command the exit code is what the agent expects."""
    if given.form is None:
        raise UsageError(f"what to do? hookline bridge {'|'.join(FORMS)} AGENT; hookline bridge --help explains it")
    if given.form in FORMS:
        return _FORMS.run(given)
    if {"--help", "-h"} & {*given.words}:
        agents_parser().print_help()
        return 0
    return _answer((given.form, *given.words))


def _form(word: str) -> str:
    if word not in _WORDS:
        advice = did_you_mean(word, _WORDS, f"give {', '.join(FORMS)}, or an agent: {', '.join(hosts())}")
        raise argparse.ArgumentTypeError(f"{word} is no agent and no form of this command; {advice}")
    return word


def _answer(words: tuple[str, ...]) -> int:
    """Answers one question of an agent, by the server if there is one."""
    # The agent's own timeout counts from the start, so stdin that does not end must not hold up the refusal.
    with _Watchdog(words) as watchdog:
        reply, wants_server = _ask_server(words)
        if isinstance(reply, Reply):
            watchdog.stop()
            return _print(reply)
        bridge = Bridge()
        call = Call(words=words, stdin=reply, cwd=_cwd(), environ=dict(os.environ))
        WATCHDOG.use_alarm()
        answer = asyncio.run(_while_wanted(bridge.answer(call), os.getppid()))
        watchdog.stop()
    code = _print(answer)
    may_serve = bridge.systems.may_serve and not answer.is_pong
    bridge.systems.close()
    if wants_server and may_serve:
        from hookline.bridge.control import start_server  # noqa: PLC0415 - needs Linux

        start_server()
    return code


class _Watchdog:
    """Refuses the call in a thread of its own, and ends the process, if the work is not done soon after its deadline.

    The deadline itself is the event loop's, which something can hold up before any hook runs.
    """

    def __init__(self, words: tuple[str, ...]) -> None:
        deadline_s = deadline_of(words)
        # Hooks that do not end at once are given five seconds. The agent's own timeout is a sixth above the deadline.
        self._timer = threading.Timer(deadline_s * 1.12 + 0.3, self._refuse, (words, deadline_s))
        self._timer.daemon = True
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def stop(self) -> None:
        """The answer is there. Does not return if the refusal was written already."""
        self._lock.acquire()

    def _refuse(self, words: tuple[str, ...], deadline_s: float) -> None:
        if self._lock.acquire(blocking=False):
            os._exit(_print(overdue(words, deadline_s)))


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
    from hookline.bridge import client  # noqa: PLC0415 - needs Linux

    given = [os.fsencode(word) for word in words]
    environ = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    if not client.may_serve(given, environ):
        return _stdin(), False
    try:
        code, stdout, stderr = client.ask(given, environ)
    except client.NoServerError:
        return _stdin(), True
    except client.LostServerError as lost:
        return overdue(words, deadline_of(words)) if lost.is_late else lost.stdin, False
    return Reply(exit_code=code, stdout=stdout, stderr=stderr), False


def _stdin() -> bytes:
    return sys.stdin.buffer.read()


def _cwd() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - as text
    except OSError:  # it was removed; the agent's question usually names a directory
        return "/"


def _print(reply: Reply) -> int:
    """The exit code after the reply was printed; a reply that can't be printed is a no, by the exit code alone."""
    return reply.exit_code if deliver(reply.stdout, reply.stderr) else EXIT_BLOCK
