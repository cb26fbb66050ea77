"""`hookline doctor --prove`: whether hooks judged the calls of agents, by a canary and by their transcripts."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from hookline.apps.cli.log_options import time_of
from hookline.apps.cli.options import make_config
from hookline.apps.cli.report.printer import print_lines, print_report
from hookline.apps.cli.report.proof import AgentProof, flight_lines, flight_report, proof_lines, proof_report
from hookline.bridge.agents import HOSTS
from hookline.client.config import Config
from hookline.dialects.transcripts.find import AGENTS, OWN, find_transcripts, read_transcript
from hookline.dialects.transcripts.tool_call import Fate, MadeCall
from hookline.errors import install_command
from hookline.inspect.hooks import recorded_in
from hookline.inspect.proof.canary import Flight, command_line, fly_own, wait_for
from hookline.inspect.proof.causes import Causes
from hookline.inspect.proof.coverage import agent_words, known_versions
from hookline.inspect.proof.evidence import Clean, read_evidence
from hookline.inspect.proof.reconcile import CallFinding, reconcile
from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader
from hookline.settings.canary import canary_at, is_canary
from hookline.settings.read.paths import default_paths
from hookline.stderr import warn_user

_OWN_S = 180.0


def prove(given: argparse.Namespace) -> int:
    """Print the proof; the exit code is 1 when a call was not judged, or a canary not denied."""
    config = make_config(given, log_file=False)
    time_of("--since", given.since)  # reports a wrong time before the wait for a canary
    flight = None if given.no_canary else _fly(given, config)
    agents = [named] if (named := _agent(given)) else [OWN, *AGENTS]
    proofs = [proof for agent in agents if (proof := _compare(given, config, agent)) is not None]
    with LogReader(recorded_in(config)) as reader:
        statistics = reader.statistics(LogQuery(kinds=frozenset({"hook"})))
    words = agent_words(Path(config.get_working_dir()), statistics, hooks_enabled=config.get_enable_hooks())
    unread = [HOSTS[agent].agent for agent in _without_transcripts(given, words)]
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
    return 0 if flight is not None or any(proof.findings for proof in proofs) else 1


def _agent(given: argparse.Namespace) -> str | None:
    """The agent that was named; None for all."""
    return given.prove if isinstance(given.prove, str) else None


def _lines(
    flight: Flight | None, proofs: list[AgentProof], words: list[dict[str, Any]], unread: list[str]
) -> Iterator[str]:
    if flight is not None:
        yield from flight_lines(flight)
    yield from proof_lines(proofs, words, unread)


def _without_transcripts(given: argparse.Namespace, words: list[dict[str, Any]]) -> list[str]:
    """The agents that are asked about, or in use here, and whose transcripts hookline can't read."""
    meant = [named] if (named := _agent(given)) else [row["agent"] for row in words]
    return [agent for agent in meant if agent != OWN and agent not in AGENTS]


def _fly(given: argparse.Namespace, config: Config) -> Flight | None:
    path = default_paths(config.get_working_dir()).canary
    agent, log = _agent(given) or OWN, recorded_in(config)
    if agent != OWN:
        with canary_at(path, given.wait) as canary:
            say = warn_user if given.json else print_lines
            say(f"Run this in {config.get_working_dir()}, in another terminal, within {given.wait:g} s:")
            say(f"  {command_line(agent, canary)}")
            return wait_for(agent, canary, log, given.wait)
    if find_spec("google") is None or find_spec("google.genai") is None:
        if _agent(given):
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
        name="hookline agent" if agent == OWN else HOSTS[agent].agent,
        findings=[_without_secrets(finding, clean) for finding in findings],
        refused=sum(call.fate is Fate.REFUSED for call in calls),
        opened=sum(call.fate is Fate.OPEN for call in calls),
        unread=unread,
        versions=tuple(sorted({call.version for call in calls if call.version})),
        unknown=found.unknown_since(since),
    )


def _without_secrets(finding: CallFinding, clean: Clean) -> CallFinding:
    """The finding as it is shown: a transcript has secrets that the log leaves out."""
    call = msgspec.structs.replace(finding.call, arguments=clean(dict(finding.call.arguments)))
    return replace(finding, call=call, why=clean(finding.why))


def _is_wanted(call: MadeCall, since: str | None, session: str | None) -> bool:
    is_recent = since is None or not call.time or call.time >= since
    return is_recent and session in (None, call.session) and not is_canary(call)
