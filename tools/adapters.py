"""Runs each adapter's tests with its framework: one virtual environment per adapter, because their packages conflict.

`make adapters` runs all of them, `make adapters ONLY="langchain adk"` some. The list is `hookline.adapters.table`; an
environment is made again when its packages in pyproject.toml change.
"""

import argparse
import hashlib
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from hookline.adapters.table import ADAPTERS, Adapter

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / ".venv" / "adapters"
TEST_PACKAGES = ("hypothesis>=6.100", "pytest>=8.3", "pytest-timeout>=2.3")
INSTALL_S = 600
TEST_S = 300


class Failure(Exception):  # noqa: N818 - a report, printed as it is
    """What went wrong with one adapter."""


def main() -> int:
    """The exit code: 0 when the tests of every adapter passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="the adapters to test; all without any")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, metavar="DIR", help="where they are made")
    given = parser.parse_args()
    names = given.names
    if unknown := set(names) - {one.name for one in ADAPTERS}:
        parser.error(f"no such adapter: {', '.join(sorted(unknown))}; there are {', '.join(a.name for a in ADAPTERS)}")
    chosen = [one for one in ADAPTERS if not names or one.name in names]
    report = partial(_report, given.environments)
    with ThreadPoolExecutor(2) as pool:
        failed = [one.name for one, passed in zip(chosen, pool.map(report, chosen), strict=True) if not passed]
    print(f"adapters: {len(chosen) - len(failed)} passed, {len(failed)} failed {' '.join(failed)}".rstrip(), flush=True)
    return 1 if failed else 0


def _report(environments: Path, adapter: Adapter) -> bool:
    start = time.monotonic()
    try:
        summary = _test(environments / adapter.name, adapter)
    except Failure as failure:
        print(f"--- {adapter.name}: FAILED\n{failure}\n---", flush=True)
        return False
    print(f"{adapter.name}: {summary} ({time.monotonic() - start:.0f} s)", flush=True)
    return True


def _test(folder: Path, adapter: Adapter) -> str:
    test = ROOT / "tests" / "adapters" / f"test_{adapter.name}.py"
    if not test.exists():
        raise Failure(f"{test.relative_to(ROOT)} does not exist")
    python = _environment(folder, adapter)
    words = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    output = _run(words, TEST_S, "its tests failed")
    summary = output.strip().splitlines()[-1]
    if "skipped" in summary or "passed" not in summary:
        # A skipped test has proved nothing: here the framework is installed.
        raise Failure(f"tests were skipped\n{output}")
    return f"{_version(python, adapter.package)}: {summary}"


def _environment(folder: Path, adapter: Adapter) -> Path:
    """The Python of the adapter's environment, with everything installed."""
    python, mark = folder / "bin" / "python", folder / ".installed"
    wanted = _fingerprint(adapter)
    if not mark.exists() or mark.read_text() != wanted:
        _run([sys.executable, "-m", "venv", "--clear", str(folder)], INSTALL_S, "its environment could not be made")
        words = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        hookline = ["--editable", f"{ROOT}[{adapter.extra}]"]
        what = f"hookline[{adapter.extra}] could not be installed"
        _run([*words, *hookline, *TEST_PACKAGES], INSTALL_S, what)
        mark.write_text(wanted)
    return python


def _fingerprint(adapter: Adapter) -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = [*project["dependencies"], *project["optional-dependencies"][adapter.extra], *TEST_PACKAGES]
    return hashlib.sha256("\n".join([sys.version, str(ROOT), *packages]).encode()).hexdigest()


def _version(python: Path, package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return f"{package} {_run([str(python), '-c', code], TEST_S, 'its version is not known').strip()}"


def _run(words: list[str], limit_s: float, what: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - our own commands
            words, cwd=ROOT, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired as expired:
        raise Failure(f"{what}: it took longer than {limit_s:.0f} s\n{expired.stdout!r}") from None
    if done.returncode:
        raise Failure(f"{what} (exit code {done.returncode})\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
