"""Other forms of a path."""

import posixpath
from collections.abc import Iterator

from hookline.testing.mutants.mutant import Mutant, MutantKind

A_LINK = "a link"

# Letters that look like Latin ones.
_ALIKE = str.maketrans("aeopcxAEOPCX", "аеорсхАЕОРСХ")  # noqa: RUF001 - on purpose


def mutants_of(path: str, project: str, link: str, *, ignores_case: bool = False) -> Iterator[Mutant]:
    """The forms of a path that lead to the same file, and names that only look like it.

    `link` is a symbolic link to it, which the caller has made. Where the file system ignores the case of letters,
    another case is the same file, and elsewhere it is another file.
    """
    whole = posixpath.normpath(posixpath.join(project, path))
    for way, text in (
        ("a dot before it", f"./{path}" if not path.startswith("/") else f"/.{path}"),
        ("through its parent", posixpath.join(posixpath.dirname(path), "x", "..", posixpath.basename(path))),
        ("two slashes", whole.replace("/", "//", 1) if whole.startswith("/") else f".//{path}"),
        ("the whole path", whole),
        (A_LINK, link),
        ("letters in another case", posixpath.join(posixpath.dirname(path), posixpath.basename(path).swapcase())),
    ):
        is_other_file = way == "letters in another case" and not ignores_case
        if text != path and not is_other_file:
            yield Mutant(kind=MutantKind.SAME, way=way, text=text)
    name = posixpath.basename(path)
    for way, text in (
        ("an example of it", f"{path}.example"),
        ("a page about it", posixpath.join("docs", f"about-{name.lstrip('.')}.md")),
        ("look-alike letters", posixpath.join(posixpath.dirname(path), name.translate(_ALIKE))),
    ):
        if text != path:
            yield Mutant(kind=MutantKind.HARMLESS, way=way, text=text)
