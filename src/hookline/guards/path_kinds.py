"""Classifies paths: the root, a home directory, the project, a secret, a shell's start file."""

import fnmatch
import posixpath
import re
from functools import lru_cache

from hookline.guards.facts import PATH_PATTERNS, SHADOWED
from hookline.guards.shell_eval.words import ENTRY, UNKNOWN, is_known

_TEMPORARY = ("/tmp/", "/var/tmp/", "/private/tmp/", "/private/var/tmp/", "/dev/shm/", "/var/folders/")  # noqa: S108

# Examples and public halves.
_NO_SECRET = re.compile(
    r"/(?:fixtures|__fixtures__|testdata|test-data)/|(?:\.(?:example|sample|template|dist|tmpl|defaults?|pub)|example\.env|sample\.env|/\.env\.test|(?:ca|cert|fullchain|chain|ca-bundle|cacert)\.pem)$",
    re.IGNORECASE,
)

_TEMPORARY_PART = re.compile(
    r"/(?:\.cache|Library/Caches|var/(?:cache|lib/apt/lists)|\.npm|\.gradle/caches|\.m2/repository|\.nuget/packages"
    r"|go/pkg/mod|\.cargo/registry)/"
)
# What tools make again whenever they need it.
_GENERATED = re.compile(
    r"node_modules|__pycache__|\.(?:pytest|mypy|ruff|parcel)[-_]cache|\.next|\.nuxt|\.turbo|\.tox|\.nyc_output|\.gradle"
    r"|[\w.-]+\.egg-info|DerivedData"
)

# A name that stands for all that is in a directory.
_EVERYTHING = re.compile(r"\*+|\.\*|\.|\.\[[^]]*\]\*|\{[^}]*\}|[!?*+@]\([^)]*\)")
_LONGEST_NAME = 512
_LONGEST_PATH = 4096
_GLOB = re.compile(r"[*?[]")

# Directories whose files people write.
_SOURCES = re.compile(
    r"src|app|apps|source|sources|packages|internal|cmd|pkg|components|migrations|tests?|spec|scripts|config"
)

_SOURCE_FILES = re.compile(r"\*\.(?:py|[jt]sx?|go|rs|java|kt|c|cc|cpp|cs|h|hpp|rb|php|swift|scala|ex|sql|vue|tf)$")
_REMADE = re.compile(
    r"/(?:\.DS_Store|Thumbs\.db|__pycache__|node_modules|\*\.(?:py[co]|o|tmp|temp|swp|bak|orig|rej|class)|\*~|\*?\.?core|nohup\.out)$"
)

_TELLING_LETTERS = 3
_NAMED = ("startup", "access", "hooks", "log", "programs")
_REPOSITORY = re.compile(r"/\.git(?:/(?:objects|refs|logs|HEAD|index|packed-refs)(?:/.*)?)?$")
_HOME = re.compile(r"~\w*|/home/[^/]+|/Users/[^/]+|/root")
_IN_HOME = frozenset(
    (
        *(".ssh", ".config", ".gnupg", ".aws", ".kube", ".local", ".mozilla", ".docker"),
        *("Documents", "Desktop", "Downloads", "Pictures", "Library", "Music", "Videos"),
    )
)

_DISK = re.compile(
    r"/dev/(?:[shv]d[a-z]|xvd|nvme\d|mmcblk|disk\d|rdisk\d|mapper/|md\d|dm-\d|loop\d|sr\d|ram\d|(?:k?mem|port)$)"
)
_THROUGH_PROCESS = re.compile(r"/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(root|cwd)(?=/|$)")
_REVERSE = re.compile(r"/dev/(?:tcp|udp)/")

_INSTALLED = re.compile(r"/(?:usr/local|\.local)/s?bin/[^/]+$")

# A file of such a name counts for nothing in a temporary directory.
_AT_HOME = frozenset(("startup", "access", "hooks"))

_TOP = frozenset(each.lower() for each in PATH_PATTERNS["top"])
_SYSTEM = tuple(f"{each.lower()}/" for each in PATH_PATTERNS["system"])

PLACES = {
    "root": "the root directory",
    "system": "a directory of the system",
    "home": "a home directory, or a whole top-level part of it",
    "project": "the whole project, or a directory above it",
    "sources": "one of the project's own top directories, such as src",
    "repository": "the repository's .git",
    "outside": "a place outside the project",
    "temporary": "a temporary directory, or a cache",
    "shared": "the directory for everybody's temporary files",
    "programs": "a program, a library or the kernel of the system",
    "log": "a log of the system, or a shell's history",
    "generated": "a directory outside the project that tools make again",
    "unknown": "a path that is not known before it runs",
    "disk": "a disk or the memory",
    "secret": "a file with secrets",
    "credential": "a file with secrets outside the project",
    "startup": "a file that shells, cron or the system run at start",
    "access": "a file that says who may log in or gain rights",
    "anywhere": "whatever has a name, anywhere on the machine",
    "hooks": "a file that makes git or an agent run commands",
    "connection": "a network connection",
    "any": "any path at all, for patterns that spare some",
}
SPARED = {
    "remade": "a file that tools make again from others, such as package-lock.json",
    "installed": "where people install programs for themselves: /usr/local and ~/.local",
}
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
        # What a test has found is not the whole place.
        return frozenset({*found, *_by_entry(path, project)})
    whole = _whole(path)
    if whole == "/":
        found.add("root")
    if _REVERSE.match(path):
        return frozenset({"connection"})
    if _DISK.match(path):
        found.add("disk")
    if project and (whole == project or project.startswith(whole.rstrip("/") + "/")):
        found.add("project")
    elif project and posixpath.dirname(whole) == project and _SOURCES.fullmatch(posixpath.basename(whole)):
        found.add("sources")
    if "/.git" in whole and _REPOSITORY.search(whole):
        found.add("repository")
    if f"{path}/".startswith(_TEMPORARY) or _TEMPORARY_PART.search(f"{path}/"):
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
        return set() if _REMADE.search(path) else {"anywhere"}
    is_own = bool(project) and path.startswith(f"{project}/{ENTRY}/")
    return {"sources"} if is_own and _SOURCE_FILES.search(path) else set()


def _in_temporary(path: str, whole: str, home: str, project: str, found: set[str]) -> set[str]:
    is_at_home = any(base and path.startswith(f"{base}/") for base in (home, project))
    found = {*(found if is_at_home else found - _AT_HOME), "temporary"}
    if f"{path}/" in _TEMPORARY:
        found.add("shared")
    # A home may be there, too.
    if home and (_is_home(whole, home) or home.startswith(f"{whole}/")):
        found.add("home")
    return found


def _without_detour(path: str, project: str) -> str:
    """The path without a second slash at its beginning, and without the ways through /proc to the same files."""
    if len(path) > _LONGEST_PATH or not path.startswith(("//", "/proc/")):
        return path
    path = "/" + path.lstrip("/")
    while (found := _THROUGH_PROCESS.match(path)) is not None:
        rest = path[found.end() :] or "/"
        path = rest if found[1] == "root" else f"{project or '/'}{rest}".rstrip("/") or "/"
    return path


def _whole(path: str) -> str:
    """The directory that is meant as a whole: `/home/*` is `/home`."""
    directory, slash, name = path.rpartition("/")
    while slash and _EVERYTHING.fullmatch(name):
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
        found.add("generated" if _GENERATED.fullmatch(posixpath.basename(whole)) else "outside")
    return found


def _is_home(whole: str, home: str) -> bool:
    """A home directory, or one of its own directories such as ~/Documents or ~/.config."""
    if whole == home or _HOME.fullmatch(whole):
        return True
    parent, _, name = whole.rpartition("/")
    return (parent == home or _HOME.fullmatch(parent) is not None) and name in _IN_HOME


def _by_name(path: str) -> set[str]:
    name = path.rpartition("/")[2]
    is_telling = not _telling_parts().isdisjoint(path.lower().split("/"))
    found = {kind for kind in _NAMED if is_telling and _matches(path, PATH_PATTERNS[kind])}
    if _matches(name, PATH_PATTERNS["secret_names"]) or (is_telling and _matches(path, PATH_PATTERNS["secret_paths"])):
        found |= set() if _NO_SECRET.search(path) else {"secret"}
    if is_telling and (UNKNOWN in name or not name.strip("*?.")):
        found |= {"secret"} if _matches(path.rpartition("/")[0] or "/", PATH_PATTERNS["secret_paths"]) else set()
    if name in SHADOWED and _INSTALLED.search(path):
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
    """Files with secrets whose names say enough: those with a leading dot, and those in directories of their own."""
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
