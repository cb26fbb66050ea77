"""Facts about paths and programs, from the files in data/."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def data(name: str) -> Mapping[str, Any]:
    """One of the files in data/."""
    return tomllib.loads(files(__package__).joinpath("data", f"{name}.toml").read_text("utf-8"))


def patterns(name: str, section: str = "patterns") -> Mapping[str, re.Pattern[str]]:
    """The regular expressions in a file: a list has alternatives, and `<name>` stands for another one."""
    raw = {key: each if isinstance(each, str) else "|".join(each) for key, each in data(name)[section].items()}

    def whole(text: str) -> str:
        return re.sub(r"<(\w+)>", lambda found: f"(?:{raw[found[1]]})" if found[1] in raw else found[0], text)

    return {key: re.compile(whole(text)) for key, text in raw.items()}


PATH_PATTERNS = {name: tuple(every) for name, every in data("facts")["places"].items()}
SHELLS, FETCHING, READING, PASSING, GUESSED, TELLING, ESCAPING, SHADOWED = (
    frozenset(data("facts")["programs"][name])
    for name in ("shells", "fetching", "reading", "passing", "guessed", "telling", "escaping", "shadowed")
)
OPTIONS = {name: frozenset(options) for name, options in data("arguments")["options"].items()}
"""The options with a value, by program, or by program and subcommand."""
