"""The tables of docs/other-agents.md, from what the real agents did."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Seen = Mapping[str, Any]
Row = tuple[str, str, Callable[[Seen], str], str]
"""A scene, its title, what is seen → the cell, and the cell of Cursor, by its contract."""

RECORDED = Path(__file__).with_name("recorded.json")
DOCS = Path(__file__).parents[2] / "docs" / "other-agents.md"
_COLUMNS = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "copilot": "Copilot CLI"}
_NEVER = "never asked"


def recorded() -> dict[str, Any]:
    """Return the results of the last recorded run."""
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


def _denied(seen: Seen) -> str:
    if seen["tool"] != "did not run":
        return "**the tool runs**"
    return "denied, the model reads why" if seen["model_told"] else "denied"


def _rewritten(seen: Seen) -> str:
    return "yes" if seen["tool"] == "ran rewritten" else "denied" if seen["tool"] == "did not run" else "**lost**"


def _stopped(seen: Seen) -> str:
    done = "denied" if seen["tool"] == "did not run" else "the tool has run"
    return f"{done}, and it stops" if seen["requests"] == 1 else f"{done}; see below"


def _told(seen: Seen) -> str:
    return "yes" if seen["model_told"] else "lost"


def _shown(seen: Seen) -> str:
    return "yes" if seen["person_told"] else "lost"


def _prompt(seen: Seen) -> str:
    if "requests" not in seen:
        return "the prompt may be sent, no tool runs" if seen["tool"] == "did not run" else "**the tool runs**"
    if seen["requests"]:
        return "**the prompt is sent**"
    return "yes, the user reads why" if seen["person_told"] else "yes, but its reason is not shown"


def _rewritten_prompt(seen: Seen) -> str:
    return "**the prompt is sent**" if seen["requests"] else "blocked"


def _goes_on(seen: Seen) -> str:
    return "yes" if seen["requests"] == 3 and seen["model_told"] else "lost"


def _lost(seen: Seen) -> str:
    return "lost" if seen["lost"] else "yes"


def _message(seen: Seen) -> str:
    return "lost" if seen["lost"] else "yes" if seen["person_told"] else "yes, but not shown headless"


def _ends(seen: Seen) -> str:
    return "yes" if seen["requests"] == 2 else "lost"


def _refuses(seen: Seen) -> str:
    is_refused = seen["requests"] == 0 or seen["tool"] == "did not run"
    return "denies" if is_refused else "**allows**"


def _not_granted(seen: Seen) -> str:
    return "it is not run" if seen["tool"] == "did not run" else "**it is run**"


EFFECTS: Sequence[Row] = (
    ("deny", "deny a tool", _denied, "denied"),
    ("ask", "ask, headless", _denied, "denied"),
    ("stop-tool", "stop, at a tool", _stopped, "denied; see below"),
    ("rewrite", "rewrite arguments", _rewritten, "yes"),
    ("rewrite-patch", "rewrite one file of a patch", _rewritten, "-"),
    ("note-tool", "note or context, before a tool", _told, "lost"),
    ("note-result", "note or context, after a tool", _told, "yes"),
    ("deny-result", "deny, after a tool: the model reads why", _told, "yes"),
    ("replace-result", "another result for the model", _told, "lost"),
    ("stop-result", "stop, after a tool", _stopped, "the tool has run; see below"),
    ("block-prompt", "block a prompt", _prompt, "yes"),
    ("stop-prompt", "stop, at a prompt", _prompt, "yes"),
    ("rewrite-prompt", "rewrite a prompt", _rewritten_prompt, "blocked"),
    ("note-prompt", "context with a prompt", _told, "lost"),
    ("note-start", "context at the start", _told, "yes"),
    ("stop-start", "stop, at the start: no prompt is sent", _prompt, "yes"),
    ("go-on", "continue after the end of a turn", _goes_on, "yes"),
    ("stop-end", "stop, at the end of a turn", _ends, "yes"),
    ("message", "a message for the user, before a tool", _message, "lost"),
    ("suppress", "`suppressOutput`", _lost, "lost"),
    ("request", "change a model's request", _told, _NEVER),
    ("no-request", "answer in place of the model", _shown, _NEVER),
    ("selection", "choose the model's tools", lambda _: "yes", _NEVER),
    ("response", "change a model's answer", _shown, _NEVER),
    ("unasked", "no objection, to a call that needs your yes", _not_granted, "not known"),
    ("unasked-rewrite", "rewrite, of a call that needs your yes", _not_granted, "not known"),
)
FAILURES: Sequence[Row] = (
    ("broken", "can't read the settings", _refuses, "denies"),
    ("broken-prompt", "can't read the settings, at a prompt", _refuses, "denies"),
    ("slow", "has hooks that are slower than its deadline", _refuses, "denies"),
    ("missing", "is missing", _refuses, "denies"),
    ("missing-prompt", "is missing, at a prompt", _refuses, "denies"),
    ("crash", "crashes", _refuses, "denies"),
    ("killed", "is killed", _refuses, "denies"),
    ("too-slow", "is slower than the agent's timeout", _refuses, "denies"),
    ("fail-open", "can't read the settings, with `--fail-open`", _refuses, "**allows**"),
)


def table(head: str, rows: Sequence[Row]) -> str:
    """The table in Markdown."""
    agents = recorded()["agents"]
    titles = [f"{title} {agents[name]['version']}" for name, title in _COLUMNS.items()]
    lines = [f"| {head} | {' | '.join(titles)} | Cursor (not run) |", "|---" * (len(titles) + 2) + "|"]
    for scene, title, cell, cursor in rows:
        seen = [agents[name]["seen"].get(scene) for name in _COLUMNS]
        absent = _NEVER if cursor == _NEVER else "-"
        cells = [absent if one is None else cell(one) for one in seen]
        lines.append(f"| {title} | {' | '.join(cells)} | {cursor} |")
    return "\n".join(lines)


def in_docs(text: str) -> str:
    """Return the page with both tables written again from the record."""
    for name, head, rows in (("effects", "a hook answers", EFFECTS), ("failures", "the bridge", FAILURES)):
        begin, end = f"<!-- {name}: made from tests/live/recorded.json by tools/live.py -->", "<!-- end -->"
        made = f"{begin}\n{table(head, rows)}\n{end}"
        before, found, rest = text.partition(begin)
        if not found:
            raise ValueError(f"{DOCS} needs {begin}")
        text = before + made + rest.partition(end)[2]
    return text
