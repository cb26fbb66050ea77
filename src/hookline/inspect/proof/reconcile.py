"""Calls of transcripts and evidence of the log → what each call has in the log."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hookline.bridge.transcript_events import events_for_call
from hookline.dialects.transcripts.tool_call import Fate, MadeCall
from hookline.inspect.proof.evidence import Asked, Clean, Evidence, SessionEvidence, digest_of
from hookline.protocol.verdict import SkipKind


class Standing(StrEnum):
    """The state of a call in the log."""

    JUDGED = "judged"
    NO_HOOK = "no hook is for it"
    NEVER_ASKED = "of tools that the agent asks no hook about"
    UNKNOWN = "older than the log"
    UNJUDGED = "not judged"
    OVERRULED = "denied, and ran all the same"


# The worst of a patch's files stands for the patch.
_WORST = (
    Standing.OVERRULED,
    Standing.UNJUDGED,
    Standing.UNKNOWN,
    Standing.NEVER_ASKED,
    Standing.NO_HOOK,
    Standing.JUDGED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinding:
    """One call that a transcript says was executed."""

    call: MadeCall
    tool: str
    """The name in hookline's format."""
    standing: Standing
    cause: str = ""
    """One word for the likely cause, such as `bridge`."""
    why: str = ""
    remedy: str = ""


WhyMissing = Callable[[MadeCall, str, SessionEvidence | None], CallFinding]
"""Finds the likely cause why a call is not in the log."""


def reconcile(
    calls: Iterable[MadeCall], evidence: Evidence, clean: Clean, why_missing: WhyMissing
) -> Iterator[CallFinding]:
    """A finding for each call that ran; calls that were refused take what the log has of them."""
    by_session: defaultdict[str, list[MadeCall]] = defaultdict(list)
    for call in calls:
        by_session[call.session].append(call)
    for session, made in by_session.items():
        matcher = _Matcher(evidence.sessions.get(session), evidence, clean, why_missing)
        # A call that was denied and then allowed is there twice: the denied one takes the deny.
        for call in made:
            if call.fate is Fate.REFUSED:
                matcher.take(call)
        for call in made:
            if call.fate is Fate.RAN:
                yield matcher.find(call)


class _Matcher:
    """Gives each decision of a session to one call."""

    def __init__(
        self, session: SessionEvidence | None, evidence: Evidence, clean: Clean, why_missing: WhyMissing
    ) -> None:
        self._session = session
        self._evidence = evidence
        self._clean = clean
        self._why_missing = why_missing
        self._quiet: Counter[tuple[str, str]] = Counter() if session is None else session.quiet.copy()
        self._by_tool: defaultdict[str, list[Asked]] = defaultdict(list)
        for asked in () if session is None else session.asked:
            self._by_tool[asked.tool].append(asked)

    def take(self, call: MadeCall) -> None:
        """Uses up what belongs to a call that did not run."""
        for question in events_for_call(call):
            self._decision(question, prefers_blocked=True)

    def find(self, call: MadeCall) -> CallFinding:
        """Return the finding for a call that ran: the worst of its parts."""
        found = [self._find(call, question) for question in events_for_call(call)]
        return min(found, key=lambda finding: _WORST.index(finding.standing))

    def _find(self, call: MadeCall, question: Any) -> CallFinding:
        tool = str(question["tool_name"])
        asked = self._decision(question, prefers_blocked=False)
        if asked is None:
            return self._not_asked(call, tool)
        if asked.blocked:
            why = f"a hook denied it (hookline log {asked.fire}), and the agent ran it"
            remedy = "see whether a later version of the agent keeps to its hooks, and tell its makers"
            return CallFinding(
                call=call, tool=tool, standing=Standing.OVERRULED, cause="overruled", why=why, remedy=remedy
            )
        if asked.failed:
            why = f"{'; '.join(asked.failed)}, so nothing was decided (hookline log {asked.fire})"
            remedy = 'give it more time, fix it, or set its onError to "block"'
            return CallFinding(
                call=call, tool=tool, standing=Standing.UNJUDGED, cause="hook failed", why=why, remedy=remedy
            )
        return CallFinding(call=call, tool=tool, standing=Standing.JUDGED)

    def _decision(self, question: Any, *, prefers_blocked: bool) -> Asked | None:
        digest = digest_of(self._clean(question["tool_input"]))
        free = [asked for asked in self._by_tool[str(question["tool_name"])] if not asked.is_used]
        same = [asked for asked in free if digest is not None and digest in (asked.digest, asked.rewritten)]
        # Where the log does not have the arguments whole, the order decides.
        fitting = same or [asked for asked in free if asked.digest is None or digest is None]
        chosen = next((asked for asked in fitting if asked.blocked is prefers_blocked), None)
        if chosen is None and not prefers_blocked:
            chosen = next(iter(fitting), None)
        if chosen is not None:
            chosen.is_used = True
        return chosen

    def _not_asked(self, call: MadeCall, tool: str) -> CallFinding:
        key = next((key for key, count in self._quiet.items() if key[0] == tool and count), None)
        if key is not None:
            self._quiet[key] -= 1
            return _quiet_finding(call, tool, key[1])
        begins = self._evidence.begins
        if self._session is None and begins is not None and call.time and call.time < begins:
            why = f"the log begins at {begins}"
            return CallFinding(call=call, tool=tool, standing=Standing.UNKNOWN, cause="log", why=why)
        return self._why_missing(call, tool, self._session)


def _quiet_finding(call: MadeCall, tool: str, reason: str) -> CallFinding:
    """The hooks were asked and none ran: because none is for the tool, or because one was kept from running."""
    kinds = (SkipKind.DISABLED, SkipKind.UNTRUSTED)
    kept = next((kind for kind in kinds if kind in reason), None)
    if kept is None:
        return CallFinding(call=call, tool=tool, standing=Standing.NO_HOOK, cause="no hook", why=reason)
    remedy = "hookline enable HOOK" if kept is SkipKind.DISABLED else "hookline trust"
    why = f"a hook that may be for it did not run ({reason})"
    return CallFinding(call=call, tool=tool, standing=Standing.UNJUDGED, cause=kept.value, why=why, remedy=remedy)


def grouped(findings: Sequence[CallFinding]) -> dict[tuple[str, str], list[CallFinding]]:
    """Findings by cause and reason, the most frequent first."""
    groups: defaultdict[tuple[str, str], list[CallFinding]] = defaultdict(list)
    for finding in findings:
        groups[finding.cause, finding.why].append(finding)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))
