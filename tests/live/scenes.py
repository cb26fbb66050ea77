"""What is tried in every agent: the hooks, what the model does, what is broken, and what must never be seen."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.live.agents import Agent, Place
from tests.live.models import Call

MARK = "MARK-7Q3"
"""What a hook says, looked for in the model's requests and in what the person sees."""
SECRET = "ghp_" + "Zx9" * 12
ORIGINAL = "echo original >> ran.txt"
REWRITTEN = "echo rewritten >> ran.txt"

DENY = f"echo {MARK} >&2; exit 2"
STOP = f"printf '%s' {shlex.quote(json.dumps({'continue': False, 'stopReason': MARK}))}"


def answer(**fields: object) -> str:
    """A hook that prints this answer."""
    return f"printf '%s' {shlex.quote(json.dumps(fields))}"


def specific(event: str, **fields: object) -> str:
    """A hook that prints this answer in `hookSpecificOutput`."""
    return answer(hookSpecificOutput={"hookEventName": event, **fields})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One thing that is tried."""

    title: str
    """What it is called in the table of docs/other-agents.md."""
    hooks: Mapping[str, str]
    """hookline's hooks: a shell text for each event of ours."""
    tool: Callable[[Agent], Call] = lambda agent: agent.shell(ORIGINAL)
    events: str = "all"
    """`all`, or our name of the only event that the bridge is installed for."""
    allowed: bool = True
    """Whether the agent may run tools without asking; nobody is there to be asked."""
    break_it: Callable[[Place, Path], None] | None = None
    """Changes the agent's settings file after the installation."""
    options: tuple[str, ...] = ()
    """For `hookline bridge install`."""
    environ: Mapping[str, str] = field(default_factory=dict)
    settings: str | None = None
    """The person's hookline settings, if they are not made from `hooks`."""
    must_not_run: bool = True
    """Whether it is a fault if the tool ran as the model wanted it, in whichever agent."""
    unless: frozenset[str] = frozenset()
    """Agents that can't keep the tool from running here; the docs say so."""


def changed(pattern: str, by: str) -> Callable[[Place, Path], None]:
    """Changes the agent's settings file; `{root}` is the scratch directory."""

    def change(place: Place, file: Path) -> None:
        text = file.read_text()
        other = re.sub(pattern, by.replace("{root}", str(place.root)), text)
        assert other != text, f"{pattern} is not in {text}"
        file.write_text(other)

    return change


CLIENT = r"/\S*/hookline/bridge/client\.py"
PYTHON = r"/\S*/bin/python\S*"


def replaced(program: str) -> Callable[[Place, Path], None]:
    """Has the agent run this program in place of the bridge's client."""

    def replace(place: Place, file: Path) -> None:
        place.write("other/hookline/bridge/client.py", program)
        changed(CLIENT, "{root}/other/hookline/bridge/client.py")(place, file)

    return replace


BROKEN = '{"enableHooks": true, "token": "' + SECRET + '", "hooks": {'

SCENES: Mapping[str, Scene] = {
    "quiet": Scene(title="no objection", hooks={"BeforeTool": "true"}, must_not_run=False),
    "deny": Scene(title="deny a tool", hooks={"BeforeTool": DENY}),
    "deny-silent": Scene(title="deny a tool without a reason", hooks={"BeforeTool": "exit 2"}),
    "deny-file": Scene(
        title="deny a file",
        hooks={"BeforeTool": f'grep -q \'"file_path":"[^"]*secret.txt"\' && {{ {DENY}; }}; true'},
        tool=lambda agent: agent.write("secret.txt", "original"),
    ),
    "rewrite": Scene(
        title="rewrite arguments", hooks={"BeforeTool": specific("BeforeTool", tool_input={"command": REWRITTEN})}
    ),
    "ask": Scene(title="ask", hooks={"BeforeTool": answer(decision="ask", reason=MARK)}),
    "stop-tool": Scene(title="stop, at a tool", hooks={"BeforeTool": STOP}),
    "context-tool": Scene(
        title="note or context, before a tool", hooks={"BeforeTool": answer(systemMessage=MARK)}, must_not_run=False
    ),
    "context-result": Scene(
        title="note or context, after a tool",
        hooks={"AfterTool": specific("AfterTool", additionalContext=MARK)},
        must_not_run=False,
    ),
    "deny-result": Scene(title="deny, after a tool", hooks={"AfterTool": DENY}, must_not_run=False),
    "stop-result": Scene(title="stop, after a tool", hooks={"AfterTool": STOP}, must_not_run=False),
    "suppress": Scene(title="suppressOutput", hooks={"AfterTool": answer(suppressOutput=True)}, must_not_run=False),
    "block-prompt": Scene(title="block a prompt", hooks={"BeforeAgent": DENY}),
    "stop-prompt": Scene(title="stop, at a prompt", hooks={"BeforeAgent": STOP}),
    "context-prompt": Scene(
        title="context with a prompt",
        hooks={"BeforeAgent": specific("BeforeAgent", additionalContext=MARK)},
        must_not_run=False,
    ),
    "context-start": Scene(
        title="context at the start",
        hooks={"SessionStart": specific("SessionStart", additionalContext=MARK)},
        must_not_run=False,
    ),
    "stop-start": Scene(title="stop, at the start", hooks={"SessionStart": STOP}, must_not_run=False),
    "go-on": Scene(
        title="go on after the end of a turn",
        hooks={"AfterAgent": f"grep -q '\"stop_hook_active\":true' || {{ {DENY}; }}"},
        must_not_run=False,
    ),
    "unasked": Scene(title="no objection, to a call that needs your yes", hooks={"BeforeTool": "true"}, allowed=False),
    "unasked-rewrite": Scene(
        title="rewrite, of a call that needs your yes",
        hooks={"BeforeTool": specific("BeforeTool", tool_input={"command": REWRITTEN})},
        allowed=False,
    ),
    "broken": Scene(title="settings that can't be read", hooks={}, settings=BROKEN, events="BeforeTool"),
    "broken-prompt": Scene(title="the same, at a prompt", hooks={}, settings=BROKEN, events="BeforeAgent"),
    "fail-open": Scene(
        title="the same, with --fail-open", hooks={}, settings=BROKEN, options=("--fail-open",), must_not_run=False
    ),
    "missing": Scene(
        title="Python is missing",
        hooks={"BeforeTool": DENY},
        break_it=changed(PYTHON, "/gone/bin/python"),
        events="BeforeTool",
    ),
    "removed": Scene(
        title="hookline is missing",
        hooks={"BeforeTool": DENY},
        break_it=changed(CLIENT, "/gone/hookline/bridge/client.py"),
        events="BeforeTool",
    ),
    "crash": Scene(
        title="crashed", hooks={"BeforeTool": DENY}, break_it=replaced("raise RuntimeError"), events="BeforeTool"
    ),
    "killed": Scene(
        title="was killed",
        hooks={"BeforeTool": DENY},
        break_it=replaced("import os; os.kill(os.getpid(), 9)"),
        events="BeforeTool",
    ),
    "missing-prompt": Scene(
        title="is missing, at a prompt", hooks={}, break_it=changed(PYTHON, "/gone/bin/python"), events="BeforeAgent"
    ),
    "slow": Scene(
        title="hooks past our deadline",
        hooks={"BeforeTool": "sleep 30"},
        break_it=changed("--deadline 50", "--deadline 1"),
        events="BeforeTool",
    ),
    "too-slow": Scene(
        title="took longer than the agent's timeout",
        hooks={"BeforeTool": "sleep 8"},
        break_it=changed(r'"(timeout|timeoutSec)":60', r'"\1":2'),
        events="BeforeTool",
    ),
    "no-server": Scene(title="deny, without the server", hooks={"BeforeTool": DENY}, environ={"HOOKLINE_SERVE": "0"}),
}
