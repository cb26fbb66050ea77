"""Policies for people and for programs: the documents, and what is in force on this machine."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookline.apps.cli.report.style import style
from hookline.fleet.policy.documents import Bundle, Document, SignedDocument, Switches, now, show_moment
from hookline.protocol.text.readable import one_line, plural
from hookline.settings.read.policy_state import show_time


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
    """Who signed a document, as it says itself."""
    known = [each.key for each in envelope.signatures if each.key in keys]
    others = len(envelope.signatures) - len(known)
    for key in known:
        yield f"signed by {one_line(key)}"
    if others:
        yield style.dim(f"{plural(others, 'signature')} of other keys")


def status_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """What is in force on this machine, for people."""
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
