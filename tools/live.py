"""Installs the agents that `make bridge-live` runs, and runs the live tests in a network that has only loopback.

tools/live.py              install what is missing, then run
tools/live.py --record     also write tests/live/recorded.json and the tables in docs/other-agents.md
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.live.agents import AGENTS  # noqa: E402
from tests.live.table import DOCS, RECORDED, in_docs, recorded  # noqa: E402

from hookline.bridge.agents import HOSTS  # noqa: E402 - the path above is for what follows

FOLDER = ROOT / ".venv" / "live"
INSTALL_S = 300
# As many as wait for a process at once; each agent needs a core for a second, and then waits.
WORKERS = str(2 * (os.cpu_count() or 1))
LOOPBACK = 'ip link set lo up 2>/dev/null; exec "$@"'


def main() -> int:
    """Returns 0 when everything that could be installed was run and is as recorded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write what was seen, and the tables of the docs")
    parser.add_argument("pytest", nargs="*", help="more words for pytest, after --")
    given = parser.parse_args()
    missing = {name: why for name in AGENTS if (why := install(name))}
    for name, why in missing.items():
        print(f"NOT RUN: {name} {HOSTS[name].version} could not be installed: {why}")
    shutil.rmtree(FOLDER / "seen", ignore_errors=True)
    code = run_tests(given.pytest)
    if given.record:
        record()
    for name in missing:
        print(f"NOT RUN: {name} {HOSTS[name].version} (see above); its column is from an earlier run")
    return code


def install(name: str) -> str | None:
    """Installs an agent below `.venv/live`, unless it is there; returns why that is not possible."""
    package, folder = HOSTS[name].package, FOLDER / name
    mark = folder / ".installed"
    if package is None:
        return "its package was not found"
    if mark.exists() and mark.read_text() == package:
        return None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(f"installing {package} into {folder.relative_to(ROOT)}", flush=True)
    if "==" in package:
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        words += ["--only-binary=:all:", "--target", str(folder), package]
    elif (npm := shutil.which("npm")) is None:
        return "npm is missing"
    else:
        # Scripts of packages could download anything; none of these needs one.
        words = [npm, "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund"]
        words += ["--loglevel=error", package]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALL_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return f"it took longer than {INSTALL_S} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    if not shutil.which(folder.parent / AGENTS[name].program):
        return f"{AGENTS[name].program} is not in it"
    mark.write_text(package)
    return None


def run_tests(more: list[str]) -> int:
    """Runs the live tests, without a network if that is possible."""
    words = [sys.executable, "-m", "pytest", "-q", "-m", "live", "-n", WORKERS, "--dist", "worksteal", *more]
    shut = without_network()
    if not shut:
        print("There is a network: unshare is not allowed here, so agents get proxies that lead nowhere.", flush=True)
    environ = {**os.environ, "HOOKLINE_LIVE": str(FOLDER)}
    return subprocess.run([*shut, *words, "tests/live"], cwd=ROOT, env=environ, check=False).returncode  # noqa: S603


def without_network() -> list[str]:
    """The words in front of a command that leave it nothing but loopback; empty where that is not possible."""
    probe = [sys.executable, "-c", "import socket; socket.create_server(('127.0.0.1', 0))"]
    for more in ([], ["--map-root-user"]):
        words = ["unshare", "--net", *more, "sh", "-c", LOOPBACK, "sh"]
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run([*words, *probe], capture_output=True, check=True, timeout=30)  # noqa: S603 - this tool's words
            return words
    return []


def record() -> None:
    """Puts what was seen into the file and the docs; what was not played stays as it was."""
    found = recorded() if RECORDED.exists() else {"agents": {}}
    for file in sorted((FOLDER / "seen").glob("*.json")):
        name, scene, _ = file.name.split(".")
        one = found["agents"].setdefault(name, {"seen": {}})
        one["version"] = HOSTS[name].version
        one["seen"][scene] = json.loads(file.read_text())
    RECORDED.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n")
    DOCS.write_text(in_docs(DOCS.read_text()))


if __name__ == "__main__":
    sys.exit(main())
