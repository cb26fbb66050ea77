"""Variables in a command or a header that nothing sets, so that nothing is put in their place."""

import re
from collections.abc import Iterable, Iterator

from hookline.engine.system import passes_of
from hookline.inspect.view import Setup
from hookline.protocol.constants import CHILD_MARK, PROJECT_DIR_VARIABLES
from hookline.protocol.hook_entry import HookEntry, HttpTarget
from hookline.settings.read.files import Problem
from hookline.shell.lexer import read_script
from hookline.shell.pieces import Expansion, Item, Word

# Set by bash itself, or by every shell.
_OF_THE_SHELL = frozenset(
    """
    BASH BASHOPTS BASHPID COLUMNS DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HOSTNAME HOSTTYPE IFS LINENO
    LINES MACHTYPE OLDPWD OPTARG OPTERR OPTIND OSTYPE PATH PIPESTATUS PPID PS4 PWD RANDOM REPLY SECONDS SHELL SHELLOPTS
    SHLVL SRANDOM TERM UID _
    """.split()
)
# `${NAME:-default}` and the like say themselves what happens to an unset variable.
_HANDLES_UNSET = re.compile(r"\$\{\w+:?[-=?+]")


def unset_variables(setup: Setup) -> Iterator[Problem]:
    """Commands and headers with variables that neither the environment nor the hook's own `env` sets."""
    passes = passes_of(setup.options.environment)
    inherited = {name for name in setup.environ if passes is None or passes(name)}
    for hook in setup.active():
        known = {*inherited, *hook.env, *PROJECT_DIR_VARIABLES, CHILD_MARK}
        for name in dict.fromkeys(name for name in _used(hook) if name not in known | _OF_THE_SHELL):
            remedy = 'set it in "env" of this hook, or write its value'
            yield setup.at(hook, f"uses {_empty(name, setup)}; {remedy}", "command")
        # Settings without the name in allowedEnvVars are reported when they are read.
        allowed = hook.run.used & set(hook.run.variables) if isinstance(hook.run, HttpTarget) else set()
        for name in sorted(allowed - known):
            remedy = 'set it where the agent is started, or in "env" of this hook'
            yield setup.at(hook, f"use {_empty(name, setup)}; {remedy}", "headers")


def _empty(name: str, setup: Setup) -> str:
    withheld = " for hooks (hooksConfig.environment)" if name in setup.environ else ""
    return f"${name}, which is not set here{withheld}, so it is empty"


def _used(hook: HookEntry) -> Iterator[str]:
    command = hook.command or ""
    for piece in _expansions(read_script(command)[0]):
        if piece.name and not _HANDLES_UNSET.match(piece.source) and not _is_set_in(command, piece.name):
            yield piece.name


def _expansions(items: Iterable[Item]) -> Iterator[Expansion]:
    for item in items:
        for piece in item.expansions if isinstance(item, Word) else ():
            yield piece
            yield from _expansions(piece.items)


def _is_set_in(command: str, name: str) -> bool:
    """Whether the command mentions the name without a dollar sign: an assignment, `read NAME`, `for NAME in`."""
    return re.search(rf"(?<![\w$])(?<!\$\{{){re.escape(name)}(?!\w)", command) is not None
