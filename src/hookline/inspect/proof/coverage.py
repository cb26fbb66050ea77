"""Three words for each agent and each hook: configured, observed, enforced, each with its last evidence.

*Configured*: it is in the settings and enabled there. *Observed*: the log has a run for an
event of that agent. *Enforced*: the log has a deny for one. Events of `hookline fire`, `test`, `replay`, `check` and
canaries are no evidence (`LogEntry.asker`). Each is about what is in the log; the transcripts show that an agent keeps
to a deny (`reconcile.py`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline.bridge.agents import HOSTS
from hookline.bridge.installation.entries import settings_file
from hookline.bridge.installation.install import installed
from hookline.bridge.installation.status import problem_of
from hookline.bridge.state_files import LastRequests
from hookline.dialects.transcripts.find import OWN
from hookline.errors import HooklineError
from hookline.log.read.statistics import AgentStatistics, Statistics
from hookline.protocol.constants import OWN_AGENT
from hookline.protocol.text.json_text import utc_timestamp
from hookline.protocol.text.readable import show_evidence


def agent_words(project: Path, statistics: Statistics, *, hooks_enabled: bool) -> list[dict[str, Any]]:
    """Return the evidence for hookline's agent, and for every agent that uses the bridge or once did."""
    rows = [
        _row(OWN, "hookline agent", None, statistics.agents.get(OWN_AGENT, AgentStatistics()), configured=hooks_enabled)
    ]
    for name, host in HOSTS.items():
        files, problem = _files(name, project)
        numbers = statistics.agents.get(name, AgentStatistics())
        row = _row(name, host.agent, problem, numbers, configured=bool(files) and problem is None)
        row["files"] = files
        row["observed"] = max(numbers.last_run or "", _last_asked(name) or "") or None
        if files or problem or row["observed"]:
            rows.append(row)
    return rows


def known_versions() -> list[dict[str, Any]]:
    """Which version of each agent the contract was checked with, and whether that agent was really run."""
    return [
        {"agent": name, "name": host.agent, "version": host.version, "wasRun": host.was_run}
        for name, host in HOSTS.items()
    ]


def _row(agent: str, name: str, problem: str | None, numbers: AgentStatistics, *, configured: bool) -> dict[str, Any]:
    words = {"configured": configured, "observed": numbers.last_run, "enforced": numbers.last_block}
    return {"agent": agent, "name": name, **words, "problem": problem, "files": []}


def _files(agent: str, project: Path) -> tuple[list[str], str | None]:
    """Return the agent's files that have the bridge command, and why it can't run there."""
    found: list[str] = []
    problem = None
    for file in dict.fromkeys((settings_file(agent, None), settings_file(agent, project))):
        try:
            entries = installed(file)
        except HooklineError as error:
            problem = str(error)
            continue
        if entries:
            found.append(str(file))
            problem = problem_of(agent, file, entries) or problem
    return found, problem


def _last_asked(agent: str) -> str | None:
    asked = LastRequests().when(agent)
    return None if asked is None else utc_timestamp(asked)


def show_evidence_words(row: Mapping[str, Any], otherwise: str = "not configured") -> str:
    """Say whether an agent or a hook is configured, was observed, and denied, with the date of the last evidence."""
    configured = "configured" if row["configured"] else otherwise
    observed, enforced = (
        show_evidence(word, row[word], row.get(f"{word}By")) if row[word] else never
        for word, never in (("observed", "never observed"), ("enforced", "never had to deny"))
    )
    return f"{configured}, {observed}, {enforced}"
