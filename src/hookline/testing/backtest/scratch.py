"""A copy of a project as a revision of git has it, in a directory that is removed again."""

import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hookline.errors import UsageError

_GIT_S = 120.0


@contextmanager
def project_at(project: str, revision: str) -> Iterator[Path]:
    """The project's files at a revision. Raises UsageError if git does not have it."""
    commit = _git(project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not commit:
        raise UsageError(f"{revision} is neither a file nor a revision of the git repository of {project}")
    prefix = _git(project, "rev-parse", "--show-prefix").decode("utf-8", "replace").strip()
    tree = f"{commit.decode().strip()}:{prefix}".rstrip("/") if prefix else commit.decode().strip()
    packed = _git(project, "archive", "--format=tar", tree)
    with TemporaryDirectory(prefix="hookline-backtest-") as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(os.path.realpath(folder))


def _git(project: str, *words: str) -> bytes:
    # No configuration of the repository may start a program.
    command = ["git", "-C", project, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *words]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_S, check=False)  # noqa: S603 - git itself
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git can't be used here: {error}") from error
    return done.stdout if done.returncode == 0 else b""
