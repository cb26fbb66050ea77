"""The command that installs an extra of hookline, for the way in which hookline itself was installed."""

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import unquote, urlsplit


def install_command(extra: str) -> str:
    """The command: from where hookline came (an index, a clone, a wheel), with the tool that put it there."""
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
