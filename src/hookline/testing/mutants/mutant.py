"""One input that was made from another."""

from enum import StrEnum

import msgspec


class MutantKind(StrEnum):
    """The relation of a mutant to the input that it was made from."""

    SAME = "same"
    """It does the same, so the guard must also stop it."""
    HARMLESS = "harmless"
    """It only looks like it, so the guard has to let it pass."""


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """Another form of an input."""

    kind: MutantKind
    way: str
    """How it was made, in a few words."""
    text: str
