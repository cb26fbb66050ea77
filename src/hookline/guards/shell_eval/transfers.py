"""The files that a call reads, writes and sends."""

import re
from collections.abc import Callable, Mapping, Sequence

from hookline.guards.facts import READING
from hookline.guards.shell_eval.calls import Call

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
        case ("mv" | "add" | "stage" | "commit" | "update-index",):
            return [*call.operands[1:], *call.writes]
        case ("restore",) if not call.flags & {"--staged", "-S"} or call.flags & {"--worktree", "-W"}:
            return list(call.operands[1:])
        case ("checkout",):
            return list(call.operands[1:])
        case ("stash",) if call.operands[1:2] in (("push",), ("save",)):
            return list(call.operands[2:])
    return list(call.writes)


def _shown_by_git(call: Call) -> list[str]:
    """The files whose text git shows: as paths, or as `commit:path`."""
    words = call.operands[1:]
    match call.operands[:1]:
        case (
            "show"
            | "cat-file"
            | "diff"
            | "blame"
            | "annotate"
            | "difftool"
            | "archive"
            | "checkout-index"
            | "hash-object"
            | "format-patch"
            | "range-diff"
            | "diff-tree"
            | "diff-index"
            | "diff-files",
        ):
            return [part for word in words for part in {word, word.rpartition(":")[2]}]
        case ("log" | "whatchanged" | "stash" | "reflog",) if call.flags & {"-p", "-u", "--patch", "-L", "-G", "-S"}:
            files = [call.value_of("-L") or ""]
            return [*words, *(each.rpartition(":")[2] for each in files)]
        case ("grep",):
            return list(words[1:] if not call.flags & {"-e", "-f"} else words)
    return []


def mounted_by(call: Call) -> list[str]:
    """The directories, files and devices of this machine that a container gets."""
    found: list[str] = []
    words = call.words[1:]
    for word, behind in zip(words, (*words[1:], ""), strict=False):
        name, equals, value = word.partition("=")
        given = value if equals else behind
        if name in ("-v", "--volume", "--device") or (word.startswith("-v") and not word.startswith("--")):
            found.append((given if name in ("-v", "--volume", "--device") else word[2:]).partition(":")[0])
        elif name == "--mount":
            found += re.findall(r"(?:^|,)(?:source|src)=([^,]+)", given)
    return [each for each in found if each.startswith(("/", "~", "."))]


def _unpacked_to(call: Call) -> str | None:
    if call.program == "unzip":
        # -o is a flag of its own here, and overwrites.
        return None if "-l" in call.flags else call.value_of("-d")
    if call.program == "7z":
        return call.value_of("-o")
    unpacks = not call.flags.isdisjoint(("-x", "--extract", "--get")) or "x" in "".join(call.words[1:2])
    return call.value_of("-C", "--directory") if unpacks else None


def sources_of(call: Call) -> Sequence[str]:
    """The sources of a program that copies or moves files."""
    return call.operands if call.value_of("-t", "--target-directory") else call.operands[:-1]


def read_by(call: Call) -> list[str]:
    """The files that a call reads and may pass on."""
    program = call.program
    own = _READERS.get(program)
    if own is None and program in READING:
        own = _operands
    named = [file for flag in _FILE_FLAGS.get(program, ()) if (file := call.value_of(flag))]
    return [*call.reads, *named, *(own(call) if own else ())]


def _operands(call: Call) -> Sequence[str]:
    return call.operands


def _searched(call: Call) -> Sequence[str]:
    found = call.operands if call.flags & _PATTERN_FLAGS else call.operands[1:]
    return [*found, *(file for flag in ("--include", "-g", "--glob") if (file := call.value_of(flag)))]


def _copied_from_here(call: Call) -> Sequence[str]:
    is_copy = call.operands[:1] == ("cp",)
    return [each.rpartition(":")[2] for each in call.operands[1:-1]] if is_copy else ()


def _given_to_module(call: Call) -> Sequence[str]:
    return call.operands if any(re.fullmatch(r"-[bBdEiIOPqsSuvx]*m\w*", word) for word in call.words[1:4]) else ()


def _shown_key(call: Call) -> Sequence[str]:
    file = call.value_of("-f") if call.flags & {"-y", "-e", "-p"} else None
    return [file] if file else ()


def _sent(call: Call) -> list[str]:
    found = [each for word in call.words[1:] for each in re.findall(r"(?:(?:^|=|;)@|=<)([^;,\s]+)", word)]
    found += [each[7:] for each in call.words[1:] if each.lower().startswith("file://")]
    encoded = call.value_of("--data-urlencode") or ""
    found += re.findall(r"^\w*@(.+)", encoded)
    found += [target] if (target := call.value_of("-T", "--upload-file", "--post-file", "--body-file")) else []
    return found


# Programs that do not read all of their operands; the others that read files are known by their names.
_READERS: Mapping[str, Callable[[Call], Sequence[str]]] = {
    **dict.fromkeys(_COPYING, sources_of),
    **dict.fromkeys(_SEARCHING, _searched),
    **dict.fromkeys(("curl", "wget", "http"), _sent),
    **dict.fromkeys(("docker", "podman", "kubectl", "oc", "nerdctl"), _copied_from_here),
    **dict.fromkeys(("python", "python3"), _given_to_module),
    "git": _shown_by_git,
    "ssh-keygen": _shown_key,
    "sqlite3": lambda call: call.operands[:1],
    "dd": lambda call: [word[3:] for word in call.words if word.startswith("if=")],
}
_FILE_FLAGS = {
    "openssl": ("-in", "-inkey", "-key"),
    **dict.fromkeys(("xargs", "gxargs", "parallel"), ("-a", "--arg-file")),
    **dict.fromkeys(("mutt", "mail", "mailx", "s-nail", "swaks", "sendemail"), ("-a", "-A", "--attach")),
}
