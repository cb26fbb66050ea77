"""The state that a warm interpreter inherited at its start and that may differ at an event."""

import os
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any

from hookline.protocol.constants import CHILD_MARK
from hookline.runners.process.command import Invocation
from hookline.runners.warm.launch_spec import LaunchSpec, Signature, signature

# Python, its libraries and the C library read these when they start.
_READ_AT_START = (
    b"PYTHON",
    b"LD_",
    b"LC_",
    b"LANG",
    b"TZ",
    b"HOME=",
    b"PYENV",
    b"MALLOC_",
    b"GLIBC_",
    b"OPENSSL_",
    b"LOCPATH=",
)
# The other variables of Python make it print, trace or wait while it starts.
_HARMLESS = frozenset(
    f"PYTHON{name}".encode()
    for name in (
        *(
            "PATH",
            "UNBUFFERED",
            "DONTWRITEBYTECODE",
            "IOENCODING",
            "UTF8",
            "HASHSEED",
            "HOME",
            "NOUSERSITE",
            "USERBASE",
        ),
        *("WARNINGS", "SAFEPATH", "PYCACHEPREFIX", "OPTIMIZE", "COERCECLOCALE", "INTMAXSTRDIGITS", "BREAKPOINT"),
    )
)
_MARK = CHILD_MARK.encode() + b"="
_OWN_OF_RUNS = (CHILD_MARK.encode(), b"_")
# The inherited part of /proc/self/status; the rest of the file changes all the time.
_INHERITED = re.compile(rb"^(?:Umask|Uid|Gid|Groups|Cap...|NoNewPrivs|Seccomp|Cpus_allowed):.*", re.MULTILINE)
_SIGNALS = re.compile(rb"^Sig(?:Blk|Ign):\s*(\w+)", re.MULTILINE)
# 32 and 33 are the C library's own, which changes them when the first thread starts. Programs can't even name them.
_NAMED_SIGNALS = ~(3 << 31)
_STATUS_BYTES = 1 << 14


def facts_of(spec: LaunchSpec, invocation: Invocation, cwd: str) -> tuple[Any, ...] | None:
    """All of it, to be compared; None with a variable that makes Python start in another way."""
    found = read_at_start(invocation.env)
    if found is None:
        return None
    folder = os.path.dirname(spec.python)
    program = signature(spec.python)
    return (
        program,
        signature(f"{folder}/pyvenv.cfg"),
        signature(f"{folder}/../pyvenv.cfg"),
        *(signature(f"{path}._pth") for path in _executables(spec.python, program)),
        signature("/etc/localtime"),
        found,
        own_state(),
        _version_files(spec, cwd) if spec.is_shim else None,
    )


@lru_cache(maxsize=64)
def _executables(python: str, _signed: Signature) -> tuple[str, ...]:
    """The files beside which Python looks for a list of its folders."""
    return tuple({python: None, os.path.realpath(python): None})


def own_state() -> tuple[Any, ...]:
    """Return the state that a child inherits besides the environment: user, umask, signals, limits, priority."""
    status = _read("/proc/thread-self/status")
    signals = [int(found, 16) & _NAMED_SIGNALS for found in _SIGNALS.findall(status)]
    return (
        *_INHERITED.findall(status),
        *signals,
        _read("/proc/self/limits"),
        _read("/proc/self/oom_score_adj"),
        os.getpriority(os.PRIO_PROCESS, 0),
        os.sched_getscheduler(0),
        os.sched_getparam(0).sched_priority,
    )


@lru_cache(maxsize=16)
def variables(env: tuple[bytes, ...]) -> dict[bytes, bytes]:
    """The variables of an encoded environment in their order; the mark and `_` are other ones in each run, so empty."""
    pairs = (entry.partition(b"=") for entry in env)
    return {name: b"" if name in _OWN_OF_RUNS else value for name, _, value in pairs}


def marks_in(env: tuple[bytes, ...]) -> bytes:
    """The marks of the runs that this program itself is part of."""
    return next((entry[len(_MARK) :] for entry in env if entry.startswith(_MARK)), b"")


@lru_cache(maxsize=16)
def read_at_start(env: tuple[bytes, ...]) -> tuple[bytes, ...] | None:
    """The variables of an encoded environment that Python reads at its start; None if one makes it start otherwise."""
    found = tuple(sorted(entry for entry in env if entry.startswith(_READ_AT_START)))
    return None if any(map(_keeps_cold, found)) else found


def why_cold(env: Iterable[bytes]) -> str | None:
    """Return the variable that prevents warm runs, with a remedy; None without one."""
    for entry in sorted(filter(_keeps_cold, env)):
        name, _, value = entry.partition(b"=")
        return f"{os.fsdecode(name)} is {'set' if value else 'empty'}; unset it"
    return None


def _keeps_cold(entry: bytes) -> bool:
    # An empty PYTHONPATH counts as none, and could not be told from none any more.
    is_unknown = entry.startswith(b"PYTHON") and entry.partition(b"=")[0] not in _HARMLESS
    return is_unknown or entry == b"PYTHONPATH="


def _version_files(spec: LaunchSpec, cwd: str) -> tuple[Signature, ...]:
    """The files in which pyenv looks for the version to use."""
    root = spec.python.removesuffix("/shims/" + os.path.basename(spec.python))
    script_folder = os.path.dirname(os.path.join(cwd, spec.script))
    slots = [f"{root}/version"]
    for start in (cwd, script_folder):
        folder = os.path.realpath(start)
        while True:
            slots.append(f"{folder}/.python-version")
            parent = os.path.dirname(folder)
            if parent == folder:
                break
            folder = parent
    return tuple(map(signature, slots))


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, _STATUS_BYTES)
    finally:
        os.close(fd)


def shadowed_modules(folder: str, names: AbstractSet[str]) -> frozenset[str]:
    """Return the top-level modules among `names` that Python would import from a folder or archive."""
    try:
        found = os.listdir(folder)
    except NotADirectoryError:
        return _hidden_by_archive(folder, names)
    except OSError:
        return frozenset()
    return frozenset(name.partition(".")[0] for name in found) & names


def _hidden_by_archive(path: str, names: AbstractSet[str]) -> frozenset[str]:
    import zipimport  # noqa: PLC0415 - few scripts have archives

    try:
        archive = zipimport.zipimporter(path)
    except zipimport.ZipImportError:
        return frozenset()
    archive.invalidate_caches()
    return frozenset(name for name in names if archive.find_spec(name) is not None)
