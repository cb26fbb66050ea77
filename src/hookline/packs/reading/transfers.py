"""Which files a call reads and writes."""

import re
from collections.abc import Sequence

from hookline.packs.known import READING
from hookline.packs.reading.calls import Call

_COPYING = frozenset(("cp", "mv", "install", "ln", "rsync", "scp"))
_UNPACKING = frozenset(("tar", "gtar", "bsdtar", "unzip", "7z"))
# Their first operand is a pattern or a program, unless a flag gives that.
_SEARCHING = frozenset(
    ("grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "mawk", "jq", "yq", "perl", "tr")
)
_DELETING = frozenset(("rm", "unlink", "shred", "srm", "rimraf", "trash", "wipe", "trash-put"))
_TEMPLATE = re.compile(
    r"\.(?:example|sample|template|dist|tmpl|defaults?)$|(?:example|sample|template)\.env$", re.IGNORECASE
)
_PATTERN_FLAGS = frozenset(("-e", "-f", "--regexp", "--expression", "--file", "--from-file"))


def written_by(call: Call) -> list[str]:
    """The files that a call writes: by redirection, by their place among its operands, or behind a flag."""
    found = list(call.writes)
    program, operands = call.program, call.operands
    if program in ("tee", "touch", "truncate", "sponge"):
        found += operands
    elif program in _COPYING:
        found += [target] if (target := call.value_of("-t", "--target-directory")) else operands[-1:]
        found += [f"{operands[-1].rstrip('/')}/{each.rsplit('/', 1)[-1]}" for each in operands[:-1]]
    elif program in _UNPACKING:
        found += [target] if (target := _unpacked_to(call)) else []
    elif program == "dd":
        found += [word[3:] for word in call.words if word.startswith("of=")]
    elif program in ("sed", "perl") and any(flag.startswith("-i") for flag in call.words):
        found += operands[1:] or operands
    elif program in ("curl", "wget", "gcc", "cc", "sort"):
        found += [target] if (target := call.value_of("-o", "-O", "--output", "--output-document")) else []
    return found


def changed_by(call: Call) -> list[str]:
    """The files that a call writes, replaces or deletes. Copying the template of a file is how it begins."""
    program, operands = call.program, call.operands
    if program in _DELETING:
        return list(operands)
    if program == "git":
        return _changed_by_git(call)
    if program == "touch" or (program in _COPYING and all(map(_TEMPLATE.search, sources_of(call)))):
        return list(call.writes)
    return written_by(call)


def _changed_by_git(call: Call) -> list[str]:
    match call.operands[:1]:
        case ("rm",) if not call.flags & {"--cached", "-n", "--dry-run"}:
            return list(call.operands[1:])
        case ("mv" | "add" | "stage" | "commit",):
            return [*call.operands[1:], *call.writes]
        case ("restore",) if not call.flags & {"--staged", "-S"} or call.flags & {"--worktree", "-W"}:
            return list(call.operands[1:])
        case ("checkout",) if "--" in call.words:
            return list(call.words[call.words.index("--") + 1 :])
    return list(call.writes)


def _shown_by_git(call: Call) -> list[str]:
    """The files whose text git shows: as paths, or as `commit:path`."""
    words = call.operands[1:]
    match call.operands[:1]:
        case ("show" | "cat-file" | "diff" | "blame" | "annotate" | "difftool" | "archive" | "checkout-index",):
            return [part for word in words for part in {word, word.rpartition(":")[2]}]
        case ("log" | "whatchanged" | "stash" | "reflog",) if call.flags & {"-p", "-u", "--patch", "-L", "-G", "-S"}:
            files = [call.value_of("-L") or ""]
            return [*words, *(each.rpartition(":")[2] for each in files)]
        case ("grep",):
            return list(words[1:] if not call.flags & {"-e", "-f"} else words)
    return []


def _unpacked_to(call: Call) -> str | None:
    if call.program == "unzip":
        # -o is a flag of its own here, and overwrites.
        return None if "-l" in call.flags else call.value_of("-d")
    if call.program == "7z":
        return call.value_of("-o")
    unpacks = not call.flags.isdisjoint(("-x", "--extract", "--get")) or "x" in "".join(call.words[1:2])
    return call.value_of("-C", "--directory") if unpacks else None


def sources_of(call: Call) -> Sequence[str]:
    """What a program that copies or moves takes."""
    return call.operands if call.value_of("-t", "--target-directory") else call.operands[:-1]


def read_by(call: Call) -> list[str]:
    """The files that a call reads and may pass on."""
    found = list(call.reads)
    program = call.program
    if program in _COPYING:
        found += sources_of(call)
    elif program in _SEARCHING:
        found += call.operands if call.flags & _PATTERN_FLAGS else call.operands[1:]
        found += [file for flag in ("--include", "-g", "--glob") if (file := call.value_of(flag))]
    elif program == "git":
        found += _shown_by_git(call)
    elif program == "openssl":
        found += [file for flag in ("-in", "-inkey", "-key") if (file := call.value_of(flag))]
    elif program in READING:
        found += call.operands
    elif program in ("curl", "wget", "http"):
        found += _sent(call)
    elif program == "sqlite3":
        found += call.operands[:1]
    elif program == "dd":
        found += [word[3:] for word in call.words if word.startswith("if=")]
    return found


def _sent(call: Call) -> list[str]:
    found = [each for word in call.words[1:] for each in re.findall(r"(?:(?:^|=|;)@|=<)([^;,\s]+)", word)]
    encoded = call.value_of("--data-urlencode") or ""
    found += re.findall(r"^\w*@(.+)", encoded)
    found += [target] if (target := call.value_of("-T", "--upload-file", "--post-file", "--body-file")) else []
    return found
