"""The agents that can have hookline as their hook command: one module each."""

from collections.abc import Mapping

from hookline.bridge.agents.claude import CLAUDE_HOST
from hookline.bridge.agents.codex import CODEX_HOST
from hookline.bridge.agents.copilot import COPILOT_HOST
from hookline.bridge.agents.cursor import CURSOR_HOST
from hookline.bridge.agents.gemini import GEMINI_HOST
from hookline.bridge.host import HostAgent

HOSTS: Mapping[str, HostAgent] = {
    host.name: host for host in (CLAUDE_HOST, CODEX_HOST, GEMINI_HOST, CURSOR_HOST, COPILOT_HOST)
}
"""Every agent that can have hookline as its hook command, by name."""
