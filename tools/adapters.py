"""Runs each adapter's tests with its framework: one virtual environment per adapter, because their packages conflict.

`make adapters` runs all of them, `make adapters ONLY="langchain adk"` some. The list is `hookline.adapters.table`, and
`loops`: the examples around `openai` and `anthropic`, which need no adapter. An environment is made again when its
packages in pyproject.toml change.
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
from typing import NamedTuple

from hookline.adapters.table import ADAPTERS

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / ".venv" / "adapters"
TEST_PACKAGES = ("hypothesis>=6.100", "pytest>=8.3", "pytest-timeout>=2.3")
INSTALL_S = 600
TEST_S = 600
# For one test: frameworks take seconds to import, and many of them on a machine that is busy.
ONE_TEST_S = 150


class Suite(NamedTuple):
    """The tests of one environment."""

    name: str
    """That of its file, tests/adapters/test_<name>.py."""
    package: str
    """The distribution whose version is shown."""
    hookline: str
    """The extra of hookline that is installed, in brackets; nothing without one."""
    packages: tuple[str, ...]
    """Packages that the tests also need."""


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CLIENTS = tuple(one for one in PYPROJECT["dependency-groups"]["dev"] if one.startswith(("openai", "anthropic")))
SUITES = (
    *(Suite(one.name, one.package, f"[{one.extra}]", TEST_PACKAGES) for one in ADAPTERS),
    Suite("loops", "openai", "", (*CLIENTS, *TEST_PACKAGES)),
)


class Failure(Exception):  # noqa: N818 - a report, printed as it is
    """Return the problem of one adapter, or None."""


def main() -> int:
    """The exit code: 0 when the tests of every adapter passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="the adapters to test; all without any")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, metavar="DIR", help="where they are made")
    given = parser.parse_args()
    names = given.names
    if unknown := set(names) - {one.name for one in SUITES}:
        parser.error(f"no such adapter: {', '.join(sorted(unknown))}; there are {', '.join(a.name for a in SUITES)}")
    chosen = [one for one in SUITES if not names or one.name in names]
    report = partial(_report, given.environments)
    with ThreadPoolExecutor(2) as pool:
        failed = [one.name for one, passed in zip(chosen, pool.map(report, chosen), strict=True) if not passed]
    print(f"adapters: {len(chosen) - len(failed)} passed, {len(failed)} failed {' '.join(failed)}".rstrip(), flush=True)
    return 1 if failed else 0


def _report(environments: Path, suite: Suite) -> bool:
    start = time.monotonic()
    try:
        summary = _test(environments / suite.name, suite)
    except Failure as failure:
        print(f"--- {suite.name}: FAILED\n{failure}\n---", flush=True)
        return False
    print(f"{suite.name}: {summary} ({time.monotonic() - start:.0f} s)", flush=True)
    return True


def _test(folder: Path, suite: Suite) -> str:
    test = ROOT / "tests" / "adapters" / f"test_{suite.name}.py"
    if not test.exists():
        raise Failure(f"{test.relative_to(ROOT)} does not exist")
    python = _environment(folder, suite)
    words = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--timeout={ONE_TEST_S}", str(test)]
    output = _run(words, TEST_S, "its tests failed")
    summary = output.strip().splitlines()[-1]
    if "skipped" in summary or "passed" not in summary:
        # A skipped test has proved nothing: here the framework is installed.
        raise Failure(f"tests were skipped\n{output}")
    return f"{_version(python, suite.package)}: {summary}"


def _environment(folder: Path, suite: Suite) -> Path:
    """The Python of the adapter's environment, with everything installed."""
    python, mark = folder / "bin" / "python", folder / ".installed"
    wanted = _fingerprint(suite)
    if not mark.exists() or mark.read_text() != wanted:
        # One pip serves all of them: installing it takes longer than many a framework.
        make = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)]
        _run(make, INSTALL_S, "its environment could not be made")
        pip = [sys.executable, "-m", "pip", "--python", str(python)]
        words = [*pip, "install", "--quiet", "--disable-pip-version-check"]
        what = f"hookline{suite.hookline} could not be installed"
        _run([*words, "--editable", f"{ROOT}{suite.hookline}", *suite.packages], INSTALL_S, what)
        mark.write_text(wanted)
    return python


def _fingerprint(suite: Suite) -> str:
    project = PYPROJECT["project"]
    extra = project["optional-dependencies"].get(suite.hookline.strip("[]"), ())
    packages = [*project["dependencies"], *extra, *suite.packages]
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
