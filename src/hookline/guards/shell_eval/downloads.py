"""Programs that a command downloads and then runs."""

import posixpath
import re

from hookline.guards.facts import SHELLS
from hookline.guards.shell_eval.calls import Call
from hookline.guards.shell_eval.commands import Commands

_FETCHING = ("curl", "wget", "aria2c", "fetch")


def note_downloads(commands: Commands) -> None:
    """Adds a call of its own for each downloaded file that is run later in the same command."""
    downloaded: set[str] = set()
    for call in list(commands.calls):
        if call.program in _FETCHING:
            downloaded |= _files(call)
        elif downloaded and _runs(call) & downloaded:
            commands.emit(("run-download",))
            return


def _files(call: Call) -> set[str]:
    target = call.value_of("-o", "--output", "-O", "--output-document") if call.program != "curl" else None
    target = call.value_of("-o", "--output") if call.program == "curl" else target
    found = {call.path(each) for each in (*call.writes, *([target] if target else []))}
    folder = call.value_of("-P", "--directory-prefix", "--output-dir") or "."
    for word in call.words[1:]:
        # wget, and curl -O, name the file after the address.
        is_address = re.match(r"https?://", word) or re.match(r"[\w-]+(?:\.[\w-]+)+/", word)
        if is_address and (call.program != "curl" or call.flags & {"-O", "--remote-name"}):
            found.add(call.path(f"{folder}/{posixpath.basename(word.split('?')[0])}"))
    return found


def _runs(call: Call) -> set[str]:
    found = {call.path(call.words[0])} if "/" in call.words[0] else set()
    if call.program in SHELLS or call.program in ("source", ".", "python", "python3", "perl", "node", "ruby"):
        found |= {call.path(each) for each in call.operands[:1]}
    return found
