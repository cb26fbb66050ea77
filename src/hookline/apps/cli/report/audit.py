"""What `hookline fleet verify` found, for people and for programs: also what it did not check."""

from collections.abc import Iterator
from typing import Any

import msgspec

from hookline.apps.cli.report.style import style
from hookline.fleet.record.verify import AuditResult, SourceReport, Window
from hookline.protocol.text.readable import one_line, plural

_SHOWN = 20


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
            what = f"nothing of {plural(unsigned, 'log')} is signed, and anybody can compute hashes"
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
    for finding in findings[:_SHOWN]:
        yield style.bad(f"{indent}{one_line(finding)}")
    if len(findings) > _SHOWN:
        yield style.bad(f"{indent}and {plural(len(findings) - _SHOWN, 'more finding')}")


def _unchecked(report: SourceReport, window: Window) -> Iterator[str]:
    if (report.first or 1) > 1:
        yield f"records before {report.first}: what was read begins there"
    if report.older_anchors:
        yield f"{plural(report.older_anchors, 'signed head')} older than what was read"
    if report.incomplete:
        yield f"{plural(report.incomplete, 'line')} that a program was ended in the middle of"
    last = report.last.seq if report.last else 0
    if report.records and report.proven is None and report.key is not None:
        yield "whether all hashes were computed anew: no record that the machine signed is here"
    elif report.records and report.proven is None:
        yield "whether the end was cut off, or all hashes were computed anew: no signed head is there"
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
