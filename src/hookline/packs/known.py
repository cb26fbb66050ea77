"""What paths and programs are known for, from data/known.toml."""

import tomllib
from importlib.resources import files

_known: dict[str, dict[str, list[str]]] = tomllib.loads(
    files(__package__).joinpath("data", "known.toml").read_text("utf-8")
)
PLACES_KNOWN = {name: tuple(patterns) for name, patterns in _known["places"].items()}
SHELLS, FETCHING, READING, PASSING = (
    frozenset(_known["programs"][name]) for name in ("shells", "fetching", "reading", "passing")
)
