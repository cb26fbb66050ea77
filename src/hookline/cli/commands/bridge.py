"""Be the hook command of another agent: its question on stdin, our hooks, its answer on stdout.

Examples:
  hookline bridge claude < question.json
  hookline bridge copilot preToolUse < question.json

Exit codes are the other agent's: 2 blocks. A bridge that breaks blocks, too, and says why on stderr.
"""

import argparse
import asyncio
import sys

from hookline.bridge.host import Heard, Said
from hookline.bridge.judge import hosts, judge, read_question, refusal
from hookline.config import Config
from hookline.contract.text import printable, tell
from hookline.contract.wire import stringify_json
from hookline.errors import HooklineError

_DEADLINE_S = 50.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("agent", metavar="AGENT", choices=hosts(), help="the agent that asks: " + ", ".join(hosts()))
    parser.add_argument("event", metavar="EVENT", nargs="?", help="its event, if its input does not say which")
    parser.add_argument("--settings", metavar="FILE", action="append", help="the only settings file to read")
    parser.add_argument(
        "--deadline",
        metavar="SECONDS",
        type=float,
        default=_DEADLINE_S,
        help="refuse what the hooks have not judged by then; keep it below the agent's own timeout (default 50)",
    )
    parser.add_argument("--fail-open", action="store_true", help="let the agent go on when this command breaks")


def run(given: argparse.Namespace) -> int:
    """Answers one question; the exit code is what the agent expects."""
    host = hosts()[given.agent]
    try:
        heard = read_question(host, sys.stdin.buffer.read(), given.event)
    except HooklineError as error:
        return _answer(refusal(None, str(error)), fail_open=given.fail_open)

    def make_config(heard: Heard) -> Config:
        return Config(
            heard.cwd or ".",
            session_id=heard.session_id or None,
            transcript_path=heard.transcript_path,
            settings_files=given.settings,
            quiet=True,
        )

    said = asyncio.run(judge(host, heard, make_config, given.deadline))
    return _answer(said, fail_open=given.fail_open)


def _answer(said: Said, *, fail_open: bool) -> int:
    for loss in said.lost:
        tell(f"lost in this agent: {printable(loss)}")
    if said.stderr:
        sys.stderr.write(f"{printable(said.stderr)}\n")
    if said.stdout is not None:
        sys.stdout.buffer.write(stringify_json(said.stdout) + b"\n")
        sys.stdout.buffer.flush()
    is_broken = said.stderr.startswith("hookline: ")
    return 0 if fail_open and is_broken else said.exit_code
