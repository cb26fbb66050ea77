"""The files that a call reads, writes and searches, and the texts that it sends."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from hookline.guards.facts import READING, data, patterns
from hookline.guards.path_kinds import kinds_of
from hookline.guards.shell_eval.calls import ProgramCall
from hookline.guards.shell_eval.words import ENTRY
from hookline.protocol.text.secret_names import asks_for_secrets

_RAW = data("transfers")
_PROGRAMS = {name: frozenset(programs) for name, programs in _RAW["programs"].items()}
_FLAGS = {name: frozenset(flags) for name, flags in _RAW["flags"].items()}
_P = patterns("transfers")
_CAREFUL: Mapping[str, frozenset[str]] = {name: frozenset(flags) for name, flags in _RAW["careful"].items()}
SENDING = _PROGRAMS["clients"] | _PROGRAMS["posting"]
"""The programs that send something."""
SEEKING = _PROGRAMS["grep"] | _CAREFUL.keys()
"""The programs that search whole directories."""
# Subcommands that are made for secrets.
_FOR_SECRETS = (("secret",), ("auth",), ("variable",))
_WHOLE = frozenset(("root", "system", "home", "project", "unknown"))
_WORD = re.compile(r"(?i:\b(?:key|token|pass|auth)s?\b)")


def written_by(call: ProgramCall) -> list[str]:
    """The files that a call writes: by redirection, by their place among its operands, or behind a flag."""
    found = list(call.writes)
    program, operands = call.program, call.operands
    if program in _PROGRAMS["writing"]:
        found += operands
    elif program in _PROGRAMS["copying"]:
        found += [target] if (target := call.value_of("-t", "--target-directory")) else operands[-1:]
        found += [f"{operands[-1].rstrip('/')}/{each.rsplit('/', 1)[-1]}" for each in operands[:-1]]
    elif program in _PROGRAMS["taking_out"] and operands[:1] == ("cp",) and ":" not in operands[-1]:
        found += operands[-1:]
    elif program in _PROGRAMS["unpacking"]:
        found += [target] if (target := _unpacked_to(call)) else []
    elif program == "dd":
        found += [word[3:] for word in call.words if word.startswith("of=")]
    elif program in ("sed", "perl") and any(flag.startswith("-i") for flag in call.words):
        found += operands[1:] or operands
    elif program in _PROGRAMS["with_output"]:
        found += [target] if (target := call.value_of("-o", "-O", "--output", "--output-document")) else []
    return found


def changed_by(call: ProgramCall) -> list[str]:
    """The files that a call writes, replaces or deletes. Copying the template of a file is how it begins."""
    program, operands = call.program, call.operands
    if program in _PROGRAMS["deleting"]:
        return list(operands)
    if program == "git":
        return _changed_by_git(call)
    if program == "touch" or (program in _PROGRAMS["copying"] and all(map(_P["template"].search, sources_of(call)))):
        return list(call.writes)
    return written_by(call)


def _changed_by_git(call: ProgramCall) -> list[str]:
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


def _shown_by_git(call: ProgramCall) -> list[str]:
    """The files whose text git shows: as paths, or as `commit:path`."""
    words = call.operands[1:]
    match call.operands[:1]:
        case (subcommand,) if subcommand in _RAW["subcommands"]["git_shows"]:
            return [part for word in words for part in {word, word.rpartition(":")[2]}]
        case ("log" | "whatchanged" | "stash" | "reflog",) if call.flags & {"-p", "-u", "--patch", "-L", "-G", "-S"}:
            files = [call.value_of("-L") or ""]
            return [*words, *(each.rpartition(":")[2] for each in files)]
        case ("grep",):
            return list(words[1:] if not call.flags & {"-e", "-f"} else words)
    return []


def mounted_by(call: ProgramCall) -> list[str]:
    """The directories, files and devices of this machine that a container gets."""
    found = [each.partition(":")[0] for each in call.values_of("-v", "--volume", "--device")]
    found += [path for each in call.values_of("--mount") for path in re.findall(r"(?:^|,)(?:source|src)=([^,]+)", each)]
    return [each for each in found if each.startswith(("/", "~", "."))]


def _unpacked_to(call: ProgramCall) -> str | None:
    if call.program == "unzip":
        # -o overwrites files here, and has no value.
        return None if "-l" in call.flags else call.value_of("-d")
    if call.program == "7z":
        return call.value_of("-o")
    unpacks = not call.flags.isdisjoint(("-x", "--extract", "--get")) or "x" in "".join(call.words[1:2])
    return call.value_of("-C", "--directory") if unpacks else None


def sources_of(call: ProgramCall) -> Sequence[str]:
    """The sources of a program that copies or moves files."""
    return call.operands if call.value_of("-t", "--target-directory") else call.operands[:-1]


def read_by(call: ProgramCall) -> list[str]:
    """The files that a call reads and may pass on."""
    program = call.program
    own = _READERS.get(program)
    operands = own(call) if own else call.operands if program in READING else ()
    named = [file for flag in _RAW["files"].get(program, ()) if (file := call.value_of(flag))]
    return [*call.reads, *named, *operands]


def _searched(call: ProgramCall) -> Sequence[str]:
    found = call.operands if call.flags & _FLAGS["pattern"] else call.operands[1:]
    return [*found, *(file for flag in ("--include", "-g", "--glob") if (file := call.value_of(flag)))]


def _copied_from_here(call: ProgramCall) -> Sequence[str]:
    is_copy = call.operands[:1] == ("cp",)
    return [each.rpartition(":")[2] for each in call.operands[1:-1]] if is_copy else ()


def _given_to_module(call: ProgramCall) -> Sequence[str]:
    return call.operands if any(re.fullmatch(r"-[bBdEiIOPqsSuvx]*m\w*", word) for word in call.words[1:4]) else ()


def _shown_key(call: ProgramCall) -> Sequence[str]:
    file = call.value_of("-f") if call.flags & {"-y", "-e", "-p"} else None
    return [file] if file else ()


def _sent(call: ProgramCall) -> list[str]:
    found = [each for word in call.words[1:] for each in re.findall(r"(?:(?:^|=|;)@|=<)([^;,\s]+)", word)]
    found += [each[7:] for each in call.words[1:] if each.lower().startswith("file://")]
    encoded = call.value_of("--data-urlencode") or ""
    found += re.findall(r"^\w*@(.+)", encoded)
    found += [target] if (target := call.value_of("-T", "--upload-file", "--post-file", "--body-file")) else []
    return found


# Programs that do not read all of their operands; the others that read files are known by their names.
_READERS: Mapping[str, Callable[[ProgramCall], Sequence[str]]] = {
    **dict.fromkeys(_PROGRAMS["copying"], sources_of),
    **dict.fromkeys(_PROGRAMS["searching"], _searched),
    **dict.fromkeys(("curl", "wget", "http"), _sent),
    **dict.fromkeys(_PROGRAMS["taking_out"], _copied_from_here),
    **dict.fromkeys(("python", "python3"), _given_to_module),
    "git": _shown_by_git,
    "ssh-keygen": _shown_key,
    "sqlite3": lambda call: call.operands[:1],
    "dd": lambda call: [word[3:] for word in call.words if word.startswith("if=")],
}


def sent_by(call: ProgramCall) -> Iterator[str]:
    """The data that a web client sends, its address without the login, and headers without a known meaning."""
    if call.program in _PROGRAMS["posting"] and call.operands[:1] not in _FOR_SECRETS:
        yield from call.words[1:]
        yield call.stdin.text or ""
    if call.program not in _PROGRAMS["clients"] or _stays_here(call):
        return
    words = iter(call.words[1:])
    for word in words:
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if not word.startswith("-"):
            yield _P["login"].sub(r"\1", word)
        elif name in _FLAGS["login"]:
            _ = value if equals else next(words, "")
        elif name in _FLAGS["data"]:
            yield value if equals else next(words, "")
        elif name in _FLAGS["headers"] and not _P["own_header"].match(
            header := (value if equals else next(words, "")).strip()
        ):
            yield header


def _stays_here(call: ProgramCall) -> bool:
    """Whether all that a client sends goes to this machine, by addresses that nothing replaces."""
    is_plain = call.flags <= _FLAGS["same_address"] and not call.assigned
    return is_plain and bool(call.operands) and all(map(_P["here"].fullmatch, call.operands))


def _gets_all_files(call: ProgramCall) -> bool:
    """Whether it is run for everything that a search through directories finds."""
    is_given = not {"find", "gfind", "xargs", "gxargs", "fd"}.isdisjoint(call.via)
    return is_given and any(word.rpartition("/")[2] in ("*", ENTRY) for word in call.operands)


def seeks_secrets(call: ProgramCall, home: str, project: str) -> bool:
    """Whether a call searches a project, a home or the system for secrets, and not only in one kind of files."""
    if call.program in _PROGRAMS["grep"]:
        is_wide = bool(call.flags & _FLAGS["recursive"]) or "recurse" in (call.value_of("-d", "--directories") or "")
    elif call.program in _CAREFUL:
        is_wide = bool(call.flags & _CAREFUL[call.program])
    else:
        return False
    pattern = call.value_of("-e", "--regexp")
    if not is_wide:
        return _gets_all_files(call) and asks_for_secrets(pattern or next(iter(call.operands), ""))
    # Of a project one kind of files may be searched; elsewhere it is not the agent's business.
    wanted = _WHOLE - {"project"} if call.flags & _FLAGS["narrowing"] else _WHOLE
    operands = call.operands if pattern is not None else call.operands[1:]
    pattern = pattern if pattern is not None else next(iter(call.operands), "")
    # `token` alone is a usual word in sources; two such words are not.
    count = len(_WORD.findall(pattern))
    is_sought = asks_for_secrets(pattern) or count > 1 or ("-i" in call.flags and count > 0)
    return is_sought and any(
        not wanted.isdisjoint(kinds_of(call.path(each), home, project)) for each in operands or (".",)
    )
