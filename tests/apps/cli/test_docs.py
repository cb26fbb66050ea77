"""The outputs of `init`, `check` and `doctor` in the documentation are those of the commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.inspect.lint.checks import CHECKS
from hookline.inspect.lint.dry_run import RULES

DOCS = Path(__file__).parents[3] / "docs"
BIN = Path(sys.executable).parent


@pytest.fixture
def site(own_home: Path) -> Path:
    """A project in the home directory."""
    path = own_home / "site"
    path.mkdir()
    return path


def example(page: str, name: str) -> str:
    found = re.search(rf"<!-- example: {re.escape(name)} -->\n```\w+\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert found, name
    return found[1]


def run(command: str, site: Path) -> str:
    """Return the output of a command in the project, with the paths of this machine as a reader would have them."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("HOOKLINE_", "XDG_"))}
    system = os.environ["HOOKLINE_SYSTEM_SETTINGS"]
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
        timeout=45,
        env={**environ, "HOOKLINE_SYSTEM_SETTINGS": system, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    return neutral(done.stdout.replace(system, "/etc/llxprt-code/settings.json").replace(str(site.parent), "~"))


def neutral(text: str) -> str:
    """The text without what differs between machines: times, limits, where bash is."""
    text = re.sub(r"\d+ ms$", "… ms", text, flags=re.MULTILINE)
    text = re.sub(r"(shell +)/\S+", r"\1…", text)
    return re.sub(r"allows .* open files and .* processes", "allows …", text)


def shown(page: str, name: str) -> tuple[str, str]:
    command, _, output = example(page, name).partition("\n")
    return command.removeprefix("$ "), neutral(output)


def test_init_and_doctor_print_what_is_shown(site: Path) -> None:
    """A new project, and what the doctor says of it before its hook is trusted."""
    for page, name in (("configuration.md", "init"), ("troubleshooting.md", "doctor")):
        command, output = shown(page, name)
        assert run(command, site) == output


def test_check_prints_what_is_shown(site: Path) -> None:
    """The settings of the page, and what is wrong with them."""
    (site / "hooks.json").write_text(example("troubleshooting.md", "hooks.json"))
    command, output = shown("troubleshooting.md", "check")
    assert run(command, site) == output


def test_a_dry_run_prints_what_is_shown(site: Path) -> None:
    """The guard of the page, and what a dry run finds."""
    guard = site / "guard.sh"
    guard.write_text(example("hook-authors.md", "guard.sh"))
    guard.chmod(0o755)
    hooks = '"hooks": { "BeforeTool": [{ "hooks": [{ "type": "command", "command": "./guard.sh" }] }] }'
    (site / "hooks.json").write_text(f'{{\n  "enableHooks": true,\n\n  {hooks}\n}}\n')
    command, output = shown("hook-authors.md", "run")
    assert run(command, site) == output


def test_the_case_file_of_the_page_passes_as_shown(site: Path) -> None:
    """The guard of `init`, trusted, and the page's cases for it."""
    run("hookline init && hookline trust --all --yes", site)
    (site / ".llxprt" / "guard.hooks.toml").write_text(example("testing.md", "guard.hooks.toml"))
    command, output = shown("testing.md", "test")
    assert run(command, site) == output


def test_every_rule_of_check_is_listed() -> None:
    """The table of the page has the rules of the command, in their order and words."""
    rules = {check.rule: check.about for check in CHECKS} | RULES
    page = (DOCS / "troubleshooting.md").read_text()
    listed = re.findall(
        r"^\| `([\w-]+)` \| (.*) \|$", page.partition("| rule | finds |")[2].partition("\n\n")[0], re.MULTILINE
    )
    assert listed == list(rules.items())


def test_check_looks_inside_as_shown(site: Path) -> None:
    """A guard for Claude Code, before its hook has a dialect."""
    guard = site / "guard.sh"
    guard.write_text(example("troubleshooting.md", "guard.sh"))
    guard.chmod(0o755)
    hooks = '"hooks": { "BeforeTool": [{ "hooks": [{ "type": "command", "command": "./guard.sh" }] }] }'
    (site / "hooks.json").write_text(f'{{\n  "enableHooks": true,\n\n  {hooks}\n}}\n')
    command, output = shown("troubleshooting.md", "inside")
    assert run(command, site) == output
