"""Prove that hooks judged what agents did: a call that only a hook can deny, and every call of the transcripts.

Examples:
  hookline prove                          our own agent's canary; the transcripts of all agents of the last 7 days
  hookline prove claude                   prints one line to run, and waits until the call was denied
  hookline prove codex --no-canary --since 30d
  hookline prove --json

Transcripts of Claude Code, Codex, Gemini CLI and hookline's own agent are compared with the log: each call that ran
must have a decision there. Those that have none are shown with the likely cause. Of Cursor and Copilot no transcript
is read: there the canary and the log are the proof.

Exit codes:
  0  every call was judged, and the canary was denied    1  something was not    2  there is nothing to compare
"""

import argparse
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hookline.bridge.judge import hosts
from hookline.cli.commands._log_filters import time_of
from hookline.cli.options import add_common_options, at_least, make_config
from hookline.cli.report.overview import recorded_in
from hookline.cli.report.printer import print_lines, print_report
from hookline.cli.report.proof import AgentProof, flight_lines, flight_report, proof_lines, proof_report
from hookline.config import Config
from hookline.contract.text import tell
from hookline.extras import install_command
from hookline.history.made import Fate, MadeCall
from hookline.history.transcripts import AGENTS, OWN, find_transcripts, read_transcript
from hookline.log.entry import LogQuery
from hookline.log.reader import LogReader
from hookline.proof.canary import Flight, canary_at, command_line, fly_own, is_canary, wait_for
from hookline.proof.causes import Causes
from hookline.proof.evidence import read_evidence
from hookline.proof.reconcile import reconcile
from hookline.proof.standing import agent_words, known_versions
from hookline.settings.paths import default_paths

EXIT_NOTHING = 2
_OWN_S = 180.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument(
        "agent",
        nargs="?",
        metavar="AGENT",
        choices=(OWN, *hosts()),
        help=f"{', '.join((OWN, *hosts()))} (default: all transcripts, and the canary of our own agent)",
    )
    parser.add_argument("--no-canary", action="store_true", help="only compare the transcripts with the log")
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=at_least(0, float),
        default=120.0,
        help="how long to wait for another agent's canary (default: 120)",
    )
    parser.add_argument("--since", metavar="WHEN", default="7d", help="calls that are not older (default: 7d)")
    parser.add_argument("--session", metavar="ID", help="calls of this session")
    add_common_options(parser, settings=False, dialect=False)


def run(given: argparse.Namespace) -> int:
    """Prints the proof; the exit code is 1 when a call was not judged, or a canary not denied."""
    config = make_config(given, log_file=False)
    time_of("--since", given.since)  # a wrong word is said before anybody waits for a canary
    flight = None if given.no_canary else _fly(given, config)
    agents = [given.agent] if given.agent else [OWN, *AGENTS]
    proofs = [proof for agent in agents if (proof := _compare(given, config, agent)) is not None]
    with LogReader(recorded_in(config)) as reader:
        statistics = reader.statistics(LogQuery(kinds=frozenset({"hook"})))
    words = agent_words(Path(config.get_working_dir()), statistics, hooks_enabled=config.get_enable_hooks())
    unread = [hosts()[agent].agent for agent in _without_transcripts(given, words)]
    report: dict[str, Any] = {
        "canary": None if flight is None else flight_report(flight),
        "agents": [proof_report(proof) for proof in proofs],
        "noTranscripts": unread,
        "words": words,
        "versions": known_versions(),
    }
    print_report(given, report, _lines(flight, proofs, words, unread))
    if (flight is not None and not flight.denied) or any(proof.bad for proof in proofs):
        return 1
    return 0 if flight is not None or any(proof.findings for proof in proofs) else EXIT_NOTHING


def _lines(
    flight: Flight | None, proofs: list[AgentProof], words: list[dict[str, Any]], unread: list[str]
) -> Iterator[str]:
    if flight is not None:
        yield from flight_lines(flight)
    yield from proof_lines(proofs, words, unread)


def _without_transcripts(given: argparse.Namespace, words: list[dict[str, Any]]) -> list[str]:
    """The agents that are asked about, or in use here, and whose transcripts hookline can't read."""
    meant = [given.agent] if given.agent else [row["agent"] for row in words]
    return [agent for agent in meant if agent != OWN and agent not in AGENTS]


def _fly(given: argparse.Namespace, config: Config) -> Flight | None:
    path = default_paths(config.get_working_dir()).canary
    agent, log = given.agent or OWN, recorded_in(config)
    if agent != OWN:
        with canary_at(path, given.wait) as canary:
            say = tell if given.json else print_lines
            say(f"Run this in {config.get_working_dir()}, in another terminal, within {given.wait:g} s:")
            say(f"  {command_line(agent, canary)}")
            return wait_for(agent, canary, log, given.wait)
    if find_spec("google") is None or find_spec("google.genai") is None:
        if given.agent:
            return Flight(
                agent=OWN, denied=False, message=f"our own agent is not installed; run: {install_command('agent')}"
            )
        return None
    with canary_at(path, _OWN_S) as canary:
        return fly_own(canary, log, config.get_working_dir())


def _compare(given: argparse.Namespace, config: Config, agent: str) -> AgentProof | None:
    """The calls of an agent against the log; None for an agent without transcripts that we can read."""
    if agent != OWN and agent not in AGENTS:
        return None
    since, unread = time_of("--since", given.since), 0
    by_id: dict[tuple[str, str], MadeCall] = {}
    found = find_transcripts(agent)
    for path in found.files:
        transcript = read_transcript(agent, path)
        unread += transcript.unread
        # Some versions repeat a subagent's calls in the session's transcript.
        for call in transcript.calls:
            known = by_id.get((call.session, call.id))
            if _is_wanted(call, since, given.session) and (known is None or known.fate is not Fate.RAN):
                by_id[call.session, call.id] = call
    calls = list(by_id.values())
    clean = config.get_redactor().clean
    log = recorded_in(config)
    evidence = read_evidence(log, {call.session for call in calls}, clean, since)
    findings = list(reconcile(calls, evidence, clean, Causes(log).why_missing))
    return AgentProof(
        agent=agent,
        name="hookline agent" if agent == OWN else hosts()[agent].agent,
        findings=findings,
        refused=sum(call.fate is Fate.REFUSED for call in calls),
        opened=sum(call.fate is Fate.OPEN for call in calls),
        unread=unread,
        versions=tuple(sorted({call.version for call in calls if call.version})),
        unknown=found.unknown_since(since),
    )


def _is_wanted(call: MadeCall, since: str | None, session: str | None) -> bool:
    is_recent = since is None or not call.time or call.time >= since
    return is_recent and session in (None, call.session) and not is_canary(call)
