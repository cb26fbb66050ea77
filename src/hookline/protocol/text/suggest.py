"""What somebody may have meant who misspelled a word of ours."""

from collections.abc import Iterable, Sequence

from hookline.protocol.text.strings import nearest


def nearest_word(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known word that is most like this one, if any is."""
    spelled = {one.lower(): one for one in known}
    near = nearest(word.lower(), spelled, cutoff=cutoff)
    return spelled[near] if near else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str, *, cutoff: float = 0.6) -> str:
    """The advice for a word that is not known: the nearest one, or what is said where none is near."""
    near = nearest_word(word, known, cutoff=cutoff)
    return otherwise if near is None else f"did you mean {near}?"


def misspelled_option(words: Sequence[str], known: Iterable[str]) -> tuple[str | None, str | None]:
    """The first option among the words that is not known, and the one that is most like it."""
    options = {*known}
    for word in words[: words.index("--")] if "--" in words else words:
        name = word.partition("=")[0]
        if name.startswith("-") and name.strip("-")[:1].isalpha() and name not in options:
            return name, nearest_word(name, options, cutoff=0.7)
    return None, None
