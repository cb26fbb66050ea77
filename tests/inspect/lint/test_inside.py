"""Scripts as people write them for other agents, and what `check` says of them where they are told our words."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.client.config import Config
from hookline.inspect.lint.checks import run_checks
from hookline.inspect.view import Setup, read_setup

MakeSetup = Callable[..., Setup]
RULE = "other-agent"

READ_SH = "tool=$(jq -r .tool_name)\n"
READ_PY = 'import json, sys\ndata = json.load(sys.stdin)\ntool = data.get("tool_name", "")\n'
READ_JS = 'const input = JSON.parse(require("fs").readFileSync(0));\nconst tool = input.tool_name;\n'
READ_RB = 'require "json"\ntool = JSON.parse($stdin.read)["tool_name"]\n'
READ_PL = 'use JSON;\nmy $tool = decode_json(join "", <STDIN>)->{tool_name};\n'

# A script, its file, and the name that it first compares with, with the line.
CLAUDE_GUARDS: list[tuple[str, str, str, int]] = [
    ("g.sh", READ_SH + '[ "$tool" = "Bash" ] && exit 2', "Bash", 2),
    ("g.sh", READ_SH + "if [ $tool != Bash ]; then exit 0; fi\nexit 2", "Bash", 2),
    ("g.sh", READ_SH + 'if [[ "$tool" == "Bash" ]]; then exit 2; fi', "Bash", 2),
    ("g.sh", READ_SH + "[[ $tool == Write* ]] && exit 2", "Write", 2),
    ("g.sh", READ_SH + 'test "$tool" = Read || exit 0\nexit 2', "Read", 2),
    ("g.sh", READ_SH + '[[ "$tool" =~ ^(Write|Edit)$ ]] || exit 0\nexit 2', "Write", 2),
    ("g.sh", READ_SH + 'case "$tool" in\n  Bash) exit 2 ;;\nesac', "Bash", 3),
    ("g.sh", READ_SH + 'case "$tool" in\n  "Write" | "Edit" | "MultiEdit")\n    exit 2\n    ;;\nesac', "Write", 3),
    ("g.sh", READ_SH + "case $tool in Write|Edit|MultiEdit) exit 2 ;; *) exit 0 ;; esac", "Write", 2),
    ("g.sh", READ_SH + 'case "$tool" in\n  ls|cat) ;;\n  Glob|Grep) exit 2 ;;\nesac', "Grep", 4),
    ("g.sh", READ_SH + 'echo "$tool" | grep -qE "^(Edit|Write)$" || exit 0\nexit 2', "Write", 2),
    ("g.sh", READ_SH + 'echo "$tool" | grep -q Bash && exit 2', "Bash", 2),
    ("g.sh", 'input=$(cat)\ngrep -q \'"tool_name":"Bash"\' <<<"$input" && exit 2', "Bash", 2),
    (
        "g.sh",
        'input=$(cat)\ngrep -qE \'"tool_name"[[:space:]]*:[[:space:]]*"(Bash|Read)"\' <<<"$input" && exit 2',
        "Bash",
        2,
    ),
    ("g.sh", 'input=$(cat)\n[[ $input == *\'"tool_name":"Bash"\'* ]] && exit 2', "Bash", 2),
    ("g.sh", "jq -e 'select(.tool_name == \"Bash\") | .tool_input.command' && exit 2", "Bash", 1),
    ("g.sh", "jq -e '.tool_name | test(\"^(Write|Edit)$\")' && exit 2", "Write", 1),
    ("g.sh", 'jq -e \'["Write", "Edit"] | index($t)\' --arg t "$tool_name" && exit 2', "Write", 1),
    ("g.sh", 'jq -e \'IN(.tool_name; "Edit", "Write")\' && exit 2', "Write", 1),
    ("g.sh", 'jq -r "if .tool_name == \\"Bash\\" then .tool_input.command else empty end"', "Bash", 1),
    ("g.sh", READ_SH + 'watched="Write|Edit"\n[[ $tool =~ $watched ]] && exit 2', "Write", 2),
    ("g.sh", READ_SH + 'declare -A risky=([Bash]=1 [Write]=1)\n[ -n "${risky[$tool]}" ] && exit 2', "Bash", 2),
    (
        "g.sh",
        'python3 -c \'\nimport json, sys\nif json.load(sys.stdin)["tool_name"] == "Bash": sys.exit(2)\'',
        "Bash",
        3,
    ),
    ("g.py", READ_PY + 'if tool == "Bash":\n    sys.exit(2)', "Bash", 4),
    ("g.py", READ_PY + "if tool != 'Bash':\n    sys.exit(0)\nsys.exit(2)", "Bash", 4),
    ("g.py", READ_PY + 'if tool not in ("Write", "Edit", "MultiEdit"):\n    sys.exit(0)', "Write", 4),
    ("g.py", READ_PY + 'if tool in ["NotebookEdit", "Edit"]:\n    sys.exit(2)', "Edit", 4),
    ("g.py", READ_PY + 'if tool in {"Read"}:\n    sys.exit(2)', "Read", 4),
    ("g.py", READ_PY + 'WRITING = frozenset({\n    "NotebookEdit",\n    "Write",  # new files\n})', "Write", 6),
    ("g.py", READ_PY + 'match tool:\n    case "Bash":\n        sys.exit(2)', "Bash", 5),
    ("g.py", READ_PY + 'match tool:\n    case "TodoWrite" | "Write":\n        sys.exit(2)', "Write", 5),
    (
        "g.py",
        READ_PY + 'CHECKS = {\n    "Bash": check_command,\n    "Read": check_path,\n}\nCHECKS[tool](data)',
        "Bash",
        5,
    ),
    ("g.py", READ_PY + 'import re\nif re.match(r"^(Edit|Write)$", tool):\n    sys.exit(2)', "Write", 5),
    ("g.py", READ_PY + 'BASH_TOOL = "Bash"\nif tool == BASH_TOOL:\n    sys.exit(2)', "Bash", 4),
    ("g.py", READ_PY + 'if "Bash" == tool: sys.exit(2)', "Bash", 4),
    ("g.py", READ_PY + 'if tool.startswith("Web") or tool.startswith("WebFetch"):\n    sys.exit(2)', "WebFetch", 4),
    ("g.js", READ_JS + 'if (tool === "Bash") process.exit(2);', "Bash", 3),
    ("g.js", READ_JS + "if (tool !== 'Bash') process.exit(0);", "Bash", 3),
    ("g.mjs", READ_JS + 'if (["Write", "Edit"].includes(tool)) process.exit(2);', "Write", 3),
    ("g.js", READ_JS + "const files = new Set(['Edit', 'Write']);\nif (files.has(tool)) process.exit(2);", "Write", 3),
    ("g.js", READ_JS + "switch (tool) {\n  case 'Bash':\n    process.exit(2);\n}", "Bash", 4),
    ("g.js", READ_JS + "if (/^(Write|Edit)$/.test(tool)) process.exit(2);", "Write", 3),
    ("g.ts", READ_JS + "const checks = {\n  'Read': (x) => x,\n};", "Read", 4),
    ("g.rb", READ_RB + 'exit 2 if tool == "Bash"', "Bash", 3),
    ("g.rb", READ_RB + 'case tool\nwhen "Read", "Bash" then exit 2\nend', "Bash", 4),
    ("g.pl", READ_PL + "exit 2 if $tool eq 'Bash';", "Bash", 3),
]

QUIET: list[tuple[str, str]] = [
    ("g.sh", 'command=$(jq -r .tool_input.command)\n[[ $command == *"rm -rf"* ]] && exit 2'),
    ("g.sh", READ_SH + '# if [ "$tool" = "Bash" ]; then exit 2; fi\n[ "$tool" = run_shell_command ] && exit 2'),
    ("g.sh", READ_SH + 'case "$tool" in Bash|run_shell_command) exit 2 ;; esac'),
    ("g.sh", READ_SH + 'case "$tool" in run_shell_command) echo "Bash is off limits" >&2; exit 2 ;; esac'),
    ("g.sh", READ_SH + 'echo "Read the manual: Write $tool" >&2'),
    ("g.sh", READ_SH + "cat <<EOF >&2\nUse Edit in place of Write.\nRead: allowed\nEOF\nexit 0"),
    ("g.sh", 'mode=Write\n[ "$mode" = Write ] && exit 0'),  # not about tools at all
    ("g.sh", READ_SH + 'TOOL="Bash" printf "%s" "$tool"'),
    (
        "g.sh",
        """printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}'; : tool_name""",
    ),
    ("g.sh", READ_SH + """echo '{"tool_name": "Bash", "seen": true}'"""),
    (
        "g.py",
        READ_PY + '"""Blocks "Bash".\n\nif tool == "Bash": no\n"""\nsys.exit(tool == "run_shell_command")',
    ),
    ("g.py", READ_PY + 'if tool in ("Bash", "run_shell_command"):\n    sys.exit(2)'),
    ("g.py", READ_PY + 'print("Bash", tool, file=sys.stderr)'),
    ("g.py", READ_PY + 'print(json.dumps({"tool": "Bash", "name": tool}))'),
    ("g.py", READ_PY + 'if tool == "TodoWrite":\n    sys.exit(2)'),  # no tool of ours, by any name
    ("g.py", READ_PY + "print(f\"The tool is 'Bash', not the tool 'Read'\")"),
    ("g.py", READ_PY + 'if "write" in tool.lower():\n    sys.exit(2)'),
    ("g.py", READ_PY + 'NAMES = {"run_shell_command": "Bash"}\nif NAMES.get(tool, tool) == "Bash":\n    sys.exit(2)'),
    (
        "g.js",
        READ_JS + 'const names = { write_file: "Write" };\nif ((names[tool] ?? tool) === "Write") process.exit(2);',
    ),
    ("g.js", READ_JS + '// if (tool === "Bash") process.exit(2);\n/* case "Write": */\nconsole.log("Bash", tool);'),
    ("g.js", READ_JS + 'if (tool === "Write" || tool === "write_file") process.exit(2);'),
    ("g.pl", READ_PL + 'print "Bash $tool\\n"; # $tool eq "Bash"'),
]


def guard(command: str, event: str = "BeforeTool", **group: Any) -> dict[str, Any]:
    return {"hooks": {event: [{**group, "hooks": [{"type": "command", "command": command}]}]}}


def found_in(setup: Setup) -> list[tuple[str, int | None, str]]:
    """The findings of the check: the file's name, the line and the message."""
    problems = [finding.problem for finding in run_checks(setup) if finding.rule == RULE]
    return [(Path(problem.origin).name, problem.line, problem.message) for problem in problems]


@pytest.mark.parametrize(("name", "text", "word", "line"), CLAUDE_GUARDS, ids=range(len(CLAUDE_GUARDS)))
def test_a_guard_for_claude_is_found(
    name: str, text: str, word: str, line: int, make_setup: MakeSetup, project: Path
) -> None:
    """The finding is at the line of the comparison, names what is compared, and says what to do."""
    (project / name).write_text(text)
    ((file, at, message),) = found_in(make_setup(guard(f"sh ./{name}")))
    assert (file, at) == (name, line)
    assert message.startswith("reads tool_name and has ")
    assert word in message.partition(", Claude Code's name")[0].replace(",", "").split()
    assert message.endswith('is told hookline\'s words; add "dialect": "claude" to this hook')


@pytest.mark.parametrize(("name", "text"), QUIET, ids=range(len(QUIET)))
def test_other_scripts_are_left_in_peace(name: str, text: str, make_setup: MakeSetup, project: Path) -> None:
    """Comments, messages, answers, names of nothing that exists here, and scripts that know our names as well."""
    (project / name).write_text(text)
    assert found_in(make_setup(guard(f"sh ./{name}"))) == []


@pytest.mark.parametrize(
    ("event", "text", "dialect", "what"),
    [
        pytest.param(
            "BeforeTool",
            "case $(jq -r .tool_name) in Bash|apply_patch) exit 2 ;; esac",
            "codex",
            "reads tool_name and has Bash and apply_patch, Codex's names for run_shell_command, write_file and replace",
            id="codex",
        ),
        pytest.param(
            "BeforeTool",
            '# for Codex\n[ "$(jq -r .tool_name)" = Bash ] && : "$HOME/.codex/log" && exit 2',
            "codex",
            "reads tool_name and has Bash, Codex's name for run_shell_command",
            id="codex-by-its-own-name",
        ),
        pytest.param(
            "BeforeTool",
            "case $(jq -r .tool_name) in read_file|grep_search|glob) exit 2 ;; esac",
            "gemini",
            "reads tool_name and has grep_search, Gemini CLI's name for search_file_content",
            id="gemini",
        ),
        pytest.param(
            "BeforeTool",
            "case $(jq -r .hook_event_name) in PreToolUse) exit 2 ;; PostToolUse) ;; esac",
            "claude",
            "reads hook_event_name and has PreToolUse, Claude Code's name for BeforeTool",
            id="event",
        ),
        pytest.param(
            "AfterAgent",
            '[ "$(jq -r .hook_event_name)" = "Stop" ] && exit 2',
            "claude",
            "reads hook_event_name and has Stop, Claude Code's name for AfterAgent",
            id="stop",
        ),
    ],
)
def test_which_agent_it_was_written_for(
    event: str,
    text: str,
    dialect: str,
    what: str,
    make_setup: MakeSetup,
    project: Path,
) -> None:
    """Tools and events show it; of two agents with the same word it is the one that the script mentions."""
    (project / "g.sh").write_text(text)
    ((_, _, message),) = found_in(make_setup(guard("sh ./g.sh", event)))
    assert message.startswith(f"{what}, but the hook ")
    assert message.endswith(f'add "dialect": "{dialect}" to this hook')


@pytest.mark.parametrize(
    ("event", "text"),
    [
        pytest.param(
            "AfterAgent", "case $(jq -r .hook_event_name) in PreToolUse) exit 2 ;; esac", id="event-elsewhere"
        ),
        pytest.param("BeforeTool", 'case "$1" in PreToolUse) exit 2 ;; esac', id="event-as-argument"),
        pytest.param("BeforeAgent", READ_SH + '[ "$tool" = Bash ] && exit 2', id="no-tools-here"),
    ],
)
def test_words_that_make_no_difference(event: str, text: str, make_setup: MakeSetup, project: Path) -> None:
    """Words that this event never has, that we have as well, or that the script can do without."""
    (project / "g.sh").write_text(text)
    assert found_in(make_setup(guard("sh ./g.sh", event))) == []


@pytest.mark.parametrize(
    ("matcher", "is_found"), [("run_shell_command", True), ("Bash", True), (".*", True), ("^write_file$", False)]
)
def test_only_tools_that_the_hook_is_asked_about_count(
    matcher: str, is_found: bool, make_setup: MakeSetup, project: Path
) -> None:
    """A script for all tools may have names that this hook is never asked about."""
    (project / "g.sh").write_text(READ_SH + '[ "$tool" = Bash ] && exit 2')
    assert bool(found_in(make_setup(guard("sh ./g.sh", matcher=matcher)))) is is_found


def test_a_comparison_in_the_command_is_at_the_command(make_setup: MakeSetup) -> None:
    """Where there is no script, the finding is in the settings."""
    setup = make_setup(guard("""jq -e 'select(.tool_name == "Bash")' && exit 2"""))
    (finding,) = [finding for finding in run_checks(setup) if finding.rule == RULE]
    assert finding.problem.path == "hooks.BeforeTool[0].hooks[0].command"
    assert finding.problem.message == (
        "reads tool_name and has Bash, Claude Code's name for run_shell_command, but the hook is told hookline's words;"
        ' add "dialect": "claude" to this hook'
    )


@pytest.mark.parametrize("content", [b"\0tool_name == 'Bash'", b"#!/usr/bin/awk -f\n", b"\xff\xfe"])
def test_what_is_no_script_is_not_read(content: bytes, make_setup: MakeSetup, project: Path) -> None:
    """Programs, unknown languages, broken text."""
    (project / "guard").write_bytes(content)
    assert found_in(make_setup(guard("./guard"))) == []


def test_untrusted_scripts_are_not_read(project: Path) -> None:
    """A project's scripts are looked into once they are trusted, or if the file is named."""
    file = project / ".llxprt" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"enableHooks": True, **guard("sh ./g.sh")}))
    (project / "g.sh").write_text(READ_SH + '[ "$tool" = Bash ] && exit 2')
    assert found_in(read_setup(Config(project))) == []
    assert len(found_in(read_setup(Config(project, settings_files=[file])))) == 1
    setup = read_setup(Config(project))
    setup.trust.trust(setup.hooks, str(project))
    assert len(found_in(read_setup(Config(project)))) == 1


@pytest.mark.parametrize(
    ("dialect", "text", "meant"),
    [
        pytest.param("claude", "Bash", None, id="its-own-words"),
        pytest.param("codex", "Bash", None, id="shared-words"),
        pytest.param("claude", "run_shell_command", "hookline", id="ours"),
        pytest.param("claude", "Bash|run_shell_command", None, id="both"),
        pytest.param("codex", "run_shell_command", "hookline", id="ours-in-codex"),
        pytest.param("codex", "Write", "claude", id="claude-in-codex"),
        pytest.param("claude", "apply_patch", "codex", id="codex-in-claude"),
        pytest.param("gemini", "run_shell_command", None, id="gemini-has-our-names"),
        pytest.param("gemini", "search_file_content", "hookline", id="older-gemini"),
    ],
)
def test_hooks_that_are_told_another_agents_words(
    dialect: str, text: str, meant: str | None, make_setup: MakeSetup, project: Path
) -> None:
    """What counts is the words that the hook is told, not that they are ours."""
    (project / "g.sh").write_text(f"case $(jq -r .tool_name) in {text}) exit 2 ;; esac")
    settings = guard("sh ./g.sh")
    settings["hooks"]["BeforeTool"][0]["dialect"] = dialect
    found = [message.rpartition("; ")[2] for _, _, message in found_in(make_setup(settings))]
    assert found == ([] if meant is None else [f'write "dialect": "{meant}" in this hook'])


@pytest.mark.parametrize("text", ["a", '"Bash", ', "Bash ", "/", "x = tool_response\n", '["Bash"', "/*", " "])
def test_a_text_that_repeats_itself_is_searched_in_bounded_time(
    text: str, make_setup: MakeSetup, project: Path
) -> None:
    """Each test has a limit, which a search that takes the square of the length would exceed many times."""
    (project / "g.js").write_text(f"tool_name {text * (130_000 // len(text))}")
    found_in(make_setup(guard("node ./g.js", "AfterTool")))
