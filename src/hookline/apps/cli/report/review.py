"""The review of a hook before it is trusted: exactly what would run, or what has changed."""

import difflib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookline.apps.cli.report.style import style
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.readable import one_line, show_place, text_lines
from hookline.settings.read.files import open_without_waiting
from hookline.settings.trust.fingerprint import fingerprint
from hookline.settings.trust.store import TrustState, TrustStore, show_uncovered

_MAX_SHOWN_BYTES = 1024 * 1024
_READS = 5


@dataclass(frozen=True, slots=True)
class Review:
    """A hook, and everything that trust would cover as JSON; the digest covers exactly the texts in it."""

    hook: HookEntry
    report: Mapping[str, Any]


def review(hook: HookEntry, line: int | None, project_dir: str, store: TrustStore) -> Review:
    """The hook as it is now."""
    taken = fingerprint(hook, project_dir)
    for _ in range(_READS):
        files = [
            _file(path, digest, store.trusted_text(hook, project_dir, Path(path)))
            for path, digest in taken.hashes.items()
        ]
        before, taken = taken, fingerprint(hook, project_dir)
        if before.digest == taken.digest:
            break
    project = str(Path(project_dir).resolve())
    trusted = [
        record.definition for record in store.records() if record.project_dir == project and record.is_form_of(hook)
    ]
    report = {
        "hook": hook.label,
        "event": hook.event.value,
        "file": hook.origin,
        "line": line,
        "state": store.state_of(hook, project_dir).value,
        "digest": before.digest,
        "definition": dict(before.definition),
        "trustedDefinition": dict(trusted[-1]) if trusted else None,
        "files": files,
        "uncovered": list(taken.uncovered),
    }
    return Review(hook, report)


def review_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the review for users."""
    is_changed = report["state"] == TrustState.CHANGED
    state = "changed since it was trusted" if is_changed else report["state"]
    title = f"{report['event']} {one_line(report['hook'])}"
    yield f"{style.bold(title)}  {style.warn(state)}"
    yield style.dim(f"  {show_place(report['file'], report['line'])}")
    before = report["trustedDefinition"] if is_changed else None
    definition = report["definition"]
    # Also what is gone since then, such as a limit.
    for key in {**definition, **(before or {})}:
        value = definition.get(key)
        was = before.get(key) if before else value
        if was != value:
            yield from map(style.bad, _value_lines(f"  - {key}: ", was))
            yield from map(style.good, _value_lines(f"  + {key}: ", value))
        elif value not in (None, {}, False) or key == "network":
            yield from _value_lines(f"    {key}: ", value)
    if report["uncovered"]:
        yield style.warn(f"  {_sentence(show_uncovered(report['uncovered']))}")
    elif not report["files"]:
        covered = "The command names no file of this project: trust covers the command alone."
        if "url" in definition:
            covered = "Trust covers the URL and the headers, and not what the server answers."
        yield style.dim(f"  {covered}")
    for file in report["files"]:
        yield from _file_lines(file)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{one_line(text[1:])}."


def _file(path: str, digest: str, trusted_text: str | None) -> dict[str, str | None]:
    """A file of a hook's command: its text, or a note if it cannot be shown, and the changes since it was trusted."""
    text = note = diff = None
    try:
        with open_without_waiting(Path(path)) as file:
            size = os.fstat(file.fileno()).st_size
            # No more than can be shown: it may be of any size.
            data = file.read(_MAX_SHOWN_BYTES + 1)
    except OSError as error:
        note = f"cannot be read: {error.strerror}"
    else:
        if len(data) > _MAX_SHOWN_BYTES:
            note = f"is not shown: {size} bytes, SHA-256 {digest}"
        elif hashlib.sha256(data).hexdigest() != digest:
            note = "is changing right now"
        elif b"\0" in data:
            note = f"is not shown: {size} bytes, SHA-256 {digest}"
        else:
            text = data.decode("utf-8", "backslashreplace")
    if text is not None and trusted_text is not None:
        before, after = text_lines(trusted_text), text_lines(text)
        diff = "\n".join(difflib.unified_diff(before, after, "trusted", "now", lineterm=""))
    return {"path": path, "text": text, "diff": diff, "note": note}


def _value_lines(start: str, value: Any) -> Iterator[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    first, *others = text.split("\n")
    yield f"{start}{first}"
    # With a mark, so that no line of a value looks like a line of this report.
    yield from (f"      | {line}" for line in others)


def _file_lines(file: Mapping[str, str | None]) -> Iterator[str]:
    place, text, diff = style.bold(show_place(str(file["path"]))), file["text"], file["diff"]
    if text is None:
        yield f"  {place} {style.warn(str(file['note']))}"
        return
    if diff == "":
        yield f"  {place} {style.dim('has not changed')}"
        return
    yield f"  {place}{' has changed' if diff else ''}:"
    paints = {"+": style.good, "-": style.bad} if diff else {}
    for line in text_lines(diff or text):
        yield f"    {paints.get(line[:1], str)(line)}".rstrip(" ")
