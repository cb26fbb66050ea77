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
    break_it: Callable[[Agent, Place, Path], None] | None = None
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


def change_command(change: Callable[[str], str]) -> Callable[[Agent, Place, Path], None]:
    """Changes every command of the bridge in the agent's settings."""

    def apply(_agent: Agent, _place: Place, file: Path) -> None:
        text = file.read_text()
        changed = re.sub(r'(?<="command": "|...."bash": ")[^"]*', lambda found: change(found[0]), text)
        assert changed != text
        file.write_text(changed)

    return apply


def crashing(_agent: Agent, place: Place, file: Path) -> None:
    """The bridge is there, and dies in the middle with exit code 1."""
    program = place.write("gone/hookline/bridge/client.py", "raise SystemExit(1)\n")
    text = file.read_text()
    changed = re.sub(r"/\S*/hookline/bridge/client\.py", str(program), text)
    assert changed != text
    file.write_text(changed)


def missing(_agent: Agent, _place: Place, file: Path) -> None:
    """The program of the bridge is gone, as after an environment was removed."""
    text = file.read_text()
    changed = re.sub(r"/\S*/bin/python\S*", "/gone/bin/python", text)
    assert changed != text
    file.write_text(changed)


def removed(_agent: Agent, _place: Place, file: Path) -> None:
    """Python is there, and hookline is not."""
    text = file.read_text()
    changed = re.sub(r"/\S*/hookline/bridge/client\.py", "/gone/hookline/bridge/client.py", text)
    assert changed != text
    file.write_text(changed)


def short_deadline(_agent: Agent, _place: Place, file: Path) -> None:
    """Our deadline is a second."""
    text = file.read_text()
    changed = text.replace("--deadline 50", "--deadline 1")
    assert changed != text
    file.write_text(changed)


def short_timeout(_agent: Agent, _place: Place, file: Path) -> None:
    """The agent's own timeout is two seconds, and our deadline is not."""
    text = file.read_text()
    changed = re.sub(r'("timeout(?:Sec)?": )60(000)?', lambda found: f"{found[1]}2{found[2] or ''}", text)
    assert changed != text
    file.write_text(changed)


BROKEN = '{"enableHooks": true, "token": "' + SECRET + '", "hooks": {'

SCENES: Mapping[str, Scene] = {
    "quiet": Scene(title="no objection", hooks={"BeforeTool": "true"}, must_not_run=False),
    "deny": Scene(title="deny a tool", hooks={"BeforeTool": DENY}),
    "deny-silent": Scene(title="deny a tool without a reason", hooks={"BeforeTool": "exit 2"}),
    "deny-file": Scene(
        title="deny a file",
        hooks={"BeforeTool": f"grep -q '\"file_path\":\"[^\"]*secret.txt\"' && {{ {DENY}; }}; true"},
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
    "suppress": Scene(
        title="suppressOutput", hooks={"AfterTool": answer(suppressOutput=True)}, must_not_run=False
    ),
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
    "missing": Scene(title="Python is missing", hooks={"BeforeTool": DENY}, break_it=missing, events="BeforeTool"),
    "removed": Scene(title="hookline is missing", hooks={"BeforeTool": DENY}, break_it=removed, events="BeforeTool"),
    "crash": Scene(title="crashed", hooks={"BeforeTool": DENY}, break_it=crashing, events="BeforeTool"),
    "missing-prompt": Scene(title="is missing, at a prompt", hooks={}, break_it=missing, events="BeforeAgent"),
    "slow": Scene(
        title="hooks past our deadline", hooks={"BeforeTool": "sleep 30"}, break_it=short_deadline, events="BeforeTool"
    ),
    "too-slow": Scene(
        title="took longer than the agent's timeout",
        hooks={"BeforeTool": "sleep 8"},
        break_it=short_timeout,
        events="BeforeTool",
    ),
    "no-server": Scene(title="deny, without the server", hooks={"BeforeTool": DENY}, environ={"HOOKLINE_SERVE": "0"}),
}
