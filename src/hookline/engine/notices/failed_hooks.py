"""Shows the user, once per session, each hook that failed: the model alone would read of it otherwise."""

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from hookline.files import make_private_directory, state_path
from hookline.protocol.constants import OnError
from hookline.protocol.text.exit_text import failure_notice
from hookline.protocol.verdict import HookExecutionResult, Verdict
from hookline.stderr import warn_user

_KEPT_S = 24 * 3600.0


class FailureNotice:
    """Remembers which failures were shown.

    `agent` is another program that asks as its hook command. It may start a process for each event, so its failures
    are remembered in files, and it is given the message as well, because its users don't see stderr.
    """

    def __init__(self, agent: str | None = None) -> None:
        self._agent = agent
        self._shown: set[str] = set()

    def report(self, verdict: Verdict, session: str) -> Verdict:
        """Shows what is new; the verdict then has it as a message to the user where another agent asks."""
        if verdict.success and all(run.answer is None or run.answer.doubt is None for run in verdict.runs):
            return verdict
        if not threading.main_thread().is_alive():  # the program ends, and has killed the hooks itself
            return verdict
        notices = list(self._fresh(verdict, session))
        for notice in notices:
            warn_user(notice)
        if not notices or self._agent is None:
            return verdict
        message = "\n".join((*filter(None, (verdict.user_message,)), *(f"hookline: {notice}" for notice in notices)))
        return msgspec.structs.replace(verdict, user_message=message)

    def report_late(self, run: HookExecutionResult, session: str) -> None:
        """Shows the failure of a hook that ran in the background."""
        if run.failed and self._is_new(run, session):
            warn_user(failure_notice(run))

    def _fresh(self, verdict: Verdict, session: str) -> Iterator[str]:
        for run in verdict.runs:
            if is_failure(run) and self._is_new(run, session):
                yield failure_notice(run)

    def _is_new(self, run: HookExecutionResult, session: str) -> bool:
        key = f"{session}\0{run.event}\0{run.hook.origin}\0{run.hook.location}"
        if key in self._shown:
            return False
        self._shown.add(key)
        return self._agent is None or _is_new_here(f"{self._agent}\0{key}")


def is_failure(run: HookExecutionResult) -> bool:
    """Whether a hook did not do its work: it failed, or its answer blocks only because it can't be understood."""
    if run.failed:
        return True
    return run.hook.on_error is OnError.BLOCK and run.answer is not None and run.answer.doubt is not None


def _is_new_here(key: str) -> bool:
    """Whether no process of this user had the key within a day; True if that can't be known."""
    folder = state_path("failures")
    file = folder / hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32]
    try:
        make_private_directory(folder)
        _remove_old(folder)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    except OSError:
        return True
    return True


def _remove_old(folder: Path) -> None:
    for file in folder.iterdir():
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > _KEPT_S:
                file.unlink()
