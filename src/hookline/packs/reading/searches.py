"""Searches through whole directories, which read the files with secrets in them, too."""

import re

from hookline.contract.secrets import asks_for_secrets
from hookline.packs.places import places
from hookline.packs.reading.calls import Call

_GREP = frozenset(("grep", "egrep", "fgrep", "zgrep", "ugrep"))
# These leave hidden and ignored files out, unless they are told not to.
_CAREFUL = {
    "rg": frozenset(("-u", "-uu", "-uuu", "--unrestricted", "--hidden", "-.", "--no-ignore")),
    "ag": frozenset(("-u", "--unrestricted", "--hidden", "-U", "--skip-vcs-ignores")),
}
_RECURSIVE = frozenset(("-r", "-R", "--recursive", "--dereference-recursive"))
_PATTERN = ("-e", "--regexp")
_NARROWING = frozenset(("--include", "-g", "--glob", "-t", "--type", "-G"))
_WHOLE = frozenset(("root", "system", "home", "project", "unknown"))
_WORD = re.compile(r"(?i:\b(?:key|token|pass|auth)s?\b)")


def seeks_secrets(call: Call, home: str, project: str) -> bool:
    """Whether a call searches a project, a home or the system for secrets, and not only in one kind of files."""
    if call.program in _GREP:
        is_wide = bool(call.flags & _RECURSIVE) or "recurse" in (call.value_of("-d", "--directories") or "")
    elif call.program in _CAREFUL:
        is_wide = bool(call.flags & _CAREFUL[call.program])
    else:
        return False
    if not is_wide:
        return False
    # Of a project one kind of files may be searched; elsewhere it is not the agent's business.
    wanted = _WHOLE - {"project"} if call.flags & _NARROWING else _WHOLE
    pattern = call.value_of(*_PATTERN)
    operands = call.operands if pattern is not None else call.operands[1:]
    pattern = pattern if pattern is not None else next(iter(call.operands), "")
    is_sought = asks_for_secrets(pattern) or ("-i" in call.flags and _WORD.search(pattern) is not None)
    return is_sought and any(
        not wanted.isdisjoint(places(call.path(each), home, project)) for each in operands or (".",)
    )
