"""The files that `hookline init` writes, except the guards themselves."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.extensions import PACK_PREFIX, lazy_module
from hookline.settings.decode.schema import settings_schema
from hookline.testing.cases.schema import cases_schema

if TYPE_CHECKING:
    from hookline.guards import command_rules, rules
    from hookline.testing.cases import write
else:
    rules = lazy_module("hookline.guards.rules")
    command_rules = lazy_module("hookline.guards.command_rules")
    write = lazy_module("hookline.testing.cases.write")

HOOK_NAME = "guard-secrets"
DENIED = {"tool_name": "read_file", "tool_input": {"file_path": ".env"}}
ALLOWED = {"tool_name": "read_file", "tool_input": {"file_path": "notes.txt"}}
SUFFIXES = {"python": ".py", "sh": ".sh"}
"""The languages that a guard can be written in."""
SCHEMA_FOLDER = "schema"

_AS_COMMAND = """\
            // The program. It reads the event as JSON on stdin; exit code 2 blocks, and stderr says why."""
_AS_WORKER = """\
            // The program. It writes {"ready": true}, and then one line of JSON for each line that it reads."""
_STAYS = """
            // It is started once, and gets one line for each event: docs/workers.md.
            "worker": true,"""


def guard_program(language: str, *, is_worker: bool) -> str:
    """Return the guard's program."""
    if language == "sh":
        return _template("guard.sh.txt")
    return _template("worker.py.txt" if is_worker else "command.py.txt", RULE=_template("rule.py.txt"))


def guard_settings(command: str, *, is_worker: bool = False) -> str:
    """Return a commented settings file with one hook of this command."""
    guard = _template(
        "guard.jsonc",
        PROGRAM=_AS_WORKER if is_worker else _AS_COMMAND,
        COMMAND=json.dumps(command),
        WORKER=_STAYS if is_worker else "",
    )
    return _template("settings.jsonc", HOOKS=guard)


def pack_settings(packs: Sequence[str]) -> str:
    """Return a commented settings file that uses packs."""
    names = json.dumps([PACK_PREFIX + name for name in packs])
    return _template("settings.jsonc", HOOKS=_template("packs.jsonc", PACKS=names))


def guard_cases() -> str:
    """Return the case file of the guard."""
    return _template("cases.toml")


def _template(name: str, **parts: str) -> str:
    """Return a file of templates/, with the parts in place of their names between @ signs."""
    text = (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")
    for part, content in parts.items():
        text = text.replace(f"@{part}@", content)
    return text


def pack_cases(name: str, project: Path) -> str:
    """A case file for a pack: examples of its rules, as it judges them in this project."""
    return "\n".join(_pack_case_lines(name, project)) + "\n"


def pack_sample(name: str) -> Mapping[str, object]:
    """A call that a pack stops."""
    return _shell(next(rule for rule in rules.load(name).rules if rule.action == "deny").stopped[0])


def editor_files(folder: Path, project: Path | None) -> dict[Path, str]:
    """The JSON Schemas that the files name, and for a project the association for comments."""
    schemas = {"settings": settings_schema(), "cases": cases_schema()}
    files = {
        folder / SCHEMA_FOLDER / f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }
    return files if project is None else {**files, project / ".vscode" / "settings.json": _template("vscode.jsonc")}


def _shell(command: str) -> dict[str, object]:
    return {"tool_name": "run_shell_command", "tool_input": {"command": command}}


def _pack_case_lines(name: str, project: Path) -> Iterator[str]:
    def actions(command: str) -> set[str]:
        return {
            each.action
            for each in command_rules.evaluate_command(name, command, str(project), str(Path.home()), str(project))
        }

    yield f"#:schema ./{SCHEMA_FOLDER}/cases.schema.json"
    yield f"# What {PACK_PREFIX}{name} must decide, with an example of each rule for commands. Nothing is executed:"
    yield "# hookline test"
    yield ""
    yield "[defaults]"
    yield 'tool = "run_shell_command"'
    passing: list[str] = []
    for rule in rules.load(name).rules:
        stopped = [command for command in rule.stopped if rule.action in actions(command)]
        denied = [command for command in stopped if "deny" in actions(command)] if rule.action == "deny" else []
        asked = [command for command in stopped if actions(command) == {"ask"}] if rule.action == "ask" else []
        passing += [command for command in rule.passed[:1] if not actions(command) and command not in passing]
        for outcome, commands in (("blocked", denied), ("asked", asked)):
            if commands:
                yield ""
                yield "[[case]]"
                yield f"name = {write.toml_text(f'{rule.id}: {rule.stops}')}"
                yield f"each.arguments.command = {write.toml_value(commands[:2])}"
                yield f'expect = {{ outcome = "{outcome}", by = "{PACK_PREFIX}{name}" }}'
    yield ""
    yield "[[case]]"
    yield 'name = "what is harmless is allowed"'
    yield "each.arguments.command = ["
    yield from (f"  {write.toml_text(command)}," for command in passing)
    yield "]"
    yield f'expect = {{ outcome = "allowed", ran = "{PACK_PREFIX}{name}" }}'
