"""README's lines for installing, run as they stand, in a clone and with a wheel; `make install-test` gets pipx and uv.

What the installed command says without its extras is tried with it, not with the tests' own environment.
"""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parents[1] / "installers" / "bin"
pytestmark = [
    pytest.mark.install,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not (TOOLS / "pipx").exists(), reason="pipx and uv are not installed; make install-test does it"
    ),
]


# Messages of pip and uv without a network.
_NO_INDEX = re.compile(
    "Max retries exceeded|NewConnectionError|Failed to fetch|error sending request|dns error|Could not connect"
    "|name resolution|Connection refused|No matching distribution found for hatchling"
)


def readme_lines() -> list[str]:
    """The lines of "Install", without their comments."""
    section = re.search(r"^## Install\n(.*?)^## ", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert section
    lines = re.findall(r"^    (\S.*)$", section[1], re.MULTILINE)
    spans = re.findall(r"`(pip[^`]*)`", section[1])
    return [line.partition("  ")[0] for line in lines] + [span for span in spans if "NAME" not in span]


class Newcomer:
    """Somebody with a fresh clone, in a directory with a space, and an empty home."""

    def __init__(self, place: Path) -> None:
        self.clone, self.home = place / "a clone", place / "home"
        self.home.mkdir()
        self.bin = self.home / ".local" / "bin"
        # Python's own directory comes after ours: `python3` is not the one of the tests.
        base = Path(sysconfig.get_config_var("prefix")) / "bin"
        path = os.pathsep.join(map(str, (self.home / "venv" / "bin", self.bin, TOOLS, base, "/usr/bin", "/bin")))
        ours = ("PYTHON", "VIRTUAL", "HOOK", "MAKE", "MFLAGS")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.environ = {**kept, "HOME": str(self.home), "PATH": path, "PIPX_DEFAULT_PYTHON": str(base / "python3")}
        self.run(f"git clone -q '{ROOT}' '{self.clone}'", where=place)

    def run(self, command: str, *, where: Path | None = None, code: int = 0) -> str:
        """Run a command, by default in the clone and with success, and return its output."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=where or self.clone,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )
        shown = done.stdout + done.stderr
        if done.returncode != code and (lost := _NO_INDEX.search(shown)):
            pytest.skip(f"no package index can be reached here: {lost[0]}")
        assert done.returncode == code, f"{command}\n{shown}"
        return shown

    def venv(self) -> None:
        """A new environment, as for programs, in place of the last one."""
        self.run(f"rm -rf '{self.home}/venv' && python3 -m venv '{self.home}/venv'", where=self.home)


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    """One clone for all tests."""
    return Newcomer(tmp_path_factory.mktemp("newcomer"))


def says_which_extra(person: Newcomer, command: str, installer: str) -> None:
    """The commands that need more say in one line how to get it, also for help and completion, and others work."""
    for words in ("agent", "agent --help", "ui"):
        line, *more = person.run(f"{command} {words}", code=1).splitlines()
        assert not more, words
        extra = words.split()[0]
        assert re.search(rf"is not installed; run: {installer} .*\[{extra}\]", line), line
    completed = person.run(f"printf 'agent\\0--mo\\0' | {command} completion --words", code=1)
    assert completed.count("\n") == 1, completed
    assert "complete" in person.run(f"{command} completion bash")
    assert "hookline 0." in person.run(f"{command} --version")


def test_every_line_is_known() -> None:
    """A line that README gains is run by one of these tests."""
    assert sorted(readme_lines()) == [
        "pip install .",
        "pip wheel --no-deps --wheel-dir dist .",
        "pipx install '.[agent,ui]'",
        "pipx install .",
        "uvx --from . hookline --help",
    ]


def test_pipx_from_a_clone(newcomer: Newcomer) -> None:
    """The command alone, and then with the extras that it asks for, by the command that it names."""
    newcomer.run("pipx install .")
    says_which_extra(newcomer, "hookline", "pipx install --force")
    advice = newcomer.run("hookline agent", code=1).partition("run: ")[2]
    newcomer.run(advice, where=newcomer.home)
    assert "--model" in newcomer.run("hookline agent --help")
    newcomer.run("pipx uninstall hookline && pipx install '.[agent,ui]'")
    for words in ("agent --help", "ui --help"):
        assert "Examples:" in newcomer.run(f"hookline {words}")
    newcomer.run("pipx uninstall hookline")


def test_uvx_from_a_clone(newcomer: Newcomer) -> None:
    """Without installing anything."""
    assert "hookline COMMAND --help explains one." in newcomer.run("uvx --from . hookline --help")


def test_pip_from_a_clone(newcomer: Newcomer) -> None:
    """Into an environment of one's own."""
    newcomer.venv()
    newcomer.run("pip install .")
    says_which_extra(newcomer, "hookline", "pip install")
    newcomer.run('python -c "from hookline import Hooks"')


def test_a_wheel_for_another_machine(newcomer: Newcomer) -> None:
    """The wheel has all that the commands need; the clone is not looked at any more."""
    newcomer.venv()
    newcomer.run("pip wheel --no-deps --wheel-dir dist .")
    (wheel,) = (newcomer.clone / "dist").glob("*.whl")
    newcomer.run(f"pip install '{wheel}'", where=newcomer.home)
    says_which_extra(newcomer, "hookline", "pip install")
    place = newcomer.home / "shop"
    place.mkdir()
    for command in ("hookline init", "hookline trust --all --yes", "hookline check --strict", "hookline test"):
        newcomer.run(command, where=place)
    # Pages that name the index: pip takes the installed package, and gets its extras.
    newcomer.run("pip install 'hookline[agent,ui]'", where=newcomer.home)
    assert "Examples:" in newcomer.run("hookline ui --help", where=newcomer.home)


def test_make_in_a_clone(newcomer: Newcomer) -> None:
    """The two lines of "See it" and what CONTRIBUTING begins with, apart from those that CI runs itself."""
    listed = newcomer.run("make")
    assert "make demo" in listed
    assert "make install-test" in listed
    done = subprocess.run(["make", "demo"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    assert "Files with secrets are off limits" in done.stdout
