"""The record of a user's decision about whether a hook may run."""

import os
import pwd
from typing import Any

from hookline.protocol.records import Consent, ConsentRecord, LogLevel


def consent_record(action: Consent, *, via: str, hook: str, **more: Any) -> ConsentRecord:
    """The record of a decision that the user of this process makes now; `more` are fields that say about what."""
    uid, user, terminal = os.getuid(), user_name(), _terminal()
    where = f"on {terminal}" if terminal else "without a terminal"
    return ConsentRecord(
        level=LogLevel.INFO,
        message=f"{hook} was {action} by {user} (uid {uid}) {where}, with {via}",
        action=action,
        via=via,
        hook=hook,
        uid=uid,
        user=user,
        terminal=terminal,
        **more,
    )


def user_name() -> str:
    """Return the name of the user who runs this program, or the user's number if the system has no name for it."""
    # Not getpass.getuser, which believes the environment.
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _terminal() -> str | None:
    for descriptor in range(3):
        try:
            return os.ttyname(descriptor)
        except OSError:
            continue
    return None
