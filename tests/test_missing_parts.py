"""`fleet/` and `guards/` can be missing: everything else works, and settings that need them report it."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.test_architecture import MODULES, PACKAGE, imports_of

from hookline.apps.cli.log_options import DEFAULT_STREAM
from hookline.fleet.names import AUDIT_STREAM
from hookline.fleet.policy.documents import new_key

EVENT = json.dumps({"tool_name": "run_shell_command", "tool_input": {"command": "rm -rf /"}})
GUARD = {"type": "command", "name": "guard", "command": "echo no >&2; exit 2"}
# Commands that must work whatever is missing; the company's own are not among them.
CORE_COMMANDS = ("agent", "bridge", "check", "doctor", "fire", "init", "list", "log", "serve", "test", "trust", "ui")


def importers_of(part: str) -> set[str]:
    """The modules outside a part that import it as soon as they are loaded, directly or through another module."""
    direct: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lines = {
            line
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            or (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"))
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        # A module is imported after its package.
        parents = {module.rpartition(".")[0]} - {"", "hookline"}
        direct[module] = parents | {each.imported for each in imports_of(module) if each.line not in lines}
    found = {name for name in MODULES if f"{name}.".startswith(f"{part}.")}
    size = 0
    while size != len(found):
        size = len(found)
        found |= {module for module, imported in direct.items() if imported & found}
    return {module for module in found if not f"{module}.".startswith(f"{part}.")}


class Installation:
    """A copy of the package without some of its parts, and a user with a project."""

    def __init__(self, place: Path, *parts: str) -> None:
        self.place = place
        # With what is compiled already: that takes longer than everything else here.
        shutil.copytree(PACKAGE, place / "lib" / "hookline")
        for part in parts:
            shutil.rmtree(place / "lib" / "hookline" / part)
        self.project = place / "project"
        self.project.mkdir()
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(place / "home"),
            "PYTHONPATH": str(place / "lib"),
            "HOOKLINE_SYSTEM_SETTINGS": str(place / "system.json"),
        }

    def configures(self, **settings: Any) -> None:
        """Writes the user's settings."""
        file = self.place / "home" / ".llxprt" / "settings.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"enableHooks": True, **settings}))

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        """Runs a program that has this installation."""
        return subprocess.run(
            [sys.executable, "-c", code],
            env=self.environ,
            cwd=self.project,
            capture_output=True,
            text=True,
            check=False,
        )

    def hookline(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs the command."""
        return self.python(f"import sys; from hookline.apps.cli.main import main; sys.exit(main({list(words)!r}))")

    def fires(self) -> dict[str, Any]:
        """Return the outcome of a dangerous call."""
        done = self.hookline("fire", "BeforeTool", "--input", EVENT, "--json")
        assert done.returncode in (0, 2), done.stderr
        outcome: dict[str, Any] = json.loads(done.stdout)["outcome"]
        return outcome


# Below the commands of the company, and imported by these alone.
LOADED_BY_THEM = {"hookline.inspect.machine", "hookline.apps.ui.fleet_backend"}


@pytest.mark.parametrize("part", ["fleet", "guards"])
def test_only_its_own_commands_import_a_part(part: str) -> None:
    """Other parts find it by name when settings ask for it."""
    importers = importers_of(f"hookline.{part}")
    outside = {name for name in importers if not name.startswith("hookline.apps.cli.")}
    assert outside <= LOADED_BY_THEM
    assert importers.isdisjoint(f"hookline.apps.cli.commands.{name}" for name in CORE_COMMANDS)


@pytest.mark.parametrize("part", ["fleet", "guards"])
def test_everything_else_works_without_it(part: str, tmp_path: Path) -> None:
    """Every other module can be imported in one process, and the commands do their work."""
    here = Installation(tmp_path, part)
    # The commands of the company, or of the packs, are part of it; `__main__` runs the command.
    gone = importers_of(f"hookline.{part}") | {name for name in MODULES if f"{name}.".startswith(f"hookline.{part}.")}
    modules = [name for name in MODULES if name not in gone and ".site" not in name and not name.endswith("__main__")]
    code = f"""
import importlib, sys
for name in {modules!r}:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("hookline"):
            raise
    except Exception as error:
        if type(error).__name__ != "MissingExtraError":
            raise
print(sys.modules["hookline"].__file__, "hookline.{part}" in sys.modules)
"""
    done = here.python(code)
    assert (done.returncode, done.stdout.split()) == (
        0,
        [str(tmp_path / "lib" / "hookline" / "__init__.py"), "False"],
    ), done.stderr
    here.configures(hooks={"BeforeTool": [{"hooks": [GUARD]}]})
    outcome = here.fires()
    assert (outcome["blocked"], outcome["reason"]) == (True, "no")
    for words in (["list"], ["check"], ["log"], ["log", "--json"]):
        done = here.hookline(*words)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert "guard" in here.hookline("list").stdout
    done = here.hookline("doctor")
    assert "Traceback" not in done.stderr
    assert "guard" in done.stdout


def test_the_page_names_the_stream_of_the_company() -> None:
    """The default of its option is known without the part that it belongs to."""
    assert DEFAULT_STREAM == AUDIT_STREAM


def test_a_policy_that_can_not_be_loaded_blocks(tmp_path: Path) -> None:
    """It is never read as none, whatever onExpiry says, and also where nothing else enables hooks."""
    here = Installation(tmp_path, "fleet")
    key = new_key(tmp_path / "policy.key")
    for on_expiry in ("allow", "block"):
        policy = {"publicKeys": [key], "onExpiry": on_expiry}
        (tmp_path / "system.json").write_text(json.dumps({"hooksConfig": {"policy": policy}}))
        outcome = here.fires()
        assert outcome["blocked"]
        assert "hookline.fleet, which is not part of this installation" in outcome["reason"]
        assert "[fleet]'" in outcome["reason"]


def test_a_server_that_can_not_be_reached_is_an_error(tmp_path: Path) -> None:
    """So are a remote hook, which fails by its onError, and a rollout, whose hook runs everywhere."""
    here = Installation(tmp_path, "fleet")
    remote = {"type": "remote", "subject": "dlp", "onError": "block"}
    tried = {"type": "command", "name": "tried", "command": "true", "rollout": {"percent": 0}}
    here.configures(
        hooks={"BeforeTool": [{"hooks": [remote, tried]}]}, hooksConfig={"fleet": {"servers": ["nats://127.0.0.1:9"]}}
    )
    checked = here.hookline("check", "--json")
    assert checked.returncode == 1
    messages = [each["message"] for each in json.loads(checked.stdout)["findings"]]
    assert sum("not part of this installation" in each for each in messages) == 3, messages
    outcome = here.fires()
    assert outcome["blocked"]
    assert "remote dlp" in json.dumps(outcome)


def test_a_command_of_a_missing_part_says_how_to_get_it(tmp_path: Path) -> None:
    """It is not a fault of hookline."""
    done = Installation(tmp_path, "fleet").hookline("fleet", "status")
    assert done.returncode == 1
    assert "hookline.fleet, which is not part of this installation; run: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_pack_that_is_missing_blocks(tmp_path: Path) -> None:
    """It is a configured guard that can't run: `check` reports it, and no call passes."""
    here = Installation(tmp_path, "guards")
    here.configures(use=["hookline:shell"])
    outcome = here.fires()
    assert outcome["blocked"]
    assert "hookline.guards, which is not part of this installation" in json.dumps(outcome)
    done = here.hookline("check", "--json")
    assert done.returncode == 1
    assert "hookline:shell" in done.stdout
