"""Which key belongs to which machine: listed by the company, or pinned when it was first seen."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from hookline.errors import HooklineError, UsageError
from hookline.files import locked, make_private_directory, state_path, write_atomically

Person = tuple[str, str]
"""A machine and a user."""

_HEX_KEY = 64


def pins_path() -> Path:
    """The file of the keys that were seen here."""
    return state_path("fleet/pins.json")


def read_pins(path: Path | None = None) -> dict[Person, str]:
    """The keys that were seen before."""
    path = path or pins_path()
    try:
        rows = msgspec.json.decode(path.read_bytes(), type=list[tuple[str, str, str]])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        # Nothing else knows whose key was seen first, so an unreadable file must not count as none.
        raise HooklineError(
            f"the pinned keys in {path} can't be read ({error}); restore the file, or remove it"
        ) from error
    return {(machine, user): key for machine, user, key in rows}


def add_pins(seen: Mapping[Person, str], path: Path | None = None) -> None:
    """Pins the keys of machines that have none yet."""
    path = path or pins_path()
    make_private_directory(path.parent)
    with suppress(OSError), locked(path):
        pinned = read_pins(path)
        if seen.keys() <= pinned.keys():
            return
        rows = [(*person, key) for person, key in sorted({**seen, **pinned}.items())]
        write_atomically(path, msgspec.json.encode(rows))


def read_listed(file: Path) -> dict[Person, str]:
    """The company's own list, a line for each: machine, user, key."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(f"the keys in {file} can't be read: {error.strerror}") from error
    found: dict[Person, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 3 or len(words[2]) != _HEX_KEY:  # noqa: PLR2004 - machine, user, key
            raise UsageError(f"{file}:{number} is not a machine, a user and a key; hookline fleet status shows them")
        found[words[0], words[1]] = words[2]
    return found
