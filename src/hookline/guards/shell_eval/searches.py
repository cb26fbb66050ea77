"""Searches through whole directories, which read the files with secrets in them, too."""

import re

from hookline.guards.path_kinds import kinds_of
from hookline.guards.shell_eval.calls import Call
from hookline.guards.shell_eval.words import ENTRY
from hookline.protocol.text.secret_names import asks_for_secrets

_GREP = frozenset(("grep", "egrep", "fgrep", "zgrep", "ugrep"))
# These leave hidden and ignored files out, unless they are told not to.
_CAREFUL = {
    "rg": frozenset(("-u", "-uu", "-uuu", "--unrestricted", "--hidden", "-.", "--no-ignore")),
    "ag": frozenset(("-u", "--unrestricted", "--hidden", "-U", "--skip-vcs-ignores")),
}
SEEKING = _GREP | _CAREFUL.keys()
"""The programs that search."""
_RECURSIVE = frozenset(("-r", "-R", "--recursive", "--dereference-recursive"))
_PATTERN = ("-e", "--regexp")
_NARROWING = frozenset(("--include", "-g", "--glob", "-t", "--type", "-G"))
_WHOLE = frozenset(("root", "system", "home", "project", "unknown"))
_WORD = re.compile(r"(?i:\b(?:key|token|pass|auth)s?\b)")


def _gets_all_files(call: Call) -> bool:
    """Whether it is run for everything that a search through directories finds."""
    is_given = not {"find", "gfind", "xargs", "gxargs", "fd"}.isdisjoint(call.via)
    return is_given and any(word.rpartition("/")[2] in ("*", ENTRY) for word in call.operands)


def seeks_secrets(call: Call, home: str, project: str) -> bool:
    """Whether a call searches a project, a home or the system for secrets, and not only in one kind of files."""
    if call.program in _GREP:
        is_wide = bool(call.flags & _RECURSIVE) or "recurse" in (call.value_of("-d", "--directories") or "")
    elif call.program in _CAREFUL:
        is_wide = bool(call.flags & _CAREFUL[call.program])
    else:
        return False
    pattern = call.value_of(*_PATTERN)
    if not is_wide:
        return _gets_all_files(call) and asks_for_secrets(pattern or next(iter(call.operands), ""))
    # Of a project one kind of files may be searched; elsewhere it is not the agent's business.
    wanted = _WHOLE - {"project"} if call.flags & _NARROWING else _WHOLE
    operands = call.operands if pattern is not None else call.operands[1:]
    pattern = pattern if pattern is not None else next(iter(call.operands), "")
    # `token` alone is a usual word in sources; two such words are not.
    count = len(_WORD.findall(pattern))
    is_sought = asks_for_secrets(pattern) or count > 1 or ("-i" in call.flags and count > 0)
    return is_sought and any(
        not wanted.isdisjoint(kinds_of(call.path(each), home, project)) for each in operands or (".",)
    )
