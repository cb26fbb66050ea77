"""Programs with commands of their own, some of which start others: editors, debuggers, shells of databases."""

import re
from collections.abc import Iterator

from hookline.guards.facts import ESCAPING
from hookline.guards.shell_eval.calls import Call, Reader, Stream
from hookline.guards.shell_eval.code import is_harmless
from hookline.guards.shell_eval.guesses import guess

EDITORS = ("vim", "vi", "nvim", "ex", "view", "ed", "gvim", "rvim", "mvim", "vimdiff", "nvimdiff", "vimx", "gview")
DEBUGGERS = ("gdb", "lldb", "gdb-multiarch", "cgdb")
DATABASES = tuple(sorted(ESCAPING & {"psql", "mysql", "mariadb", "sqlite3", "sqlite", "duckdb", "clickhouse-client"}))
_RANGE = re.compile(r"\A[:\s]*(?:[%.$\d,+;\s-]|'.|/(?:\\.|[^/\\])*/|\?(?:\\.|[^?\\])*\?|\\[/?&])*")
# These run the command behind them.
_MODIFIER = re.compile(
    r"(?:sil(?:ent)?!?|noa(?:utocmd)?|verb(?:ose)?|vert(?:ical)?|tab|keep\w+|bufdo|argdo|windo|tabdo|cdo|cfdo|ldo|lfdo"
    r"|bot(?:right)?|top(?:left)?|\d*conf(?:irm)?|hide|lockmarks|sandbox|debug)\b!?\s*"
)
_GLOBAL = re.compile(r"(?:g|v|global|vglobal)!?\s*([^\w\s\\])(?:\\.|(?!\1)[^\\])*\1")
_PROGRAM = re.compile(r"(?:(?:r|read|w|write)\s*)?!+\s*(.*)", re.DOTALL)
_EXECUTED = re.compile(r"exe(?:cute)?\s+([\"'])((?:(?!\1).)*)\1$")
_HARMLESS = re.compile(
    r"$|[#\"]|q(?:uit)?(?:a(?:ll)?)?!?$|wqa?!?$|xa?!?$|x(?:it|all)!?$|cq(?:uit)?!?$|wa(?:ll)?!?$|up(?:date)?$|noh\w*$|[dpjy=><&k]$"
    r"|(?:s|su\w*|smagic|&)\b|s[^\w\s]|d(?:elete)?\b|(?:sort|retab|y(?:ank)?|pu(?:t)?|m(?:ove)?|t|co(?:py)?|j(?:oin)?|norm(?:al)?)\b"
    r"|(?:e(?:dit)?|sp(?:lit)?|vs(?:plit)?|tabe\w*|tabnew|b(?:uffer)?|bn(?:ext)?|bp\w*|ls|files|n(?:ext)?|open|view|diff\w*|fold\w*)\b"
    r"|(?:se(?:t)?|setl(?:ocal)?|sy(?:ntax)?|filetype|colo(?:rscheme)?|hi(?:ghlight)?|help?|h|messages|ver(?:sion)?|pwd|cd|lcd"
    r"|echo(?:m(?:sg)?)?|let|call|lua|startinsert|nu(?:mber)?|pr(?:int)?|l(?:ist)?|wincmd|only|new|vnew|copen|cn(?:ext)?|redir"
    r"|f(?:ile)?|u(?:ndo)?|red(?:o)?|checkhealth|packadd|ta(?:g)?|H|a|i|c|P)\b|[A-Z]\w*!?"
)
_EXPRESSIONS = re.compile(r"(?:echo\w*|let|call|lua|norm(?:al)?)\b(.*)", re.DOTALL)
_RUNS_BY_OPTION = re.compile(r"se(?:t|tl|tlocal)?\s.*(?:sh(?:ell)?\w*|\w+prg|\w+expr|\w+func|modeline\w*)\s*[+^]?=")
_WRITES = re.compile(r"(?:w(?:rite)?|sav(?:eas)?|wq|up)\b!?\s*(?:>>\s*)?(\S.*)")
_READS = re.compile(r"(?:r(?:ead)?|e(?:dit)?|sp(?:lit)?|vs(?:plit)?)\b!?\s*(\S.*)")


def editor(commands: Reader, call: Call) -> Stream | None:
    """Follows the commands that an editor gets at its start, or in its input: a command that is not known is unsure."""
    lines = [*_of_editor(call.words[1:])]
    if call.program in ("ed", "ex") or any(re.fullmatch(r"-\w*[es]s?\w*|-", word) for word in call.words[1:]):
        text = call.stdin.text or ""
        lines += text.splitlines() if "\n" in text or text else ()
        if call.stdin.is_given and call.stdin.text is None and "file" not in call.stdin.kinds:
            commands.doubt("an editor gets its commands from another program")
    is_typing = False
    for line in lines:
        if is_typing and call.program in ("ed", "ex"):
            is_typing = line != "."
            continue
        is_typing = re.fullmatch(r"[\d$.,]*[aic]", line.strip()) is not None
        _edited(commands, call, line)
    return None


def _of_editor(words: tuple[str, ...]) -> Iterator[str]:
    """The commands in the options: `+CMD`, `-c CMD`, `-sc CMD`, `-cCMD`, `--cmd CMD`."""
    for word, following in zip(words, (*words[1:], ""), strict=False):
        if word.startswith("+"):
            yield word[1:]
        elif word == "--cmd" or (found := re.match(r"-[A-Za-z]*?c(.*)", word, re.DOTALL)) is None:
            if word == "--cmd":
                yield following
        else:
            yield found[1] or following


def _edited(commands: Reader, call: Call, line: str) -> None:
    text = _RANGE.sub("", line, count=1)
    while (found := _MODIFIER.match(text) or _GLOBAL.match(text)) is not None and found.end():
        text = text[found.end() :]
        text = _RANGE.sub("", text, count=1)
    if found := _EXECUTED.fullmatch(text.strip()):
        _edited(commands, call, found[2])
    elif found := _PROGRAM.match(text):
        commands.inner(found[1], via=(*call.via, "vim"))
    elif found := _WRITES.match(text):
        commands.emit(("tee", found[1].split("|")[0].strip()), via=(*call.via, "vim"))
    elif not _is_plain(text):
        commands.doubt("an editor runs code")
    elif found := _READS.match(text):
        commands.emit(("cat", found[1].split("|")[0].strip()), via=(*call.via, "vim"))
    substitution = re.match(r"s([^\w\s\\])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1?", text)
    rest = text[substitution.end() :] if substitution else text
    if "|" in rest and not _PROGRAM.match(text):
        _edited(commands, call, rest.partition("|")[2])


def _is_plain(text: str) -> bool:
    """Whether a command of an editor starts nothing."""
    if re.match(r"(?:w(?:rite)?|r(?:ead)?)!?$", text):
        return True
    if not (_HARMLESS.match(text) or _READS.match(text)) or _RUNS_BY_OPTION.match(text) or "\\=" in text:
        return False
    if re.match(r"[A-Z]", text):
        return "!" not in text[text.find(" ") :] if " " in text else True
    found = _EXPRESSIONS.match(text)
    if found is None:
        return True
    return (
        not re.search(r"[:!@]", found[1])
        if text.startswith("norm")
        else is_harmless(re.sub(r"\b[gbwstlav]:", "", found[1]))
    )


_DEBUGGER_OPTIONS = frozenset(
    (
        *("-ex", "-iex", "-eval-command", "--eval-command", "-init-eval-command", "--init-eval-command", "-eiex"),
        *("-o", "--one-line", "-O", "--one-line-before-file", "-k", "--one-line-on-crash"),
    )
)
_DEBUGGER_HARMLESS = re.compile(
    r"\s*(?:r|run|bt|backtrace|where|i|info|t|thread|threads|q|quit|c|continue|set|l|list|b|br|break|breakpoint|tbreak|rbreak"
    r"|s|step|si|stepi|n|next|ni|nexti|p|print|po|x|disas\w*|f|frame|up|down|finish|until|watch|rwatch|display|undisplay|kill|detach"
    r"|file|start|starti|attach|core|core-file|symbol-file|target|directory|dir|layout|tui|echo|printf|ptype|whatis|show|help|delete"
    r"|enable|disable|condition|ignore|commands|handle|signal|record|reverse-\w+|checkpoint|process|image|register|memory|settings"
    r"|expr|expression|v|fr|th|bt\s+\w+|stop|define|end|document|maint|alias|add-symbol-file|set-\w+|generate-core-file|gcore)\b"
)
_DEBUGGER_CALLS = re.compile(
    r"\b(?:system|exec\w*|popen|fork|dlopen|unlink|remove|_shell|posix_spawn\w*)\s*\(|process\s+launch\s+--"
)


def debugger(commands: Reader, call: Call) -> Stream | None:
    """Follows the commands that a debugger gets: those for a shell, and any that is not known is unsure."""
    words = call.words[1:]
    for word, following in zip(words, (*words[1:], ""), strict=False):
        name, equals, value = word.partition("=")
        if name in _DEBUGGER_OPTIONS:
            line = value if equals else following
            if found := re.match(r"\s*(?:!|shell\b|platform\s+shell\b|make\b|pipe\b[^|]*\|)\s*(.*)", line, re.DOTALL):
                commands.inner(found[1], via=(*call.via, call.program))
            elif not _DEBUGGER_HARMLESS.match(line) or _DEBUGGER_CALLS.search(line):
                commands.doubt("a debugger runs code")
    if mark := next((each for each in ("--args", "--") if each in words), None):
        rest = words[words.index(mark) + 1 :]
        if rest[1:]:
            commands.emit(rest, stdin=call.stdin, via=(*call.via, call.program))
    guess(commands, call)
    return None


# SQL that leaves the database, and commands of its shell that write into a program or load code.
_LEAVES = re.compile(
    r"\bprogram\s+'|\bprogram\s*\$|\bload_extension\s*\(|\bedit\s*\(\s*'[^']*'\s*,|\binto\s+(?:out|dump)file\b|\bxp_cmdshell\b"
    r"|\bsys_(?:exec|eval)\s*\(|\blo_export\s*\(|\blanguage\s+'?(?:pl(?:python|perl)\w*u|c)\b|\\setenv\b|\bexecutable\s*\("
    r"|\\(?:g|gx|o|out|w|write|copy)\b[^\n]*\|\s*\w|(?:^|\n)\s*\.\w+\b[^\n]*?[\"'\s]\|\s*\w|(?:^|\n)\s*\.(?:load|excel|www)\b"
    r"|\binstall\s+\w+\s*;?\s*load\b",
    re.IGNORECASE,
)
_PAGER = re.compile(r"--pager=(.+)", re.DOTALL)


def database(commands: Reader, call: Call) -> Stream | None:
    """Follows the shell of a database: the commands behind its marks, and SQL that starts programs or writes files."""
    guess(commands, call)
    for word in call.words[1:]:
        if found := _PAGER.match(word):
            commands.inner(found[1], via=(*call.via, call.program))
    if any(map(_LEAVES.search, call.pieces)) or any(map(_LEAVES.search, call.words[1:])):
        commands.doubt("a database starts a program, or writes a file")
    return None
