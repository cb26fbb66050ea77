"""The interactive mode of `hookline agent`: a conversation in the terminal."""

import argparse
import asyncio
import io
import signal
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack, aclosing
from importlib.metadata import version
from typing import Any

from hookline.apps.agent.approval.approver import Approval, ApprovalRequest, UserReply
from hookline.apps.agent.conversation.transcript import PastSession
from hookline.apps.agent.mcp.client import connected_mcp_servers
from hookline.apps.agent.models.client import Model
from hookline.apps.agent.tool import ToolContext
from hookline.apps.agent.toolbox import default_toolbox
from hookline.apps.cli.terminal.keyboard import Keyboard
from hookline.apps.cli.terminal.output import stopped
from hookline.apps.cli.terminal.permission import ask
from hookline.apps.cli.terminal.screen import Terminal
from hookline.apps.cli.terminal.session import (
    AgentSession,
    cancel_on,
    how_to_resume,
    make_session,
    open_model,
    past_session,
)
from hookline.apps.cli.terminal.slash import (
    COMMANDS,
    command_in,
    hook_states,
    show_help,
    show_hooks,
    switch_hooks,
    unknown,
    untrusted,
)
from hookline.errors import HooklineError
from hookline.protocol.events import SessionEndReason, SessionStartSource

EXIT_INTERRUPTED = 130


async def run_interactive(given: argparse.Namespace) -> int:
    """Run the conversation until the user leaves, and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The terminal's encoding may lack characters that a model writes.
        sys.stdout.reconfigure(errors="replace")
    terminal = Terminal()
    async with aclosing(open_model(given, terminal.listen)) as model:
        return await _Conversation(given, model, terminal).hold()


class _Conversation:
    """Reads lines and runs the agent; Ctrl-C cancels the running turn, not the conversation."""

    def __init__(self, given: argparse.Namespace, model: Model, terminal: Terminal) -> None:
        self._given = given
        self._model = model
        self._terminal = terminal
        self._keyboard = Keyboard(tuple(COMMANDS), terminal.expand)
        self._toolbox = default_toolbox()
        self._past = past_session(given)
        self._open_session(given.session_id, self._past)
        self._running: asyncio.Future[Any] | None = None
        self._interrupts = 0
        """The number of Ctrl-C since the last line."""

    async def hold(self) -> int:
        """Run the conversation, and always end the session."""
        self._watch_signals()
        servers = connected_mcp_servers(self._session.config, self._toolbox, self._terminal.listen)
        async with AsyncExitStack() as stack:
            connected = await self._until_done(stack.enter_async_context(servers), "connecting to MCP servers")
            if connected.cancelled():
                return EXIT_INTERRUPTED
            connected.result()
            try:
                await self._greet()
                self._session.agent.start(SessionStartSource.RESUME if self._past else SessionStartSource.STARTUP)
                reason, code = await self._talk()
                await self._end_session(reason)
                self._print_resume_command()
            except BaseException:
                await self._session.agent.abandon()
                raise
            return code

    def _open_session(self, session_id: str | None = None, past: PastSession | None = None) -> None:
        self._session: AgentSession = make_session(
            self._given,
            model=self._model,
            toolbox=self._toolbox,
            listener=self._terminal.listen,
            person=self._approve,
            session_id=session_id,
            past=past,
        )

    async def _greet(self) -> None:
        states = await hook_states(self._session.config)
        waiting = untrusted(states or ())
        hooks = "disabled" if states is None else f"{len(states)} configured"
        if waiting:
            hooks += f", {waiting} waiting for trust → hookline trust"
        await self._acknowledge_trust()
        self._terminal.say(f"hookline {version('hookline')}, model {self._model.name}", "bold")
        self._terminal.say(f"hooks: {hooks}", "yellow" if waiting else "dim")
        resumed = f"resuming session {self._past.session_id}; " if self._past else ""
        self._terminal.say(f"{resumed}/help shows the commands", "dim")
        if self._past is not None:
            self._terminal.show_past(self._past)

    async def _acknowledge_trust(self) -> None:
        """Suppress the notice about untrusted hooks, because the greeting counts them."""
        if (system := self._session.config.get_hook_system()) is not None:
            await system.initialize()
            system.trust_notice.acknowledge()

    async def _talk(self) -> tuple[SessionEndReason, int]:
        """Handle lines until the user leaves. Return the reason and the exit code."""
        while True:
            try:
                line = (await self._keyboard.read_line()).strip()
            except EOFError:
                return SessionEndReason.PROMPT_INPUT_EXIT, 0
            except KeyboardInterrupt:
                if self._keyboard.has_text:
                    continue
                self._interrupts += 1
            else:
                self._interrupts = 0
                if command_in(line) in ("/quit", "/exit"):
                    return SessionEndReason.EXIT, 0
                await self._handle(line)
            if self._interrupts > 1:
                return SessionEndReason.PROMPT_INPUT_EXIT, EXIT_INTERRUPTED
            if self._interrupts:
                self._terminal.say("Press Ctrl-C again to leave.", "dim")

    async def _handle(self, line: str) -> None:
        command = command_in(line)
        match command:
            case None if not line:
                pass
            case None:
                await self._work(self._session.agent.run(line))
                self._terminal.say("")
            case "/help":
                show_help(self._terminal)
            case "/hooks" if words := line.split()[1:]:
                self._terminal.say(await switch_hooks(self._session.config, words))
            case "/hooks":
                show_hooks(self._terminal, await hook_states(self._session.config), self._session.watch)
            case "/compress":
                await self._work(self._compress())
            case "/clear":
                await self._clear()
            case _:
                self._terminal.say(unknown(command), "yellow")

    async def _compress(self) -> None:
        answer = await self._session.agent.compress()
        if answer is not None and answer.should_stop:
            self._terminal.say(stopped(answer.stop_reason, answer.decided_by), "bold yellow")

    async def _clear(self) -> None:
        await self._end_session(SessionEndReason.CLEAR)
        self._open_session()
        await self._acknowledge_trust()
        self._session.agent.start(SessionStartSource.CLEAR)
        self._terminal.say(f"A new session: {self._session.config.get_session_id()}", "dim")

    def _print_resume_command(self) -> None:
        """Print the command that resumes the session, if there is one."""
        if (command := how_to_resume(self._given, self._session)) is not None:
            self._terminal.say(f"To resume: {command}", "dim")

    async def _end_session(self, reason: SessionEndReason) -> None:
        agent = self._session.agent
        if not await self._work(agent.close(reason), "waiting for hooks to finish"):
            await agent.abandon()

    async def _work(self, work: Coroutine[Any, Any, Any], doing: str = "thinking") -> bool:
        """Run something that Ctrl-C can cancel, and print its error. Return False if it was cancelled."""
        done = await self._until_done(work, doing)
        if done.cancelled():
            self._terminal.say("Cancelled.", "yellow")
            return False
        try:
            done.result()
        except HooklineError as error:
            self._terminal.say(f"hookline: {error}", "red")
        return True

    async def _until_done(self, work: Coroutine[Any, Any, Any], doing: str) -> asyncio.Future[Any]:
        """Run the work with a status line, and return its future, done or cancelled."""
        running = self._running = asyncio.ensure_future(work)
        try:
            with self._keyboard.silenced():
                async with self._terminal.busy(doing):
                    await asyncio.wait([running])
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.wait([running])
            raise
        finally:
            self._running = None
        return running

    async def _approve(self, request: ApprovalRequest) -> UserReply:
        with self._terminal.paused():
            self._terminal.say("")  # sets the question off from the output before it
            try:
                return await ask(request, ToolContext.of(self._session.config), self)
            except KeyboardInterrupt:
                self._interrupt()
                # The rest of the turn is cancelled, this included.
                await asyncio.Event().wait()
                return UserReply(Approval.REFUSE)

    def show(self, text: str, mark: str | None = None) -> None:
        """Print a line of a question."""
        self._terminal.show_row(text, mark)

    async def read(self, question: str) -> str:
        """Return the answer to a question."""
        return await self._keyboard.answer(question)

    def _watch_signals(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupt)
        # Hooks and tools run in other sessions (setsid), so closing the terminal does not end them.
        cancel_on(signal.SIGTERM, signal.SIGHUP)

    def _interrupt(self) -> None:
        if not self._keyboard.interrupt() and self._running is not None:
            self._interrupts += 1
            self._terminal.activity.begin("cancelling; press Ctrl-C again to quit immediately")
            self._running.cancel()
