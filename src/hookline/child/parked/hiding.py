"""Which modules of the standard library a folder or archive hides that Python searches before."""

import os
from collections.abc import Set as AbstractSet


def hiding(folder: str, names: AbstractSet[str]) -> frozenset[str]:
    """Those of these outermost modules that Python would import from a folder or archive."""
    try:
        found = os.listdir(folder)  # noqa: PTH208 - pathlib is slow
    except NotADirectoryError:
        return _hidden_by_archive(folder, names)
    except OSError:
        return frozenset()
    return frozenset(name.partition(".")[0] for name in found) & names


def _hidden_by_archive(path: str, names: AbstractSet[str]) -> frozenset[str]:
    import zipimport  # noqa: PLC0415 - few scripts have archives

    try:
        archive = zipimport.zipimporter(path)
    except zipimport.ZipImportError:
        return frozenset()
    archive.invalidate_caches()
    return frozenset(name for name in names if archive.find_spec(name) is not None)
