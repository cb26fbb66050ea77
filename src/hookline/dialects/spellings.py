"""The spellings under which agents and models give the arguments that guards look at."""

from functools import cache

_FILE = "file_path path filepath file file_name filename target_file target_path absolute_path abs_path full_path"
_DIRECTORY = "path dir_path directory directory_path dir folder paths target_directory root search_path"
_WORKING = "directory cwd dir workdir working_dir working_directory dir_path"
_COMMAND = "command cmd commands script shell_command command_line"
_CONTENT = "content contents file_text text file_content new_content"
_OLD = "old_string old_str old_text"
_NEW = "new_string new_str new_text"
_IN_DIRECTORY = (_DIRECTORY, "pattern regex query")

_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "run_shell_command": (_COMMAND, _WORKING),
    "read_file": (_FILE,),
    "write_file": (_FILE, _CONTENT),
    "replace": (_FILE, _OLD, _NEW),
    "list_directory": (_DIRECTORY,),
    "glob": _IN_DIRECTORY,
    "search_file_content": _IN_DIRECTORY,
}


def argument_meant(tool: str, spelling: str) -> str | None:
    """Our name of the argument that a spelling may stand for in a call of our tool; only letters and digits count."""
    return _meanings(tool).get(_folded(spelling))


def must_be_text(tool: str, spelling: str) -> bool:
    """True for a command and for the path of one file: no agent takes them in another form than a text."""
    return argument_meant(tool, spelling) in ("command", "file_path")


@cache
def _meanings(tool: str) -> dict[str, str]:
    groups = [group.split() for group in _ARGUMENTS.get(tool, ())]
    return {_folded(name): names[0] for names in groups for name in names}


def _folded(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()
