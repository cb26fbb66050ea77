"""The extras of hookline: which one is missing, and the command that installs it."""

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import unquote, urlsplit

from hookline.errors import MissingExtraError


class needing:  # noqa: N801 - written as `with needing("langchain-core", "langchain"):`
    """Around the imports of an optional package: MissingExtraError, with the extra to install, if there is none."""

    def __init__(self, package: str, extra: str) -> None:
        self._package = package
        self._extra = extra

    def __enter__(self) -> None:
        """Nothing: the import itself looks for the package."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, ModuleNotFoundError):
            raise MissingExtraError(self._package, self._extra) from error


def install_command(extra: str) -> str:
    """The command that installs it: from where hookline came (an index, a clone, a wheel), with the same tool."""
    origin = _origin()
    url = str(origin.get("url") or "")
    path = unquote(urlsplit(url).path)
    if not url:
        what = f"'hookline[{extra}]'"
    elif "dir_info" in origin:
        what = f"'{path}[{extra}]'"
    else:
        what = f"'hookline[{extra}] @ {url}'"
    if "/pipx/venvs/" in sys.prefix:
        return f"pipx install --force {what}"
    if "/uv/tools/" in sys.prefix:
        return f"uv tool install --force {what}"
    is_editable = origin.get("dir_info", {}).get("editable") is True
    return f"pip install {'-e ' if is_editable else ''}{what}"


def _origin() -> dict[str, Any]:
    """What installers note about a package that is not from an index (PEP 610); empty for one that is."""
    try:
        noted = json.loads(distribution("hookline").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) and isinstance(noted.get("dir_info", {}), dict) else {}
