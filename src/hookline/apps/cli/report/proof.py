"""The output of `hookline doctor --prove`, and the evidence in `doctor` and `list`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline.apps.cli.report.style import style
from hookline.apps.cli.report.text import screen_width
from hookline.inspect.proof.canary import Flight
from hookline.inspect.proof.causes import unknown_version
from hookline.inspect.proof.coverage import known_versions, show_evidence_words
from hookline.inspect.proof.reconcile import CallFinding, Standing, grouped
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.text.readable import cut, one_line, plural, show_message, show_place

_MOST_SHOWN = 5
_MAY_HOLD = "it may hold calls that are not compared"
_BAD = (Standing.OVERRULED, Standing.UNJUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProof:
    """The calls of one agent, and what the log has about them."""

    agent: str
    name: str
    findings: Sequence[CallFinding]
    refused: int
    opened: int
    unread: int
    versions: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    """Files and directories among its transcripts that are in an unknown place or form."""

    @property
    def bad(self) -> list[CallFinding]:
        """The calls that ran without a decision, or against one."""
        return [finding for finding in self.findings if finding.standing in _BAD]

    @property
    def unknown_versions(self) -> list[str]:
        """The messages about versions that were not checked."""
        return [problem for version in self.versions if (problem := unknown_version(self.agent, version))]

    def count(self, standing: Standing) -> int:
        """Return the number of calls with this standing."""
        return sum(finding.standing is standing for finding in self.findings)


def flight_lines(flight: Flight) -> Iterator[str]:
    """Yield the result of the canary."""
    word = style.good("DENIED") if flight.denied else style.bad("NOT PROVED")
    place = f" (hookline log {flight.log_id})" if flight.log_id else ""
    yield f"{word} canary through {one_line(flight.agent)}: {show_message(flight.message)}{place}"
    if not flight.denied:
        yield f"    hookline doctor{'' if flight.agent == 'hookline' else f', hookline bridge status {flight.agent}'}"
    yield ""


def flight_report(flight: Flight) -> dict[str, Any]:
    """The same for programs."""
    return {
        "agent": flight.agent,
        "denied": flight.denied,
        "message": flight.message,
        "event": flight.log_id,
        "seconds": round(flight.seconds, 1),
    }


def proof_lines(
    proofs: Sequence[AgentProof], words: Sequence[Mapping[str, Any]], unread: Sequence[str] = ()
) -> Iterator[str]:
    """Yield for each agent a sentence, its evidence, and the calls without a decision."""
    for name in unread:
        yield style.warn(
            f"{name}: hookline reads no transcripts of it, so calls that ran are not compared with the log"
        )
    for proof in proofs:
        if proof.findings or proof.unread or proof.unknown:
            yield from _agent_lines(proof)
    if proofs and not any(proof.findings for proof in proofs):
        yield "No transcript has a call that ran in that time."
    yield from word_lines(words)
    versions = (f"{row['name']} {row['version']}{'' if row['wasRun'] else ' (not run)'}" for row in known_versions())
    yield style.dim(f"contracts checked with {', '.join(versions)}")


def _agent_lines(proof: AgentProof) -> Iterator[str]:
    judged, calls = proof.count(Standing.JUDGED), plural(len(proof.findings), "call")
    parts = [f"{judged} judged"]
    for standing in (Standing.NO_HOOK, Standing.UNKNOWN):
        parts += [f"{count} {standing}"] if (count := proof.count(standing)) else []
    if unasked := [finding for finding in proof.findings if finding.standing is Standing.NEVER_ASKED]:
        tools = ", ".join(sorted({finding.call.tool for finding in unasked}))
        parts.append(style.warn(f"{len(unasked)} {Standing.NEVER_ASKED} ({one_line(tools)})"))
    paint = style.bad if proof.bad else style.good
    parts += [paint(f"{count} {standing}") for standing in _BAD if (count := proof.count(standing))]
    yield f"{style.bold(proof.name)}: {paint(calls)} that ran, {', '.join(parts)}"
    others = [(proof.refused, "refused"), (proof.opened, "without a result yet")]
    if more := ", ".join(f"{count} {word}" for count, word in others if count):
        yield style.dim(f"  besides: {more}")
    if proof.unread:
        yield style.warn(f"  {plural(proof.unread, 'line')} of its transcripts can't be read, and may hold calls")
    yield from _unknown_places(proof.unknown)
    for problem in proof.unknown_versions:
        yield style.warn(f"  {one_line(problem)}")
    for (cause, why), found in grouped(proof.bad).items():
        yield f"  {style.bad(found[0].standing.upper())} {plural(len(found), 'call')}, {cause}: {one_line(why)}"
        if found[0].remedy:
            yield f"    {one_line(found[0].remedy)}"
        yield from (f"      {cut(_call(finding), screen_width() - 6)}" for finding in found[:_MOST_SHOWN])
        if len(found) > _MOST_SHOWN:
            yield style.dim(f"      … {len(found) - _MOST_SHOWN} more (--json shows all)")
    yield ""


def _unknown_places(places: Sequence[str]) -> Iterator[str]:
    for place in places[:_MOST_SHOWN]:
        yield style.warn(
            f"  {one_line(show_place(place))}: a place or form of transcripts that is not known; {_MAY_HOLD}"
        )
    if len(places) > _MOST_SHOWN:
        yield style.warn(f"  … and {len(places) - _MOST_SHOWN} more such places (--json shows all)")


def _call(finding: CallFinding) -> str:
    call = finding.call
    arguments = stringify_json(dict(call.arguments)).decode("utf-8", "replace")
    return one_line(f"{call.time} {call.tool} {arguments[:200]} ({show_place(call.origin)})")


def word_lines(words: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each agent: configured, observed, enforced."""
    width = max((len(row["name"]) for row in words), default=0)
    for row in words:
        yield f"{style.bold(row['name'].ljust(width))}  {show_evidence_words(row)}"
        if row.get("problem"):
            yield style.warn(f"  {one_line(row['problem'])}")


def proof_report(proof: AgentProof) -> dict[str, Any]:
    """The same for programs: every call that was not judged."""
    return {
        "agent": proof.agent,
        "calls": len(proof.findings),
        "counts": {standing.value: proof.count(standing) for standing in Standing},
        "refused": proof.refused,
        "open": proof.opened,
        "unread": proof.unread,
        "unknownPlaces": list(proof.unknown),
        "versions": list(proof.versions),
        "unknownVersions": proof.unknown_versions,
        "notJudged": [_finding_report(finding) for finding in proof.bad],
    }


def _finding_report(finding: CallFinding) -> dict[str, Any]:
    call = finding.call
    return {
        "standing": finding.standing.value,
        "cause": finding.cause,
        "why": finding.why,
        "remedy": finding.remedy,
        "session": call.session,
        "time": call.time,
        "tool": call.tool,
        "arguments": dict(call.arguments),
        "directory": call.cwd,
        "version": call.version,
        "transcript": call.origin,
    }
