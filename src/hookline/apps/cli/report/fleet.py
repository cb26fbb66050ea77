"""Machines, policies and verified records of a fleet, for users and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hookline.apps.cli.report.style import style
from hookline.fleet.health.heartbeat import Heartbeat
from hookline.fleet.health.status import MachineStatus
from hookline.fleet.policy.documents import Bundle, Document, SignedDocument, Switches, now, show_moment
from hookline.fleet.record.verify import AuditResult, SourceReport, Window
from hookline.protocol.text.json_text import utc_timestamp
from hookline.protocol.text.readable import one_line, plural
from hookline.settings.read.policy_state import show_time

_MOST_PROBLEMS = 10
_MOST_FINDINGS = 20


def machines_report(found: Sequence[MachineStatus]) -> dict[str, Any]:
    """The machines as JSON."""
    return {
        "machines": [
            {
                **msgspec.to_builtins(status),
                "lastSeen": None if status.last_seen is None else utc_timestamp(status.last_seen),
                "ok": not status.problems,
            }
            for status in found
        ],
        "silent": sum(status.is_silent for status in found),
        "outdated": sum(status.is_outdated for status in found),
        "unguarded": sum(status.is_unguarded for status in found),
    }


def machines_lines(found: Sequence[MachineStatus]) -> Iterator[str]:
    """The machines, those with problems in full."""
    good = [status for status in found if not status.problems]
    for status in found:
        if status.problems:
            yield f"{style.bold(_name(status))}{style.dim(_facts(status.beat))}"
            for problem in status.problems[:_MOST_PROBLEMS]:
                yield style.bad(one_line(f"  {problem}"))
            if len(status.problems) > _MOST_PROBLEMS:
                yield style.bad(f"  and {plural(len(status.problems) - _MOST_PROBLEMS, 'more problem')}")
    for status in good:
        yield f"{_name(status)}{style.dim(_facts(status.beat))}  {style.good('ok')}"
    words = [f"{plural(len(found), 'machine')}", f"{len(good)} without a problem"]
    for count, word in (
        (sum(status.is_silent for status in found), "silent"),
        (sum(status.is_outdated for status in found), "out of date"),
        (sum(status.is_unguarded for status in found), "whose guards do not run"),
    ):
        words += [style.bad(f"{count} {word}")] if count else []
    yield ", ".join(words)


def _name(status: MachineStatus) -> str:
    return one_line(f"{status.machine} {status.user}" + (f" ({status.team})" if status.team not in ("", "all") else ""))


def _facts(beat: Heartbeat | None) -> str:
    if beat is None:
        return ""
    facts = beat.facts
    running = sum(hook.can_run for hook in facts.hooks)
    words = [f"{plural(len(facts.hooks) + facts.more_hooks, 'hook')}, {running} can run"]
    words += [f"policy {facts.policy}"] if facts.policy else []
    if beat.canary is not None:
        words.append(f"canary {'denied' if beat.canary.is_denied else 'NOT denied'}")
    return "  " + one_line(f"{', '.join(words)}, hookline {beat.hookline}")


def document_report(document: Document) -> dict[str, Any]:
    """A document as JSON."""
    common = {"version": document.version, "teams": list(document.teams), "issued": document.issued.isoformat()}
    if isinstance(document, Switches):
        off = [
            {"what": each.what, "hook": each.hook, "reason": each.reason, "expires": each.expires.isoformat()}
            for each in document.switches
        ]
        return {"kind": "switches", **common, "off": off}
    files = {name: file.sha256 for name, file in sorted(document.files.items())}
    return {"kind": "bundle", **common, "expires": document.expires.isoformat(), "files": files}


def document_lines(document: Document) -> Iterator[str]:
    """A document for people."""
    teams = ", ".join(map(one_line, document.teams))
    if isinstance(document, Bundle):
        yield f"bundle version {document.version} for {teams}, until {show_moment(document.expires)}"
        for name, file in sorted(document.files.items()):
            yield style.dim(f"  {one_line(name)}  sha256 {file.sha256[:16]}…")
        return
    yield f"switches version {document.version} for {teams}"
    if not document.switches:
        yield "  nothing is off"
    for each in document.switches:
        state = "off until" if each.expires > now() else "expired on"
        yield f"  {one_line(each.shown)}: {state} {show_moment(each.expires)}: {one_line(each.reason)}"


def signed_lines(envelope: SignedDocument, keys: Sequence[str]) -> Iterator[str]:
    """Yield the keys in the signatures of a document."""
    known = [each.key for each in envelope.signatures if each.key in keys]
    others = len(envelope.signatures) - len(known)
    for key in known:
        yield f"signed by {one_line(key)}"
    if others:
        yield style.dim(f"{plural(others, 'signature')} of other keys")


def status_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the state of the policy on this machine, for users."""
    if report["version"] is None:
        yield style.warn("No policy is in force.")
    else:
        until = show_time(report["expires"])
        yield style.bold(
            f"Version {report['version']} is in force until {until}, for the team {one_line(report['team'])}."
        )
        yield f"  signed by {one_line(report['signedBy'] or '')}"
    yield style.dim(f"  {one_line(report['directory'])}; when it has expired: {report['onExpiry']}")
    if report["managedOnly"]:
        yield "Only its own hooks run (managedOnly)."
    for problem in report["problems"]:
        yield style.warn(one_line(problem))
    for name, why in report["hooksOff"].items():
        yield style.warn(f"hook {one_line(name)} is off by {one_line(why)}")
    for hook in report["hooks"]:
        mark = ", required" if hook["required"] else ""
        yield f"  {hook['event']}  {one_line(hook['hook'])}{mark}"
        if hook["fails"]:
            yield style.bad(f"    {one_line(hook['fails'])}")


def audit_report(done: AuditResult, window: Window) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "intact": done.is_intact,
        "since": window.since,
        "until": window.until,
        "findings": done.findings,
        "machines": [
            {
                **msgspec.to_builtins(report),
                "source": msgspec.structs.asdict(report.source),
                "last": report.last and report.last._asdict(),
                "proven": report.proven and report.proven._asdict(),
                "notChecked": list(_unchecked(report, window)),
            }
            for report in done.sources
        ],
        "notChecked": list(_NEVER_CHECKED),
    }


def audit_lines(done: AuditResult, window: Window) -> Iterator[str]:
    """The report as lines."""
    for report in done.sources:
        yield from _source_lines(report, window)
    yield from _findings(done.findings, "")
    if done.is_intact:
        gaps = sum(len(report.gaps) for report in done.sources)
        more = f", but for {plural(gaps, 'gap')} that a machine declared" if gaps else ""
        unsigned = sum(report.records > 0 and report.proven is None for report in done.sources)
        if unsigned:
            what = f"nothing of {plural(unsigned, 'log')} is signed, and without a signature hashes prove little"
            yield style.warn(f"Intact by the hashes alone{more}: {what}.")
        else:
            yield style.good(f"Intact: no record was changed, removed or invented{more}.")
    else:
        count = len(done.findings) + sum(len(report.findings) for report in done.sources)
        yield style.bad(f"Not intact: {plural(count, 'finding')}.")
    for sentence in _NEVER_CHECKED:
        yield f"Not checked: {sentence}."


def _source_lines(report: SourceReport, window: Window) -> Iterator[str]:
    yield style.bold(one_line(str(report.source)))
    if report.last is not None:
        times = f"{report.first_time} to {report.last_time}"
        asked = f", {report.in_window} of them in the time asked for" if window != Window() else ""
        yield f"  {plural(report.records, 'record')}{asked}: {report.first} to {report.last.seq}, {one_line(times)}"
    yield from _findings(report.findings, "  ")
    for gap in report.gaps:
        count = plural(gap.last - gap.first + 1, "record")
        yield style.warn(f"  Gap: {gap.first} to {gap.last} ({count}) were dropped on the machine, which declared it")
    if report.proven is not None:
        signed = f"the machine signed record {report.proven.seq} at {one_line(str(report.proven_time))}, and it is here"
        yield f"  Checked: every hash, and {plural(report.anchors, 'signed head')}; {signed}"
    elif report.records:
        yield "  Checked: every hash"
    if report.again:
        yield f"  {plural(report.again, 'record')} came more than once, unchanged"
    for sentence in _unchecked(report, window):
        yield f"  Not checked: {one_line(sentence)}"


def _findings(findings: list[str], indent: str) -> Iterator[str]:
    for finding in findings[:_MOST_FINDINGS]:
        yield style.bad(f"{indent}{one_line(finding)}")
    if len(findings) > _MOST_FINDINGS:
        yield style.bad(f"{indent}and {plural(len(findings) - _MOST_FINDINGS, 'more finding')}")


def _unchecked(report: SourceReport, window: Window) -> Iterator[str]:
    if (report.first or 1) > 1:
        yield f"records before {report.first}: what was read begins there"
    if report.older_anchors:
        yield f"{plural(report.older_anchors, 'signed head')} older than what was read"
    if report.incomplete:
        yield f"{plural(report.incomplete, 'line')} that a program was ended in the middle of"
    last = report.last.seq if report.last else 0
    if report.records and report.proven is None and report.key is not None:
        yield "whether all hashes were recomputed: no record that the machine signed is here"
    elif report.records and report.proven is None:
        yield "whether the end was cut off, or all hashes were recomputed: no signed head is there"
    elif report.proven is not None and report.proven.seq < last:
        after = f"record{'s' if last > report.proven.seq + 1 else ''} {report.proven.seq + 1} to {last}"
        yield f"whether {after} are the machine's: it has not signed a later head yet"
    if window.until is not None and (report.proven_time or "") < window.until:
        yield f"whether the machine had more records from before {window.until}, and has not sent them yet"
    if report.key is not None and not report.knows_key:
        yield f"whether {report.key[:16]}… is the machine's key: it is the first that was seen; --keys lists them"


_NEVER_CHECKED = (
    "whether everything that happened was logged; hookline fleet status shows machines whose guards do not run",
)
