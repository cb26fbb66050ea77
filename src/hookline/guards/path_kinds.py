"""Classifies paths: the root, a home directory, the project, a secret, a shell's start file."""

import fnmatch
import posixpath
import re
from collections.abc import Mapping
from functools import lru_cache

from hookline.guards.facts import PATH_PATTERNS, SHADOWED, data, patterns
from hookline.guards.shell_eval.words import ENTRY, UNKNOWN, is_known

_TEMPORARY = PATH_PATTERNS["temporary"]
_P = patterns("facts")
_LONGEST_NAME = 512
_LONGEST_PATH = 4096
_GLOB = re.compile(r"[*?[]")
_TELLING_LETTERS = 3
_NAMED = ("startup", "access", "hooks", "log", "programs")
_REVERSE = re.compile(r"/dev/(?:tcp|udp)/")
# A file with such a name has no effect in a temporary directory.
_AT_HOME = frozenset(("startup", "access", "hooks"))

_TOP = frozenset(each.lower() for each in PATH_PATTERNS["top"])
_SYSTEM = tuple(f"{each.lower()}/" for each in PATH_PATTERNS["system"])

PLACES: Mapping[str, str] = data("facts")["kinds"]
"""The kinds of places, with their meanings."""
SPARED: Mapping[str, str] = data("facts")["spared"]
"""Kinds of places that a pattern may leave out."""


def is_secret(path: str) -> bool:
    """Whether a file is known for holding secrets."""
    return "secret" in kinds_of(path, "", "")


def is_private(path: str) -> bool:
    """Whether a file holds secrets, or says who may log in: nothing to send to others."""
    return not kinds_of(path, "", "").isdisjoint(("secret", "access"))


def is_whole(path: str) -> bool:
    """Whether a path is the root, a home, or a directory of the system."""
    return not kinds_of(path, "", "").isdisjoint(("root", "home", "system"))


def is_spared(path: str, kinds: tuple[str, ...]) -> bool:
    """Whether a path is one of these kinds that a pattern leaves out; a pattern of many files is none."""
    return not _GLOB.search(path) and is_known(path) and any(_matches(path, PATH_PATTERNS[kind]) for kind in kinds)


@lru_cache(maxsize=4096)
def kinds_of(path: str, home: str, project: str) -> frozenset[str]:
    """The kinds of places that a path is; `project` is the project's directory."""
    path = _without_detour(path, project)
    if _is_unknown(path):
        return frozenset({"unknown", *_by_name(path[-_LONGEST_PATH:])})
    found = set(_by_name(path))
    if ENTRY in path:
        # The entries that a test finds are only a part of the directory.
        return frozenset({*found, *_by_entry(path, project)})
    whole = _whole(path)
    if whole == "/":
        found.add("root")
    if _REVERSE.match(path):
        return frozenset({"connection"})
    if _P["disk"].match(path):
        found.add("disk")
    if project and (whole == project or project.startswith(whole.rstrip("/") + "/")):
        found.add("project")
    elif project and posixpath.dirname(whole) == project and _P["sources"].fullmatch(posixpath.basename(whole)):
        found.add("sources")
    if "/.git" in whole and _P["repository"].search(whole):
        found.add("repository")
    if f"{path}/".startswith(_TEMPORARY) or _P["temporary_part"].search(f"{path}/"):
        return frozenset(_in_temporary(path, whole, home, project, found))
    found |= _by_tree(path, whole, home, project, is_secret="secret" in found)
    return frozenset(found)


def _is_unknown(path: str) -> bool:
    """Whether a path begins with something unknown, or is longer than any system takes."""
    begin, unknown, _ = path.partition(UNKNOWN)
    return len(path) > _LONGEST_PATH or (bool(unknown) and posixpath.dirname(begin) in ("/", ""))


def _by_entry(path: str, project: str) -> set[str]:
    """The kinds for a name that is found anywhere below a directory, such as the project's sources."""
    if path.endswith("/.git"):
        return {"repository"}
    if path.startswith(f"/{ENTRY}/"):
        return set() if _P["remade"].search(path) else {"anywhere"}
    is_own = bool(project) and path.startswith(f"{project}/{ENTRY}/")
    return {"sources"} if is_own and _P["source_files"].search(path) else set()


def _in_temporary(path: str, whole: str, home: str, project: str, found: set[str]) -> set[str]:
    is_at_home = any(base and path.startswith(f"{base}/") for base in (home, project))
    found = {*(found if is_at_home else found - _AT_HOME), "temporary"}
    if f"{path}/" in _TEMPORARY:
        found.add("shared")
    # A home directory may be inside a temporary one.
    if home and (_is_home(whole, home) or home.startswith(f"{whole}/")):
        found.add("home")
    return found


def _without_detour(path: str, project: str) -> str:
    """The path without a second slash at its beginning, and without the ways through /proc to the same files."""
    if len(path) > _LONGEST_PATH or not path.startswith(("//", "/proc/")):
        return path
    path = "/" + path.lstrip("/")
    while (found := _P["through_process"].match(path)) is not None:
        rest = path[found.end() :] or "/"
        path = rest if found[1] == "root" else f"{project or '/'}{rest}".rstrip("/") or "/"
    return path


def _whole(path: str) -> str:
    """The directory that is meant as a whole: `/home/*` is `/home`."""
    directory, slash, name = path.rpartition("/")
    while slash and _P["everything"].fullmatch(name):
        path = directory
        directory, slash, name = path.rpartition("/")
    return path or "/"


def _by_tree(path: str, whole: str, home: str, project: str, *, is_secret: bool) -> set[str]:
    found = set()
    # Without regard to case, as the patterns are.
    if whole.lower() in _TOP or f"{path}/".lower().startswith(_SYSTEM):
        found.add("system")
    if _is_home(whole, home):
        found.add("home")
    inside = bool(project) and path.startswith(f"{project}/")
    if is_secret and not inside:
        found.add("credential")
    is_above = bool(project) and project.startswith(whole.rstrip("/") + "/")
    if path.startswith("/") and not (inside or is_above or whole == project or path.startswith("/dev/")):
        found.add("generated" if _P["generated"].fullmatch(posixpath.basename(whole)) else "outside")
    return found


def _is_home(whole: str, home: str) -> bool:
    """Whether a path is a home directory, or a standard directory in it such as ~/Documents or ~/.config."""
    if whole == home or _P["home"].fullmatch(whole):
        return True
    parent, _, name = whole.rpartition("/")
    return (parent == home or _P["home"].fullmatch(parent) is not None) and name in PATH_PATTERNS["in_home"]


def _by_name(path: str) -> set[str]:
    name = path.rpartition("/")[2]
    is_telling = not _telling_parts().isdisjoint(path.lower().split("/"))
    found = {kind for kind in _NAMED if is_telling and _matches(path, PATH_PATTERNS[kind])}
    if _matches(name, PATH_PATTERNS["secret_names"]) or (is_telling and _matches(path, PATH_PATTERNS["secret_paths"])):
        found |= set() if _P["no_secret"].search(path) else {"secret"}
    if is_telling and (UNKNOWN in name or not name.strip("*?.")):
        found |= {"secret"} if _matches(path.rpartition("/")[0] or "/", PATH_PATTERNS["secret_paths"]) else set()
    if name in SHADOWED and _P["installed"].search(path):
        found.add("programs")
    if _GLOB.search(path) and any(_expands_to(path, each) for each in _hidden()):
        found.add("secret")
    return found


@lru_cache(maxsize=1)
def _telling_parts() -> frozenset[str]:
    """One part of each path that is known for something: whatever has none of them matches no pattern."""
    patterns = [each for kind in (*_NAMED, "secret_paths") for each in PATH_PATTERNS[kind]]
    parts = [[part for part in each.lower().split("/") if part and not _GLOB.search(part)] for each in patterns]
    return frozenset(max(each, key=len) for each in parts)


def _expands_to(glob: str, hidden: tuple[str, ...]) -> bool:
    """Whether a shell may expand a pattern to this: a leading dot must be in it, a lone star is too little."""
    parts = glob.split("/")[-len(hidden) :]
    if any(len(part) > _LONGEST_NAME for part in parts):
        return True  # no name is that long, so it can only be meant to hide one
    return len(parts) == len(hidden) and all(
        part.startswith(".") == name.startswith(".")
        and (name.startswith(".") or ("/" in glob and len(hidden) > 1) or len(part.strip("*?[]")) >= _TELLING_LETTERS)
        and fnmatch.fnmatchcase(name, part)
        for part, name in zip(parts, hidden, strict=True)
    )


@lru_cache(maxsize=1)
def _hidden() -> list[tuple[str, ...]]:
    """Files that are secret by their name alone: hidden files, and files in known hidden directories."""
    names = [(each.rstrip("*."),) for each in PATH_PATTERNS["secret_names"] if each.startswith(".")]
    paths = [each.removeprefix("*/").rstrip("*") for each in PATH_PATTERNS["secret_paths"] if not each.endswith("/*")]
    names += [("id_rsa",), ("id_ed25519",)]
    keys = [(".ssh", name) for name in ("id_rsa", "id_ed25519", "id_ecdsa")]
    return [*names, *keys, *(tuple(each.split("/")) for each in paths if "*" not in each)]


@lru_cache(maxsize=64)
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    # Without regard to case: some file systems have none.
    return re.compile("|".join(fnmatch.translate(each) for each in patterns), re.IGNORECASE)


def _matches(text: str, patterns: tuple[str, ...]) -> bool:
    return _pattern(patterns).match(text) is not None
