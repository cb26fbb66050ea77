"""What a person reviews before trusting a hook: exactly what would run, or what has changed."""

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookline.cli.report.style import style
from hookline.cli.report.text import one_line, show_place
from hookline.contract.hooks import HookEntry
from hookline.contract.text import visible
from hookline.settings.trust import Fingerprint, TrustRecord, TrustState, TrustStore, fingerprint

_MAX_SHOWN_BYTES = 1024 * 1024
_READS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedFile:
    """A file of a hook's command, as it was when the fingerprint was taken."""

    path: str
    text: str | None
    """None if it is not text, cannot be read, or is too long to review."""
    trusted_text: str | None
    note: str

    @property
    def diff(self) -> str | None:
        """The changes since it was trusted, as a unified diff; None if they are not known."""
        if self.text is None or self.trusted_text is None:
            return None
        before, after = _text_lines(self.trusted_text), _text_lines(self.text)
        return "\n".join(difflib.unified_diff(before, after, "trusted", "now", lineterm=""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A hook, and everything that trust would cover."""

    hook: HookEntry
    line: int | None
    state: TrustState
    digest: str
    definition: Mapping[str, Any]
    trusted_definition: Mapping[str, Any] | None
    files: tuple[ReviewedFile, ...]

    def to_dict(self) -> dict[str, Any]:
        """The review as JSON."""
        return {
            "hook": self.hook.label,
            "event": self.hook.event.value,
            "file": self.hook.origin,
            "line": self.line,
            "state": self.state.value,
            "digest": self.digest,
            "definition": dict(self.definition),
            "trustedDefinition": self.trusted_definition and dict(self.trusted_definition),
            "files": [
                {"path": file.path, "text": file.text, "diff": file.diff, "note": file.note or None}
                for file in self.files
            ],
        }


def review(hook: HookEntry, line: int | None, project_dir: str, store: TrustStore) -> Review:
    """The hook as it is now; the digest covers exactly these texts."""
    taken = fingerprint(hook, project_dir)
    files = _files(taken, hook, project_dir, store)
    for _ in range(_READS):
        again = fingerprint(hook, project_dir)
        if again.digest == taken.digest:
            break
        taken, files = again, _files(again, hook, project_dir, store)
    record = _last_record(hook, project_dir, store)
    return Review(
        hook=hook,
        line=line,
        state=store.state_of(hook, project_dir),
        digest=taken.digest,
        definition=taken.definition,
        trusted_definition=record.definition if record else None,
        files=files,
    )


def review_lines(shown: Review) -> Iterator[str]:
    """The review for a person, with control characters escaped."""
    hook = shown.hook
    state = {TrustState.NEW: "new", TrustState.CHANGED: "changed since it was trusted"}.get(shown.state, "trusted")
    yield f"{style.bold(f'{hook.event} {one_line(hook.label)}')}  {style.warn(state)}"
    yield style.dim(f"  {show_place(hook.origin, shown.line)}")
    before = shown.trusted_definition if shown.state is TrustState.CHANGED else None
    for key, value in shown.definition.items():
        was = before.get(key) if before else value
        if was != value:
            yield style.bad(f"  - {key}: {_value(was)}")
            yield style.good(f"  + {key}: {_value(value)}")
        elif value not in (None, {}, False):
            yield f"    {key}: {_value(value)}"
    if not shown.files:
        yield style.dim("  The command names no file of this project: trust covers the command alone.")
    for file in shown.files:
        yield from _file_lines(file)


def _files(taken: Fingerprint, hook: HookEntry, project_dir: str, store: TrustStore) -> tuple[ReviewedFile, ...]:
    return tuple(
        _file(path, digest, store.trusted_text(hook, project_dir, Path(path))) for path, digest in taken.hashes.items()
    )


def _file(path: str, digest: str, trusted_text: str | None) -> ReviewedFile:
    text, note = None, ""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        note = f"cannot be read: {error.strerror}"
    else:
        if hashlib.sha256(data).hexdigest() != digest:
            note = "is changing right now"
        elif b"\0" in data or len(data) > _MAX_SHOWN_BYTES:
            note = f"is not shown: {len(data)} bytes, SHA-256 {digest}"
        else:
            text = data.decode("utf-8", "backslashreplace")
    return ReviewedFile(path=path, text=text, trusted_text=trusted_text, note=note)


def _last_record(hook: HookEntry, project_dir: str, store: TrustStore) -> TrustRecord | None:
    project = str(Path(project_dir).resolve())
    records = [record for record in store.records() if record.project_dir == project and record.is_about(hook)]
    return records[-1] if records else None


def _text_lines(text: str) -> list[str]:
    # Not `splitlines`, which also splits at characters that are part of a line for a shell.
    return text.removesuffix("\n").split("\n")


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return visible(text).replace("\n", "\n      ")


def _file_lines(file: ReviewedFile) -> Iterator[str]:
    place = show_place(file.path)
    if file.text is None:
        yield f"  {style.bold(place)} {style.warn(file.note)}"
        return
    if file.diff == "":
        yield f"  {style.bold(place)} {style.dim('has not changed')}"
        return
    yield f"  {style.bold(place)}{' has changed' if file.diff else ''}:"
    paints = {"+": style.good, "-": style.bad}
    for line in _text_lines(file.diff or file.text):
        paint = paints.get(line[:1], str) if file.diff else str
        yield f"    {paint(visible(line))}".rstrip(" ")
