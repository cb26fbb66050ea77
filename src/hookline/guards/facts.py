"""Tables of paths and programs, from data/facts.toml and data/arguments.toml."""

import tomllib
from importlib.resources import files

_known: dict[str, dict[str, list[str]]] = tomllib.loads(
    files(__package__).joinpath("data", "facts.toml").read_text("utf-8")
)
PATH_PATTERNS = {name: tuple(patterns) for name, patterns in _known["places"].items()}
SHELLS, FETCHING, READING, PASSING, GUESSED, TELLING, ESCAPING, SHADOWED = (
    frozenset(_known["programs"][name])
    for name in ("shells", "fetching", "reading", "passing", "guessed", "telling", "escaping", "shadowed")
)
_arguments: dict[str, dict[str, list[str]]] = tomllib.loads(
    files(__package__).joinpath("data", "arguments.toml").read_text("utf-8")
)
OPTIONS = {name: frozenset(options) for name, options in _arguments["options"].items()}
"""The options with a value, by program, or by program and subcommand."""
