"""The scenes for every agent: the hooks, the model's turns, the fault, and texts that must never be seen."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.live.agents import AGENTS, Agent, Place
from tests.live.models import Call

MARK = "MARK-7Q3"
"""A hook's text; searched for in the model's requests and in the user's output."""
SECRET = "ghp_" + "Zx9" * 12
ORIGINAL = "echo original >> ran.txt"
OUTPUT = "OUTPUT-5K8"
"""A command's output that a hook hides."""
REWRITTEN = "echo rewritten >> ran.txt"

DENY = f"echo {MARK} >&2; exit 2"
GUARD = f"""grep -q '"file_path":"[^"]*secret.txt"' && {{ {DENY}; }}; true"""
EVERYWHERE = frozenset(AGENTS)
GEMINI = frozenset({"gemini"})
CODEX = frozenset({"codex"})
# Most agents let this pass, as the docs state.
LATE = frozenset({"codex", "gemini", "copilot"})


def answer(**fields: object) -> str:
    """A hook that prints this answer."""
    return f"printf '%s' {shlex.quote(json.dumps(fields))}"


def specific(event: str, **fields: object) -> str:
    """A hook that prints this answer in `hookSpecificOutput`."""
    return answer(hookSpecificOutput={"hookEventName": event, **fields})


STOP = answer(**{"continue": False, "stopReason": MARK})
BROKEN = '{"enableHooks": true, "token": "' + SECRET + '", "hooks": {'


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One thing that is tried."""

    hooks: Mapping[str, str] = field(default_factory=dict)
    """hookline's hooks: a shell text for each of its events."""
    settings: str | None = None
    """The person's hookline settings, if they are not made from `hooks`."""
    tool: Callable[[Agent], Call] = lambda agent: agent.shell_call(ORIGINAL)
    """The model's calls."""
    may_run: bool = False
    """Whether the tool may run as the model wanted it; if not, that is a fault, whatever was seen before."""
    unless: frozenset[str] = frozenset()
    """Agents that can't block the tool here."""
    events: str | None = None
    """Our name of the only event that the bridge is installed for."""
    options: tuple[str, ...] = ()
    """For `hookline bridge install`."""
    break_it: Callable[[Place, Path], None] | None = None
    """Changes the agent's settings file after the installation."""
    allowed: bool = True
    """True if the agent may run tools without asking, because the scene has no user."""
    environ: Mapping[str, str] = field(default_factory=dict)
    varies: frozenset[str] = frozenset()
    """Agents in which only the tool's fate is sure, because their events overtake each other."""
    only: frozenset[str] = EVERYWHERE
    """Agents that have such an event, or such a tool."""


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


def instead(event: str, **fields: object) -> str:
    """A hook that answers with the mark in place of the model."""
    response = {"candidates": [{"content": {"role": "model", "parts": [MARK]}}]}
    return answer(**fields, hookSpecificOutput={"hookEventName": event, "llm_response": response})


SCENES: Mapping[str, Scene] = {
    "quiet": Scene(hooks={"BeforeTool": "true"}, may_run=True),
    "deny": Scene(hooks={"BeforeTool": DENY}),
    "deny-silent": Scene(hooks={"BeforeTool": "exit 2"}),
    "deny-file": Scene(hooks={"BeforeTool": GUARD}, tool=lambda agent: agent.write_call("secret.txt", "original")),
    "deny-patch": Scene(
        hooks={"BeforeTool": GUARD},
        tool=lambda agent: agent.shell_call(f"apply_patch <<'EOF'\n{agent.write_call('secret.txt', 'x').text}EOF"),
        only=CODEX,
    ),
    "ask": Scene(hooks={"BeforeTool": answer(decision="ask", reason=MARK)}),
    "rewrite": Scene(hooks={"BeforeTool": specific("BeforeTool", tool_input={"command": REWRITTEN})}),
    "rewrite-patch": Scene(
        hooks={"BeforeTool": specific("BeforeTool", tool_input={"content": "rewritten"})},
        tool=lambda agent: agent.write_call("secret.txt", "original"),
        only=CODEX,
    ),
    "stop-tool": Scene(hooks={"BeforeTool": STOP}),
    "note-tool": Scene(hooks={"BeforeTool": answer(systemMessage=MARK)}, may_run=True),
    "note-result": Scene(hooks={"AfterTool": specific("AfterTool", additionalContext=MARK)}, may_run=True),
    "deny-result": Scene(hooks={"AfterTool": DENY}, may_run=True),
    "stop-result": Scene(hooks={"AfterTool": STOP}, may_run=True),
    "replace-result": Scene(
        hooks={"AfterTool": specific("AfterTool", tool_output=MARK)},
        tool=lambda agent: agent.shell_call(f"{ORIGINAL}; echo {OUTPUT[:4]}'{OUTPUT[4:]}'"),
        may_run=True,
    ),
    "message": Scene(hooks={"BeforeTool": answer(userMessage=MARK)}, may_run=True),
    "suppress": Scene(hooks={"AfterTool": answer(suppressOutput=True)}, may_run=True),
    "block-prompt": Scene(hooks={"BeforeAgent": DENY}),
    "stop-prompt": Scene(hooks={"BeforeAgent": STOP}),
    "rewrite-prompt": Scene(hooks={"BeforeAgent": specific("BeforeAgent", prompt=MARK)}),
    "note-prompt": Scene(hooks={"BeforeAgent": specific("BeforeAgent", additionalContext=MARK)}, may_run=True),
    "note-start": Scene(hooks={"SessionStart": specific("SessionStart", additionalContext=MARK)}, may_run=True),
    # Copilot CLI may ask about the prompt before it reports the start of the session.
    "stop-start": Scene(hooks={"SessionStart": STOP}, varies=frozenset({"copilot"})),
    "go-on": Scene(hooks={"AfterAgent": f"grep -q '\"stop_hook_active\":true' || {{ {DENY}; }}"}, may_run=True),
    "stop-end": Scene(hooks={"AfterAgent": STOP}, may_run=True),
    "request": Scene(
        hooks={"BeforeModel": specific("BeforeModel", llm_request={"messages": [{"role": "user", "content": MARK}]})},
        may_run=True,
        only=GEMINI,
    ),
    "no-request": Scene(hooks={"BeforeModel": instead("BeforeModel", decision="deny", reason="no")}, only=GEMINI),
    "selection": Scene(
        hooks={
            "BeforeToolSelection": specific(
                "BeforeToolSelection", toolConfig={"mode": "ANY", "allowedFunctionNames": ["search_file_content"]}
            )
        },
        only=GEMINI,
    ),
    "response": Scene(
        hooks={"AfterModel": f"grep -q '\"done\"' && {{ {instead('AfterModel')}; }}; true"}, may_run=True, only=GEMINI
    ),
    "unasked": Scene(hooks={"BeforeTool": "true"}, allowed=False),
    "unasked-rewrite": Scene(
        hooks={"BeforeTool": specific("BeforeTool", tool_input={"command": REWRITTEN})}, allowed=False
    ),
    "secret": Scene(
        hooks={"BeforeTool": DENY},
        tool=lambda agent: agent.shell_call(f"export TOKEN={SECRET}; {ORIGINAL}"),
        environ={"DEPLOY_TOKEN": SECRET},
    ),
    "no-server": Scene(hooks={"BeforeTool": DENY}, environ={"HOOKLINE_SERVE": "0"}),
    "broken": Scene(settings=BROKEN, events="BeforeTool"),
    "broken-prompt": Scene(settings=BROKEN, events="BeforeAgent"),
    "fail-open": Scene(settings=BROKEN, options=("--fail-open",), may_run=True),
    "missing": Scene(hooks={"BeforeTool": DENY}, break_it=changed(PYTHON, "/gone/bin/python"), events="BeforeTool"),
    "missing-prompt": Scene(break_it=changed(PYTHON, "/gone/bin/python"), events="BeforeAgent"),
    "removed": Scene(break_it=changed(CLIENT, "/gone/hookline/bridge/client.py"), events="BeforeTool"),
    "crash": Scene(break_it=replaced("raise RuntimeError"), events="BeforeTool"),
    "killed": Scene(break_it=replaced("import os; os.kill(os.getpid(), 9)"), events="BeforeTool"),
    "slow": Scene(
        hooks={"BeforeTool": "sleep 30"}, break_it=changed("--deadline 50", "--deadline 1"), events="BeforeTool"
    ),
    "too-slow": Scene(
        hooks={"BeforeTool": "sleep 8"},
        break_it=changed(r'"(timeout|timeoutSec)": 60', r'"\1": 2'),
        events="BeforeTool",
        unless=LATE,
    ),
}
