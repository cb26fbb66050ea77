"""The output of `hookline replay --against`: lines, JSON, a summary for a pull request, and a page."""

from collections.abc import Iterator
from html import escape
from typing import Any

from hookline.apps.cli.report.style import style
from hookline.apps.cli.report.text import screen_width
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.text.readable import cut, one_line, plural, show_message, show_place
from hookline.protocol.text.strings import printable
from hookline.testing.backtest.past import LeftOut
from hookline.testing.backtest.run import Change, DecisionChange, Tally

_MOST_SHOWN = 50
_MOST_IN_SUMMARY = 20
_MOST_PLACES = 5
_LONGEST = 300
_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{border:1px solid #8888;padding:.3rem .5rem;text-align:left;
vertical-align:top}th,td:first-child{white-space:nowrap}td{overflow-wrap:anywhere}code{font:14px monospace}
:root{color-scheme:light dark}@media(max-width:45rem){tr:first-child{display:none}td{display:block;border:0}
tr{display:block;border:1px solid #8888;margin:.5rem 0}td:empty{display:none}
td[title]::before{content:attr(title)": "}}"""


def backtest_lines(tally: Tally, left_out: LeftOut, title: str) -> Iterator[str]:
    """Each change, and a sentence about all of them."""
    paints = {DecisionChange.BLOCKS: style.bad, DecisionChange.ALLOWS: style.good, DecisionChange.ASKS: style.warn}
    for change in tally.changes[:_MOST_SHOWN]:
        yield f"{paints[change.kind](change.kind.upper())} {cut(one_line(_what(change)), screen_width() - 8)}"
        yield style.dim(f"    {cut(one_line(_why(change)), screen_width() - 4)}")
        yield style.dim(f"    {cut(show_message(f'{change.past.time} {change.past.origin}'), screen_width() - 4)}")
    hidden = sum(tally.counts.values()) - min(len(tally.changes), _MOST_SHOWN)
    if hidden > 0:
        yield style.warn(f"… {hidden} more (--json shows more of them)")
    for note in _notes(tally, left_out):
        yield style.dim(one_line(note))
    yield f"{one_line(title)}: {sentence(tally)}"


def sentence(tally: Tally) -> str:
    """Return the result in one sentence."""
    if not tally.events:
        return "nothing happened that could be judged"
    blocks, frees, asks = (tally.counts[kind] for kind in DecisionChange)
    changed = f"blocks {blocks} more, frees {frees}" + (f", asks about {asks} more" if asks else "")
    made = f"of {plural(tally.made, 'call')} that {'was' if tally.made == 1 else 'were'} made"
    return f"{changed}; {made}, {tally.refused_now} would now be refused"


def backtest_report(tally: Tally, left_out: LeftOut, title: str) -> dict[str, Any]:
    """Return the result for programs."""
    return {
        "title": title,
        "events": tally.events,
        "inputs": tally.judged,
        "made": tally.made,
        "refusedNow": tally.refused_now,
        "notTried": tally.untried,
        "whyNotTried": tally.why_untried or None,
        **{kind.value: count for kind, count in tally.counts.items()},
        "changes": [_change_report(change) for change in tally.changes],
        "leftOut": {
            "notRecorded": left_out.not_recorded,
            "elsewhere": left_out.elsewhere,
            "unread": left_out.unread,
            "unknownPlaces": left_out.unknown,
        },
    }


def markdown_lines(tally: Tally, left_out: LeftOut, title: str) -> Iterator[str]:
    """A summary for a pull request."""
    yield f"### hookline replay: {_cell(title)}"
    yield ""
    yield f"**{_cell(sentence(tally))}** ({plural(tally.events, 'event')})"
    if tally.changes:
        yield ""
        yield "| | call | decided by | reason |"
        yield "|---|---|---|---|"
    for change in tally.changes[:_MOST_IN_SUMMARY]:
        by, reason = ", ".join(change.now.by), change.now.reason
        yield f"| {change.kind} | <code>{_cell(_what(change))}</code> | {_cell(by)} | {_cell(reason)} |"
    yield ""
    yield from (f"- {_cell(note)}" for note in _notes(tally, left_out))


def html_page(tally: Tally, left_out: LeftOut, title: str) -> str:
    """A page that needs nothing from outside."""
    rows = "".join(
        f"<tr><td>{escape(change.kind)}</td><td><code>{escape(printable(_what(change)))}</code></td>"
        f'<td title="decided by">{escape(printable(", ".join(change.now.by)))}</td>'
        f'<td title="reason">{escape(printable(change.now.reason))}</td>'
        f"<td>{escape(printable(f'{change.past.time} {change.past.origin}'))}</td></tr>\n"
        for change in tally.changes
    )
    notes = "".join(f"<li>{escape(printable(note))}</li>" for note in _notes(tally, left_out))
    head = "<tr><th></th><th>call</th><th>decided by</th><th>reason</th><th>when and where</th></tr>"
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>hookline replay</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{_STYLE}</style>\n'
        f"<h1>{escape(printable(title))}</h1><p>{escape(sentence(tally))}</p><ul>{notes}</ul>\n"
        f"<table>{head}\n{rows}</table></html>\n"
    )


def _what(change: Change) -> str:
    fields = change.past.fields
    tool, arguments = fields.get("tool_name"), fields.get("tool_input")
    about = f"{tool} {_json(arguments)}" if tool else f"{change.past.event} {_json(dict(fields))}"
    return cut(about, _LONGEST)


def _why(change: Change) -> str:
    by = ", ".join(change.now.by) or "no hook"
    return f"{change.before} → {change.now.outcome}, {by}: {change.now.reason or 'no reason given'}"


def _notes(tally: Tally, left_out: LeftOut) -> Iterator[str]:
    if tally.untried:
        yield f"{plural(tally.untried, 'event')} not tried: {tally.why_untried}"
    if left_out.not_recorded:
        yield f"{plural(left_out.not_recorded, 'event')} left out, because the input is not in the log"
    if left_out.elsewhere:
        yield f"{plural(left_out.elsewhere, 'event')} of other projects left out (--all-projects)"
    if left_out.unread:
        yield f"{plural(left_out.unread, 'line')} of transcripts can't be read"
    for place in left_out.unknown[:_MOST_PLACES]:
        yield f"{show_place(place)}: a place or form of transcripts that is not known; it may hold calls"
    if len(left_out.unknown) > _MOST_PLACES:
        yield f"… and {len(left_out.unknown) - _MOST_PLACES} more such places (--json shows all)"


def _change_report(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind.value,
        "event": change.past.event.value,
        "input": dict(change.past.fields),
        "time": change.past.time,
        "origin": change.past.origin,
        "before": change.before.value,
        "now": change.now.outcome and change.now.outcome.value,
        "decidedBy": list(change.now.by),
        "reason": change.now.reason,
    }


def _json(value: Any) -> str:
    return stringify_json(value).decode("utf-8", "replace")


def _cell(text: str) -> str:
    """Return untrusted text for a table of Markdown: it starts no cell, line, tag, link or mention."""
    safe = escape(" ".join(printable(text[:_LONGEST]).split()))
    marks = {"|": "&#124;", "`": "&#96;", "[": "&#91;", "]": "&#93;", "@": "&#64;", "*": "&#42;", "_": "&#95;"}
    return "".join(marks.get(letter, letter) for letter in safe)
