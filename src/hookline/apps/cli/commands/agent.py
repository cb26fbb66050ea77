"""Run a small coding agent that passes every tool call and model call through your hooks.

Examples:
  hookline agent                                         a conversation in the terminal
  hookline agent --prompt "What does this project do?"   one prompt, the answer on stdout
  git diff | hookline agent --prompt "Review this."      a pipe and a prompt together
  git diff | hookline agent --headless --json            the prompt from a pipe, the result for a program
  hookline agent --model replay:session.jsonl --prompt x no key and no network: answers from a file

Exit codes:
  0  the agent answered, or hooks ended the turn    1  the agent or the model failed    130  Ctrl-C    143  SIGTERM
"""

import argparse
import asyncio
import os
import select
import signal
import sys
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.apps.agent.approval.approver import ApprovalRequest, Approver, UserReply
from hookline.apps.agent.loop import DEFAULT_MAX_TURNS
from hookline.apps.agent.mcp.client import connected_mcp_servers
from hookline.apps.agent.models.client import Model
from hookline.apps.agent.tool import ToolContext
from hookline.apps.agent.toolbox import default_toolbox
from hookline.apps.cli.interrupt import run_loop
from hookline.apps.cli.main import EXIT_TERMINATED
from hookline.apps.cli.options import add_common_options, add_json_option, at_least, require_project
from hookline.apps.cli.streams import CLOSED
from hookline.apps.cli.terminal.output import JsonOutput, Output, StreamOutput, TextOutput
from hookline.apps.cli.terminal.permission import PlainTerminal, ask
from hookline.apps.cli.terminal.readiness import problems_of
from hookline.apps.cli.terminal.session import (
    DEFAULT_MODEL,
    cancel_on,
    make_session,
    open_model,
    past_session,
    project_of,
)
from hookline.errors import HooklineError, MissingExtraError, UsageError
from hookline.extensions import lazy_module
from hookline.protocol.events import SessionEndReason, SessionStartSource
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.apps.cli.terminal import interactive
else:
    interactive = lazy_module("hookline.apps.cli.terminal.interactive")

_PATIENCE_S = 3.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--prompt", metavar="TEXT", help="answer this and exit; a pipe's text comes before it (default: a conversation)"
    )
    parser.add_argument("--headless", action="store_true", help="never ask; calls that need approval are refused")
    parser.add_argument("--yes", action="store_true", help="approve every tool call (hooks still need your trust)")
    parser.add_argument(
        "--require-hooks", action="store_true", help="do not start if a settings file is broken or no hook is active"
    )
    parser.add_argument(
        "--model",
        default=DEFAULT_MODEL,
        metavar="MODEL",
        help="gemini, gemini:NAME, openai:NAME, anthropic:NAME, or replay:FILE (default: gemini)",
    )
    parser.add_argument(
        "--base-url",
        metavar="URL",
        help="the model's server, such as http://localhost:11434/v1 (default: its vendor's)",
    )
    parser.add_argument(
        "--context-limit",
        metavar="TOKENS",
        type=at_least(1000),
        help="summarize the history at 80 %% of so many tokens, for a server with less room (default: the model's)",
    )
    parser.add_argument("--record", metavar="FILE", help="write the model's answers to a file for replay:FILE")
    shape = parser.add_mutually_exclusive_group()
    add_json_option(shape)
    shape.add_argument("--stream-json", action="store_true", help="print each event as a line of JSON")
    parser.add_argument(
        "--resume", nargs="?", const="", metavar="ID", help="resume a session (default: the project's latest)"
    )
    parser.add_argument("--session-id", metavar="ID", help="the session's id (default: a new one)")
    parser.add_argument(
        "--max-turns",
        type=at_least(1),
        default=DEFAULT_MAX_TURNS,
        metavar="N",
        help=f"how many model calls one prompt may take (default: {DEFAULT_MAX_TURNS})",
    )
    add_common_options(parser, json=False)


def run(given: argparse.Namespace) -> int:
    """Run the agent in the mode that the options and the terminal select."""
    require_project(given)
    prompt = _prompt(given)
    # Cancelling ends the process groups of hooks and tools.
    try:
        return run_loop(_talk(given) if prompt is None else _answer(given, prompt))
    except asyncio.CancelledError:
        return EXIT_TERMINATED


def _prompt(given: argparse.Namespace) -> str | None:
    """The prompt; None for a conversation in the terminal."""
    prompt = given.prompt
    if "stdin" not in CLOSED and not sys.stdin.isatty():
        # Without the last newline, so that hooks get the same prompt as with --prompt.
        piped = (_read_pipe() if prompt is None else _read_pipe_beside_prompt()).rstrip("\r\n")
        prompt = "\n\n".join(filter(None, (piped, prompt)))
    if prompt is None:
        if given.headless or given.json or given.stream_json or not sys.stdout.isatty():
            raise UsageError("there is no prompt; give --prompt TEXT, or pipe the prompt in")
        return None
    if not prompt.strip():
        raise UsageError("the prompt is empty; give --prompt TEXT, or pipe the prompt in")
    return str(prompt)


def _read_pipe() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _read_pipe_beside_prompt() -> str:
    """All of stdin; empty when it can't be read. A long wait is explained, because stdin may be there by accident."""
    try:
        if not select.select([sys.stdin], [], [], _PATIENCE_S)[0]:
            warn_user("waiting for the end of stdin, which is joined with --prompt; add </dev/null to go on without it")
        return _read_pipe()
    except (OSError, ValueError):
        return ""


async def _talk(given: argparse.Namespace) -> int:
    try:
        talk = interactive.run_interactive
    except ImportError as error:
        raise MissingExtraError(str(error.name), "agent") from error
    return await talk(given)


async def _answer(given: argparse.Namespace, prompt: str) -> int:
    cancel_on(signal.SIGTERM)
    output = StreamOutput() if given.stream_json else JsonOutput() if given.json else TextOutput()
    try:
        async with aclosing(open_model(given, output.listen)) as model:
            await _answer_with(given, prompt, model, output)
    except HooklineError as error:
        if isinstance(output, JsonOutput):
            output.failed(str(error))
        raise
    return 0


def _person(given: argparse.Namespace) -> Approver | None:
    """Ask the user; None where there is none, or where they would not see the question."""
    if given.headless or not sys.stdin.isatty() or not sys.stderr.isatty():
        return None
    context = ToolContext(project=Path(project_of(given)), environ=os.environ)

    async def asked(request: ApprovalRequest) -> UserReply:
        return await ask(request, context, PlainTerminal())

    return asked


async def _answer_with(given: argparse.Namespace, prompt: str, model: Model, output: Output) -> None:
    past = past_session(given)
    toolbox = default_toolbox()
    session = make_session(
        given,
        model=model,
        toolbox=toolbox,
        listener=output.listen,
        person=_person(given),
        session_id=given.session_id,
        past=past,
    )
    if isinstance(output, JsonOutput):
        output.problems = problems_of(session.config)
    agent = session.agent
    async with connected_mcp_servers(session.config, toolbox, output.listen):
        try:
            agent.start(SessionStartSource.STARTUP if past is None else SessionStartSource.RESUME)
            await agent.run(prompt)
        except asyncio.CancelledError:
            await agent.abandon()
            raise
        except HooklineError:
            await agent.close(SessionEndReason.OTHER)
            raise
        try:
            await agent.close()
        finally:
            output.close()
