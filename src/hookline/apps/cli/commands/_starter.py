"""The files that `hookline init` writes, except the guards themselves."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.apps.cli.commands import _starter_guards as guards
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
HOOKS = {
    "python": (f"{HOOK_NAME}.py", guards.PYTHON),
    "node": (f"{HOOK_NAME}.js", guards.NODE),
    "sh": (f"{HOOK_NAME}.sh", guards.SH),
}
WORKERS = {"python": guards.PYTHON_WORKER, "node": guards.NODE_WORKER}
"""The same guards as programs that stay; docs/workers.md shows them."""
SCHEMA_FOLDER = "schema"

_SETTINGS = """\
// Settings of hookline. Comments and trailing commas are fine; after a change: hookline check
{{
  // So that an editor knows every key; hookline schema prints it.
  "$schema": "./schema/settings.schema.json",

  // Without this nothing runs.
  "enableHooks": true,

{hooks}
  "hooksConfig": {{
    // Hooks around prompts and sessions (BeforeAgent, AfterAgent, …) can block, go on and add context; "watch" logs it.
    "lifecycle": "apply",
  }},
}}
"""

_GUARD = """\
  "hooks": {{
    // When: BeforeTool, AfterTool, BeforeModel, AfterModel, BeforeToolSelection, BeforeAgent, AfterAgent,
    // SessionStart, SessionEnd, PreCompress or Notification.
    "BeforeTool": [
      {{
        // For which tools: a regular expression, found anywhere in the tool's name, hence ^ and $.
        // There is more to say about commands: "use": ["hookline:shell"], see hookline list --packs.
        "matcher": "^(read_file|write_file|replace|search_file_content|run_shell_command)$",
        "hooks": [
          {{
            "type": "command",
            "name": "{name}",
            "description": "Keeps the agent away from files with secrets.",
{program}
            "command": {command},{worker}
            // Milliseconds.
            "timeout": 10000,
            // "block": if the guard itself fails, the tool is not run.
            "onError": "block",
          }},
        ],
      }},
    ],
  }},
"""
_AS_COMMAND = """\
            // The program. It reads the event as JSON on stdin; exit code 2 blocks, and stderr says why."""
_AS_WORKER = """\
            // The program. It writes {"ready": true}, and then one line of JSON for each line that it reads."""
_STAYS = """
            // It is started once, and gets one line for each event: docs/workers.md.
            "worker": true,"""

_USE = """\
  // Guards that come with hookline. hookline list --packs PACK shows every rule; to change one:
  // {{"pack": "hookline:shell", "allow": ["git-discard"], "ask": ["git push *"]}}
  "use": {packs},

  // Your own hooks: "BeforeTool": [{{"matcher": "…", "hooks": [{{"type": "command", "command": "…"}}]}}]
  "hooks": {{}},
"""

_CASES = f"""\
#:schema ./{SCHEMA_FOLDER}/cases.schema.json
# What {HOOK_NAME} must decide. Nothing is read or written: hookline test

[defaults]
tool = "read_file"

[[case]]
name = "files with secrets are off limits"
each.arguments.file_path = [
  ".env",
  ".env.local",
  "config/../.ENV.production",
  "server.pem",
  "~/.ssh/id_ed25519",
]
expect = {{ outcome = "blocked", reason = "off limits", by = "{HOOK_NAME}" }}

[[case]]
name = "they can't be changed or searched either"
each = [
  {{ tool = "write_file", arguments = {{ file_path = ".env", content = "DEBUG=1" }} }},
  {{ tool = "replace", arguments = {{ file_path = ".env", old_string = "0", new_string = "1" }} }},
  {{ tool = "search_file_content", arguments = {{ pattern = "KEY", path = ".env.local" }} }},
]
expect = {{ outcome = "blocked", by = "{HOOK_NAME}" }}

[[case]]
name = "other files are not, and a text may mention .env"
each = [
  {{ arguments = {{ file_path = "notes.txt" }} }},
  {{ arguments = {{ file_path = ".env.example" }} }},
  {{ arguments = {{ file_path = "src/environment.py" }} }},
  {{ tool = "write_file", arguments = {{ file_path = "notes.txt", content = "Copy .env.example to .env" }} }},
  {{ tool = "search_file_content", arguments = {{ pattern = "API_KEY", include = "*.py" }} }},
]
expect = {{ outcome = "allowed", ran = "{HOOK_NAME}" }}
"""

ASSOCIATION = '"files.associations": { "**/.llxprt/settings.json": "jsonc" }'
_EDITOR = f"""\
{{
  // So that comments in the settings of hookline are not marked as errors.
  {ASSOCIATION}
}}
"""


def guard_settings(command: str, *, is_worker: bool = False) -> str:
    """A commented settings file with one hook of this command."""
    guard = _GUARD.format(
        name=HOOK_NAME,
        program=_AS_WORKER if is_worker else _AS_COMMAND,
        command=json.dumps(command),
        worker=_STAYS if is_worker else "",
    )
    return _SETTINGS.format(hooks=guard)


def pack_settings(packs: Sequence[str]) -> str:
    """A commented settings file that uses packs."""
    names = json.dumps([PACK_PREFIX + name for name in packs])
    return _SETTINGS.format(hooks=_USE.format(packs=names))


def guard_cases() -> str:
    """The case file of the guard."""
    return _CASES


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
    return files if project is None else {**files, project / ".vscode" / "settings.json": _EDITOR}


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
    yield 'name = "what is harmless goes on"'
    yield "each.arguments.command = ["
    yield from (f"  {write.toml_text(command)}," for command in passing)
    yield "]"
    yield f'expect = {{ outcome = "allowed", ran = "{PACK_PREFIX}{name}" }}'
