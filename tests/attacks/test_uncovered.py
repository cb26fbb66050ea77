"""Files that a project's hook runs without naming them: trust covers them, or says that it does not."""

from pathlib import Path
from typing import Any

import pytest

from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.settings.trust.fingerprint import fingerprint

# The command, its environment, and the file that it runs.
COVERED: list[tuple[str, dict[str, str], str]] = [
    ("run-parts parts", {}, "parts/10-a"),
    ("run-parts --regex . -- ./parts/", {}, "parts/.hidden"),
    ("bash -c 'exec run-parts parts'", {}, "parts/10-a"),
    ('run-parts "$PARTS"', {"PARTS": "parts"}, "parts/10-a"),
    ("python3 -m mod", {}, "mod.py"),
    ("python3 -Imod", {}, "mod.py"),
    ("python3 -m pkg.mod", {}, "pkg/mod.py"),
    ("python3 -m pkg.mod", {}, "pkg/__init__.py"),
    ("python3 -m mod", {"PYTHONPATH": "lib"}, "lib/mod.py"),
    ("PYTHONPATH=lib python3 -mmod", {}, "lib/mod.py"),
    ("cd lib && python3 -m pkg.mod", {}, "lib/pkg/__init__.py"),
    ("python3 -c 'import mod'", {}, "mod.py"),
    ("node -r ./x y.js", {}, "x.js"),
    ("node ./x", {}, "x.js"),
    ("node y.js", {"NODE_OPTIONS": "--require ./x"}, "x.js"),
    ("ruby -r ./lib/foo -e 1", {}, "lib/foo.rb"),
    ("perl -Ilib -MFoo::Bar -e 1", {}, "lib/Foo/Bar.pm"),
    ("bash --rcfile rc -i", {}, "rc"),
    ("make -C sub", {}, "sub/Makefile"),
    ("make --directory=sub all", {}, "sub/Makefile"),
    (". sub/*", {}, "sub/y.sh"),
    ("cd sub && ./y.sh", {}, "sub/y.sh"),
    ("env -C sub ./y.sh", {}, "sub/y.sh"),
]
# Commands that run files which can't be listed, each with the word that shows it.
UNCOVERED = [
    ("find sub -type f -exec sh {} ';'", "-exec"),
    ("find sub -type f | sh", "sh"),
    ("ls sub | xargs -n1 sh", "xargs"),
    ("python3 -m installed.elsewhere", "-m installed.elsewhere"),
    (".venv/bin/python -minstalled", "-m installed"),
    ("node -r package y.js", "-r package"),
    ("pytest tests", "pytest"),
]
PLAIN = ["python3 -m json.tool", "python3 -m mod", "rm -r build", "grep -r key sub", "make -C sub", "run-parts parts"]


def hook(command: str, env: dict[str, str] | None = None) -> HookEntry:
    return HookEntry(
        event=HookEventName.BEFORE_TOOL,
        source=ConfigSource.PROJECT,
        origin=".llxprt/settings.json",
        location="hooks.BeforeTool[0].hooks[0]",
        run=CommandLine(command),
        env=env or {},
    )


@pytest.fixture
def files(project: Path) -> Path:
    """A project with every file that the commands run."""
    for name in ("sub/Makefile", "Makefile", *(name for _, _, name in COVERED)):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("before\n")
    return project


@pytest.mark.attack("30.F12", "a file that a hook runs by the name of its directory or module is changed after trust")
@pytest.mark.req("DELTA-TRUST-001")
@pytest.mark.parametrize(("command", "env", "name"), COVERED)
def test_a_changed_file_changes_the_fingerprint(command: str, env: dict[str, Any], name: str, files: Path) -> None:
    """The same if the file comes later."""
    given = hook(command, env)
    before = fingerprint(given, str(files)).digest
    (files / name).write_text("after\n")
    changed = fingerprint(given, str(files)).digest
    (files / name).unlink()
    assert len({before, changed, fingerprint(given, str(files)).digest}) == 3


@pytest.mark.attack("30.F12", "a hook that runs files which trust can't list")
@pytest.mark.req("DELTA-TRUST-001")
@pytest.mark.parametrize(("command", "word"), UNCOVERED)
def test_what_cannot_be_covered_is_named(command: str, word: str, files: Path) -> None:
    """Strict trust refuses such a command."""
    assert word in fingerprint(hook(command), str(files)).uncovered


@pytest.mark.req("DELTA-TRUST-001")
@pytest.mark.parametrize("command", PLAIN)
def test_what_is_covered_is_not_doubted(command: str, files: Path) -> None:
    """Strict trust takes it."""
    assert fingerprint(hook(command), str(files)).uncovered == ()
