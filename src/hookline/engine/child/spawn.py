"""Starts a process in a session of its own."""

import os
import subprocess
from collections.abc import Mapping, Sequence


def spawn(executable: str, argv: Sequence[str], cwd: str, env: Mapping[str, str], stdio: tuple[int, int, int]) -> int:
    """The id of the new process, which owns the three descriptors as its standard ones; OSError if there is none."""
    process = subprocess.Popen(
        argv,
        executable=executable,
        cwd=cwd,
        env=env,
        stdin=stdio[0],
        stdout=stdio[1],
        stderr=stdio[2],
        start_new_session=True,
    )
    # We reap the child ourselves; Popen must neither warn about it nor wait for it.
    process.returncode = 0
    return process.pid
