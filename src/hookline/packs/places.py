"""What kind of place a path is: the root, a home directory, the project, a secret, a shell's start file."""

import fnmatch
import posixpath
import re
from functools import lru_cache

from hookline.packs.known import PLACES_KNOWN
from hookline.packs.reading.words import ENTRY, UNKNOWN

_TEMPORARY = ("/tmp/", "/var/tmp/", "/private/tmp/", "/private/var/tmp/", "/dev/shm/", "/var/folders/")  # noqa: S108

# Examples and public halves.
_NO_SECRET = re.compile(
    r"/(?:fixtures|__fixtures__|testdata|test-data)/|(?:\.(?:example|sample|template|dist|tmpl|defaults?|pub)|example\.env|sample\.env|(?:ca|cert|fullchain|chain|ca-bundle|cacert)\.pem)$",
    re.IGNORECASE,
)

_TEMPORARY_PARTS = (
    "/.cache/",
    "/Library/Caches/",
    "/var/cache/",
    "/var/lib/apt/lists/",
    "/.npm/",
    "/.gradle/caches/",
    "/.m2/repository/",
    "/.nuget/packages/",
    "/go/pkg/mod/",
    "/.cargo/registry/",
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

_DISK = re.compile(
    r"/dev/(?:[shv]d[a-z]|xvd|nvme\d|mmcblk|disk\d|rdisk\d|mapper/|md\d|dm-\d|loop\d|sr\d|ram\d|(?:k?mem|port)$)"
)
_THROUGH_PROCESS = re.compile(r"/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(root|cwd)(?=/|$)")
_REVERSE = re.compile(r"/dev/(?:tcp|udp)/")

# A file of such a name counts for nothing in a temporary directory.
_AT_HOME = frozenset(("startup", "access", "hooks"))

_TOP = frozenset(each.lower() for each in PLACES_KNOWN["top"])
_SYSTEM = tuple(f"{each.lower()}/" for each in PLACES_KNOWN["system"])

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
}


def is_secret(path: str) -> bool:
    """Whether a file is known for holding secrets."""
    return "secret" in places(path, "", "")


def is_private(path: str) -> bool:
    """Whether a file holds secrets, or says who may log in: nothing to send to others."""
    return not places(path, "", "").isdisjoint(("secret", "access"))


def is_whole(path: str) -> bool:
    """Whether a path is the root, a home, or a directory of the system."""
    return not places(path, "", "").isdisjoint(("root", "home", "system"))


@lru_cache(maxsize=4096)
def places(path: str, home: str, project: str) -> frozenset[str]:
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
    if re.search(r"/\.git(?:/(?:objects|refs|logs|HEAD|index|packed-refs)(?:/.*)?)?$", whole):
        found.add("repository")
    if f"{path}/".startswith(_TEMPORARY) or any(each in f"{path}/" for each in _TEMPORARY_PARTS):
        return frozenset(_in_temporary(path, whole, home, project, found))
    found |= _by_tree(path, whole, home, project)
    return frozenset(found)


def _is_unknown(path: str) -> bool:
    """Whether a path begins with something unknown, or is longer than any system takes."""
    begin, unknown, _ = path.partition(UNKNOWN)
    return len(path) > _LONGEST_PATH or (bool(unknown) and posixpath.dirname(begin) in ("/", ""))


def _by_entry(path: str, project: str) -> set[str]:
    """What it means to find a name anywhere below a place: the project's sources, or something of every program."""
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


def _by_tree(path: str, whole: str, home: str, project: str) -> set[str]:
    found = set()
    # Without regard to case, as the patterns are.
    if whole.lower() in _TOP or f"{path}/".lower().startswith(_SYSTEM):
        found.add("system")
    if _is_home(whole, home):
        found.add("home")
    if "secret" in _by_name(path) and not (project and path.startswith(f"{project}/")):
        found.add("credential")
    inside = bool(project) and path.startswith(f"{project}/")
    is_above = bool(project) and project.startswith(whole.rstrip("/") + "/")
    if path.startswith("/") and not (inside or is_above or whole == project or path.startswith("/dev/")):
        found.add("generated" if _GENERATED.fullmatch(posixpath.basename(whole)) else "outside")
    return found


def _is_home(whole: str, home: str) -> bool:
    """A home directory, or one of its own directories such as ~/Documents or ~/.config."""
    if re.fullmatch(r"~\w*|/home/[^/]+|/Users/[^/]+|/root", whole):
        return True
    parent, name = posixpath.split(whole)
    is_top = parent == home or re.fullmatch(r"~|/home/[^/]+|/Users/[^/]+|/root", parent) is not None
    known = re.fullmatch(
        r"\.(?:ssh|config|gnupg|aws|kube|local|mozilla|docker)|Documents|Desktop|Downloads|Pictures|Library|Music|Videos",
        name,
    )
    return whole == home or (is_top and known is not None)


def _by_name(path: str) -> set[str]:
    name = posixpath.basename(path)
    found = set()
    if (
        _matches(name, PLACES_KNOWN["secret_names"]) or _matches(path, PLACES_KNOWN["secret_paths"])
    ) and not _NO_SECRET.search(path):
        found.add("secret")
    if (UNKNOWN in name or not name.strip("*?.")) and _matches(posixpath.dirname(path), PLACES_KNOWN["secret_paths"]):
        found.add("secret")
    if _GLOB.search(path) and any(_expands_to(path, each) for each in _hidden()):
        found.add("secret")
    return found | {
        kind for kind in ("startup", "access", "hooks", "log", "programs") if _matches(path, PLACES_KNOWN[kind])
    }


def _expands_to(glob: str, known: tuple[str, ...]) -> bool:
    """Whether a shell may make this of a pattern: a leading dot has to stand in it, a lone star is too little."""
    parts = glob.split("/")[-len(known) :]
    if any(len(part) > _LONGEST_NAME for part in parts):
        return True  # no name is that long, so it can only be meant to hide one
    return len(parts) == len(known) and all(
        part.startswith(".") == name.startswith(".")
        and (name.startswith(".") or ("/" in glob and len(known) > 1) or len(part.strip("*?[]")) >= _TELLING_LETTERS)
        and fnmatch.fnmatchcase(name, part)
        for part, name in zip(parts, known, strict=True)
    )


@lru_cache(maxsize=1)
def _hidden() -> list[tuple[str, ...]]:
    """Files with secrets whose names say enough: those with a leading dot, and those in directories of their own."""
    names = [(each.rstrip("*."),) for each in PLACES_KNOWN["secret_names"] if each.startswith(".")]
    paths = [each.removeprefix("*/").rstrip("*") for each in PLACES_KNOWN["secret_paths"] if not each.endswith("/*")]
    names += [("id_rsa",), ("id_ed25519",)]
    keys = [(".ssh", name) for name in ("id_rsa", "id_ed25519", "id_ecdsa")]
    return [*names, *keys, *(tuple(each.split("/")) for each in paths if "*" not in each)]


@lru_cache(maxsize=64)
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    # Without regard to case: some file systems have none.
    return re.compile("|".join(fnmatch.translate(each) for each in patterns), re.IGNORECASE)


def _matches(text: str, patterns: tuple[str, ...]) -> bool:
    return _pattern(patterns).match(text) is not None
