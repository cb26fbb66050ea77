"""`hookline log verify` and `hookline log head`: whether the log is as it was written."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hookline.cli.report.printer import print_report
from hookline.cli.report.style import style
from hookline.cli.report.text import one_line, plural, show_place
from hookline.errors import HooklineError, UsageError
from hookline.log.chain import Head
from hookline.log.index import drop_index
from hookline.log.verify import Finding, Verification, log_head, verify_log

EXIT_TAMPERED = 2
_SHOWN = 20


def print_head(path: Path, given: argparse.Namespace) -> int:
    """Prints the number and the hash of the last record."""
    head = log_head(path)
    if head is None:
        raise HooklineError(f"the log {path} has no record with a hash yet")
    print_report(given, head._asdict(), [str(head)])
    return 0


def verify(path: Path, given: argparse.Namespace, backups: int | None) -> int:
    """Prints what was found, checked and not checked; 2 if a record was changed, removed, inserted or moved."""
    heads = [] if given.head is None else _heads(given.head)
    # The chain does not cover the index, so a program that can write it could hide records from `hookline log`.
    drop_index(path)
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
    print_report(given, report, _lines(done, unchecked))
    return EXIT_TAMPERED if done.findings else 0


def _heads(given: str) -> list[Head]:
    """The head that was given, or those in the file that was given, one per line."""
    if head := Head.parse(given):
        return [head]
    try:
        lines = Path(given).read_text(encoding="utf-8", errors="replace").split("\n")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--head {given} is neither a head nor a file that can be read; see hookline log head"
        ) from error
    heads = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        head = Head.parse(line.strip())
        if head is None:
            raise UsageError(f"{given}:{number} is not a head; write one per line, as hookline log head prints it")
        heads.append(head)
    if not heads:
        raise UsageError(f"{given} has no head; write one per line, as hookline log head prints it")
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
    ways = "were cut off at the end, or all their hashes computed anew by somebody who can write the file"
    if done.confirmed is not None:
        yield f"whether records after that head {ways}"
    else:
        yield f"whether records {ways}; keep heads elsewhere (hookline log head) and give them with --head"


def _show(finding: Finding) -> str:
    place = "" if finding.file is None else f"{show_place(finding.file, finding.line)}: "
    return one_line(f"{place}{finding.message}")
