"""Loads modules of others without what they load in turn, where a short command has no use for that.

Each module takes a tenth of a millisecond and more, and they add up to a third of the time of `hookline list`.
"""

import os
import sys
from importlib import import_module

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing
if TYPE_CHECKING:
    from typing import Any


def load_msgspec() -> None:
    """Import `msgspec` without modules that it does not use for what we do with it."""
    # `uuid` asks `platform` for the system's name alone.
    if sys.platform == "linux":
        _load("uuid", {"platform": _Module(system=lambda: os.uname().sysname)})
    # typing_extensions, which loads `inspect`, is for versions of Python that are older than ours.
    _load("msgspec", {"typing_extensions": None, "textwrap": _Late("textwrap")})


def load_asyncio(*, with_ssl: bool) -> None:
    """Import `asyncio` without what its loop does not use; ssl is a twentieth of a command that fires an event."""
    late = {"inspect": _LateInspect("inspect"), "locale": _Late("locale"), "logging": _LateLogging("logging")}
    _load("asyncio", late if with_ssl else {**late, "ssl": None})


def load_argparse() -> None:
    """Import `argparse` without translations of its messages: ours are in English, too."""
    _load("argparse", {"gettext": _Module(gettext=_same, ngettext=_same_of_two)})


def load_pathlib() -> None:
    """Import `pathlib` without `urllib.parse`, which it has for `Path.as_uri` alone, and loads then."""
    if sys.version_info < (3, 13):  # later ones do so by themselves
        _load("pathlib", {"urllib.parse": _Module(quote_from_bytes=_quote_from_bytes)})


def _load(package: str, instead: "dict[str, Any]") -> None:
    """Import the package while these stand for other modules, unless it or they are loaded already.

    None is what the import system takes for "not there". Afterwards everybody can import them as ever.
    """
    hidden = [name for name in instead if name not in sys.modules] if package not in sys.modules else []
    for name in hidden:
        sys.modules[name] = instead[name]
    try:
        import_module(package)
    finally:
        for name in hidden:
            if sys.modules.get(name) is instead[name]:
                del sys.modules[name]


_Module: "Any" = type(sys.implementation)  # types.SimpleNamespace, without loading `types`


class _Late:
    """A module that is loaded when something in it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> "Any":
        if attribute.startswith("__"):  # the import system asks, and does without
            raise AttributeError(attribute)
        if id(sys.modules.get(self._name)) == id(self):  # while the other module is loaded
            del sys.modules[self._name]
        return getattr(import_module(self._name), attribute)


class _LateInspect(_Late):
    def iscoroutinefunction(self, function: "Any") -> bool:
        """Without loading it for plain functions: a loop asks this when it is given a handler of a signal."""
        code = getattr(function, "__code__", None)
        if code is None or code.co_flags & _CO_COROUTINE or hasattr(function, "_is_coroutine_mark"):
            return bool(self.__getattr__("iscoroutinefunction")(function))
        return False


_CO_COROUTINE = 0x80


class _LateLogging(_Late):
    DEBUG = 10

    def getLogger(self, name: str) -> "_LateLogger":  # noqa: N802 - the name of that module
        """The logger of a module that has nothing to log in most programs."""
        return _LateLogger(name)

    def StreamHandler(self) -> None:  # noqa: N802
        """Nothing: without any handler a logger writes warnings to stderr, too."""


class _LateLogger:
    def __init__(self, name: str) -> None:
        self._name = name

    def addHandler(self, handler: object) -> None:  # noqa: N802
        """Takes a handler, unless it is the one that is not there."""
        if handler is not None:
            self.__getattr__("addHandler")(handler)

    def debug(self, *given: "Any", **options: "Any") -> None:
        """Logs it, if anybody has loaded the module and so could have asked for it: each new loop has a message."""
        if "logging" in sys.modules:
            self.__getattr__("debug")(*given, **options)

    def __getattr__(self, attribute: str) -> "Any":
        return getattr(import_module("logging").getLogger(self._name), attribute)


def _same(message: str) -> str:
    return message


def _same_of_two(one: str, several: str, count: int) -> str:
    return one if count == 1 else several


def _quote_from_bytes(*given: "Any") -> str:
    return str(import_module("urllib.parse").quote_from_bytes(*given))
