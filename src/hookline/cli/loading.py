"""Loads a package without optional modules that it looks for, where a short command has no use for them."""

import sys
from importlib import import_module


def load_without(package: str, *optional: str) -> None:
    """Import the package as if these modules were not installed; afterwards others can import them as ever."""
    hidden = [name for name in optional if name not in sys.modules] if package not in sys.modules else []
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # what the import system takes for "not there"
    try:
        import_module(package)
    finally:
        for name in hidden:
            del sys.modules[name]
