"""`hookline log --verify`: whether the log is as it was written."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.errors import HooklineError, UsageError
from hookline.log.read.verify import ChainFault, Verification, verify_log
from hookline.log.write.chain import Head
from hookline.protocol.text.readable import one_line, plural, show_place

_SHOWN = 20


def verify(path: Path, given: argparse.Namespace, backups: int | None) -> int:
    """Print what was found, checked and not checked; 1 if a record was changed, removed, inserted or moved."""
    heads = [] if given.head is None else _heads(given.head)
    done = verify_log(path, heads, backups=backups)
    if not done.records and not done.findings:
        raise HooklineError(f"the log {path} has no record with a hash, so there is nothing to verify")
    unchecked = list(_unchecked(done))
    report = {
        "intact": not done.findings,
        **msgspec.to_builtins(done),
        "last": done.last and done.last._asdict(),
        "confirmed": done.confirmed and done.confirmed._asdict(),
        "notChecked": unchecked,
    }
    lines = [*_lines(done, unchecked)]
    if given.save and done.last and not done.findings:
        _append(Path(given.save), str(done.last))
        lines.append(f"Saved to {show_place(given.save)}: {done.last}")
    print_report(given, report, lines)
    return 1 if done.findings else 0


def _append(file: Path, head: str) -> None:
    try:
        with file.open("a", encoding="utf-8") as heads:
            heads.write(f"{head}\n")
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror}; nothing was saved") from error


def _heads(given: str) -> list[Head]:
    """The head that was given, or those in the file that was given, one per line."""
    if head := Head.parse(given):
        return [head]
    try:
        lines = Path(given).read_text(encoding="utf-8", errors="replace").split("\n")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--head {given} is neither a head nor a file that can be read; --save FILE writes one"
        ) from error
    heads = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        head = Head.parse(line.strip())
        if head is None:
            raise UsageError(f"{given}:{number} is not a head; write one per line, as --save writes it")
        heads.append(head)
    if not heads:
        raise UsageError(f"{given} has no head; write one per line, as --save writes it")
    return heads


def _lines(done: Verification, unchecked: list[str]) -> Iterator[str]:
    for finding in done.findings[:_SHOWN]:
        yield style.bad(_show(finding))
    if len(done.findings) > _SHOWN:
        yield style.bad(f"and {plural(len(done.findings) - _SHOWN, 'more place')}")
    for finding in done.incomplete[:_SHOWN]:
        yield style.warn(_show(finding))
    last = done.last.seq if done.last else 0
    looked_at = f"{plural(done.records, 'record')} in {plural(done.files, 'file')}, sequence {done.first} to {last}"
    if done.findings:
        yield style.bad(f"Not intact: {plural(len(done.findings), 'finding')}") + f" ({looked_at})"
    else:
        yield style.good("Intact: no record was changed, removed, inserted or moved") + f" ({looked_at})"
    if done.confirmed is not None:
        head = done.confirmed.seq or done.confirmed.hash
        yield f"The head {head} is in the log: nothing up to it was cut off or replaced."
    for sentence in unchecked:
        yield f"Not checked: {sentence}"


def _unchecked(done: Verification) -> Iterator[str]:
    if done.without_hash:
        yield f"{plural(done.without_hash, 'line')} before the first hash, which an older hookline wrote"
    if (done.first or 1) > 1:
        yield f"records before {done.first}: the log begins at sequence {done.first}, older files are gone"
    if done.forgotten:
        yield f"{plural(done.forgotten, 'head')} older than everything that the log keeps"
    ways = "were cut off at the end, or all their hashes recomputed by a user who can write the file"
    if done.confirmed is not None:
        yield f"whether records after that head {ways}"
    else:
        yield f"whether records {ways}; keep hashes elsewhere (--save FILE) and compare with them (--head FILE)"


def _show(finding: ChainFault) -> str:
    place = "" if finding.file is None else f"{show_place(finding.file, finding.line)}: "
    return one_line(f"{place}{finding.message}")
