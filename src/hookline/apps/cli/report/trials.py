"""The decisions that hooks in shadow mode would have made, for `log --stats --shadow`, the fleet and the page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookline.apps.cli.report.style import style
from hookline.inspect.proof.shadow import Sequel, TriedHook
from hookline.protocol.constants import ConfigSource
from hookline.protocol.text.readable import cut, one_line, plural, show_ms, show_place

_LONGEST = 120
_MOST_NAMES = 10
_TEXTS = ("id", "time", "subject", "stdin", "stdout", "stderr")
_SEQUELS = {
    Sequel.RAN: "ran",
    Sequel.REFUSED: "refused by the user or a rule of the agent",
    Sequel.BLOCKED: "blocked by another hook",
    Sequel.UNKNOWN: "passed, and it is not known what then happened",
}
NO_TRIALS = 'No run of a hook in the mode shadow is recorded; "mode": "shadow" on a hook tries it out.'


def trial_report(tried: TriedHook) -> dict[str, Any]:
    """One hook as JSON."""
    blocked = tried.count(Sequel.BLOCKED)
    return {
        "event": tried.event,
        "hook": tried.hook,
        "origin": tried.origin,
        "source": tried.source,
        "mode": tried.mode,
        "runs": tried.runs,
        "failures": tried.failures,
        "p95": tried.durations.quantile(0.95),
        "wouldBlock": tried.would["block"],
        "wouldStop": tried.would["stop"],
        "wouldAsk": tried.would["ask"],
        "wouldChange": tried.would["change"],
        "keptBack": len(tried.calls),
        "wentOn": len(tried.calls) - blocked,
        "sequels": {sequel.value: tried.count(sequel) for sequel in Sequel},
        "repeated": tried.repeated,
        "sessions": len({call.session for call in tried.calls}),
        "machines": len(tried.machines),
        "tools": _counts(call.subject for call in tried.calls),
        "agents": _counts(call.asker or "unknown" for call in tried.calls),
        "people": _counts(call.person for call in tried.calls if call.person),
        "since": tried.since,
        "lastRun": tried.last,
        "examples": [
            {**{name: record.get(name) for name in _TEXTS}, "fire": call.fire, "sequel": call.sequel.value}
            for call, record in tried.newest
        ],
        "promote": _promote(tried),
    }


def trial_lines(report: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The hooks for people."""
    if not report:
        yield NO_TRIALS
    for entry in report:
        title = f"{entry['event']} {one_line(entry['hook'])} ({one_line(entry['mode'])})"
        yield f"{style.bold(title)}  {style.dim(show_place(entry['origin']))}"
        where = f" on {plural(entry['machines'], 'machine')}" if entry["machines"] else ""
        yield (
            f"  {plural(entry['runs'], 'run')}{where} since {one_line(entry['since'])}: would have blocked "
            f"{entry['wouldBlock']}, asked about {entry['wouldAsk']}{_rarely(entry)}; "
            f"{plural(entry['failures'], 'failure')}, p95 {show_ms(entry['p95'])}"
        )
        if entry["keptBack"]:
            yield from _kept_back(entry)
        for example in entry["examples"]:
            said = cut(one_line(_said(example)), _LONGEST)
            yield style.dim(f"    {example['time']}  {said}  → {example['sequel']}  ({example['id']})")
        yield f"  {entry['promote']}"
        yield ""


def _counts(names: Any) -> dict[str, int]:
    return dict(Counter(names).most_common())


def _rarely(entry: Mapping[str, Any]) -> str:
    rare = (("stopped the agent at", "wouldStop"), ("changed", "wouldChange"))
    return "".join(f", {word} {entry[name]}" for word, name in rare if entry[name])


def _kept_back(entry: Mapping[str, Any]) -> Iterator[str]:
    counts = [f"{entry['sequels'][sequel.value]} {words}" for sequel, words in _SEQUELS.items()]
    became = "; ".join(count for count in counts if not count.startswith("0 "))
    again = entry["repeated"]
    repeated = f" ({again} the same as an earlier one of the session)" if again else ""
    yield f"  of these {entry['keptBack']}{repeated}: {became}"
    yield f"  in {plural(entry['sessions'], 'session')}: {_named(entry['tools'])}; asked by {_named(entry['agents'])}"
    if entry["people"]:
        yield f"  by {_named(entry['people'])}"


def _named(counts: Mapping[str, int]) -> str:
    shown = [f"{one_line(name) or 'no subject'} {count}" for name, count in list(counts.items())[:_MOST_NAMES]]
    more = len(counts) - _MOST_NAMES
    return ", ".join([*shown, *([f"{more} more"] if more > 0 else [])])


def _said(example: Mapping[str, Any]) -> str:
    return str(example["stderr"] or example["stdout"] or example["subject"] or "")


def _promote(tried: TriedHook) -> str:
    """Return the change of settings that enforces the hook."""
    if tried.source == ConfigSource.POLICY:
        return "To enforce it, remove its mode in the settings.json of the bundle, and publish that as a new version."
    where = f" ({one_line(tried.location)})" if tried.location else ""
    return f"To enforce it, remove its mode, or that of its group, in {show_place(one_line(tried.origin))}{where}."
