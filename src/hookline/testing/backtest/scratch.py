"""A copy of a project, as it is now or as a revision of git has it, in a directory that is removed again."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hookline.errors import UsageError

_GIT_S = 120.0
_SUBMODULE = "160000"


class NoCopyError(UsageError):
    """Git does not have the project, or not at that state."""


@contextmanager
def project_at(project: str, revision: str | None = None) -> Iterator[Path]:
    """A copy of the project at a revision, or as it is now with what is not committed. Raises NoCopyError.

    The copy is a repository of its own, so that hooks can ask git there. What git ignores, such as an environment
    with installed packages, is linked and not copied.
    """
    commit = _git(project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision or 'HEAD'}^{{commit}}")
    top = _git(project, "rev-parse", "--show-toplevel")
    if not commit or not top:
        raise NoCopyError(f"{revision or project} is neither a file nor a revision of the git repository of {project}")
    prefix = _git(project, "rev-parse", "--show-prefix")
    with TemporaryDirectory(prefix="hookline-backtest-") as folder:
        copy = Path(os.path.realpath(folder)) / Path(top).name
        _git(top, "clone", "--quiet", "--shared", "--no-checkout", "--", top, str(copy))
        _git(str(copy), "checkout", "--quiet", "--detach", commit)
        if not (copy / prefix).is_dir():
            raise NoCopyError(f"git can't copy {project} at {revision or 'its present state'}")
        if revision is None:
            _take_over(Path(top), copy)
        yield copy / prefix


def head_of(copy: Path) -> str:
    """The commit that a copy is at."""
    return _git(str(copy), "rev-parse", "HEAD")


def moved(value: Any, old: str, new: str) -> Any:
    """A JSON value whose texts name the copy where they name the project."""
    if isinstance(value, str):
        return re.sub(rf"{re.escape(old)}(?=[/\s'\":;,)]|$)", lambda _: new, value) if old in value else value
    if isinstance(value, list):
        return [moved(each, old, new) for each in value]
    return {key: moved(each, old, new) for key, each in value.items()} if isinstance(value, dict) else value


def _take_over(top: Path, copy: Path) -> None:
    """Brings what is not committed into the copy, and links what git does not keep."""
    for name in _listed(top, "--modified", "--deleted", "--others", "--exclude-standard"):
        (copy / name).unlink(missing_ok=True)
        if os.path.lexists(top / name) and not (top / name).is_dir():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(top / name, copy / name, follow_symlinks=False)
    submodules = [line.split("\t", 1)[1] for line in _listed(top, "--stage") if line.startswith(_SUBMODULE)]
    for name in (*_listed(top, "--others", "--ignored", "--exclude-standard", "--directory"), *submodules):
        target = copy / name.rstrip("/")
        if target.is_dir() and not any(target.iterdir()):
            target.rmdir()
        if not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(top / name.rstrip("/"))


def _listed(top: Path, *options: str) -> list[str]:
    return [name for name in _git(str(top), "ls-files", "-z", *options).split("\0") if name]


def _git(project: str, *words: str) -> str:
    # No configuration of the repository may start a program, and nothing is fetched.
    quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never"]
    command = ["git", "-C", project, *quiet, "-c", "protocol.file.allow=always", *words]
    environ = {**os.environ, "GIT_LFS_SKIP_SMUDGE": "1", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_S, check=False, env=environ)  # noqa: S603 - git itself
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoCopyError(f"git can't be used here: {error}") from error
    return os.fsdecode(done.stdout).strip("\n") if done.returncode == 0 else ""
