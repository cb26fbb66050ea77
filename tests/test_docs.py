"""What the documentation shows is what the commands print, what its examples do, and where the code is."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.apps.agent.conversation import compression
from hookline.apps.cli.main import COMMANDS, load_command, main
from hookline.bridge import arguments
from hookline.fleet.policy import documents
from hookline.gateway import lines
from hookline.log.write import sink
from hookline.protocol import constants
from hookline.protocol.llm import DEFAULT_CONTEXT_LIMIT
from hookline.protocol.text import matchers
from hookline.settings.decode import hooks
from hookline.settings.trust import fingerprint
from hookline.shell import files

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("configuration", "trust", "troubleshooting", "log")]
PACKAGE = ROOT / "src" / "hookline"
BIN = Path(sys.executable).parent


def example(name: str) -> tuple[str, str]:
    """The command of an example, and what it is said to print."""
    text = "".join(page.read_text() for page in PAGES)
    found = re.search(rf"<!-- example: {name} -->\n```console\n\$ (.*?)\n(.*?)```", text, re.DOTALL)
    assert found, name
    return found[1], found[2]


def run(command: str, site: Path) -> str:
    """What a command prints in the project."""
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
        timeout=45,
        env={**environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    return done.stdout


def neutral(text: str, site: Path) -> str:
    """The text without what differs between any two runs: paths, times, ids, and what is measured."""
    text = text.replace(str(site.parent), "~")
    # Where a run falls in the histogram, and an event in the chart, is a matter of luck.
    text = re.sub(r"^ +<.*\n|^ +\d\d-\d\d \d\d:\d\d  .*█.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "…", text)
    text = re.sub(r"\d\d-\d\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+Z", "…", text)
    text = re.sub(r"[0-9a-f]{10}", "…", text)
    text = re.sub(r"by \S+ \(uid \d+\) (without a terminal|on \S+),", "by …,", text)
    text = re.sub(r"(?<!timeout )[\d.]+ (ms|s|min)( ago)?\b|\bnow\b", "…", text)
    return re.sub(r"[ ]+", " ", text).strip()


@pytest.mark.timeout(90)  # many commands, one after another
def test_the_workbench_prints_what_is_shown(own_home: Path) -> None:
    """From a new project to a trusted, listed, explained, logged and measured guard."""
    site = own_home / "site"
    site.mkdir()
    tries = re.findall(r"hookline fire .*", run("hookline init", site))

    def check(name: str, **changes: str) -> None:
        command, output = example(name)
        for shown, real in changes.items():
            command, output = command.replace(shown, real), output.replace(shown, real)
        if name in ("disable", "enable", "revoke"):
            command += " --yes"  # nobody is at a terminal here
        assert neutral(run(command, site), site) == neutral(output, site)

    check("trust")
    for command in tries:
        run(command, site)
    check("list")
    check("explain")
    check("log")
    run_id = json.loads(run("hookline log --decision blocked --json", site).splitlines()[0])["id"]
    check("show", **{"25d6b4ee53-0": run_id})
    check("stats")
    check("verify")
    check("disable")
    check("explain-disabled")
    check("enable")
    check("fire")
    check("revoke")
    check("schema")
    check("completion")


@pytest.mark.parametrize("name", ["neutral", "tools", "verdict", "bus", "callables"])
def test_the_examples_of_embedding_print_what_is_shown(name: str, project: Path) -> None:
    """Each example is a whole program, and prints what the page says."""
    page = (ROOT / "docs" / "embedding.md").read_text()
    found = re.search(
        rf"<!-- example: {name} -->\n```python\n(.*?)```\n\nIt prints\n\n```text\n(.*?)```", page, re.DOTALL
    )
    assert found
    done = subprocess.run(
        [sys.executable, "-c", found[1]], cwd=project, capture_output=True, text=True, check=False, timeout=45
    )
    assert (done.stdout, done.stderr) == (found[2], "")


@pytest.mark.parametrize("name", ["docs/architecture.md", "docs/decisions.md", "docs/embedding.md", "CONTRIBUTING.md"])
def test_the_modules_and_functions_that_are_named_exist(name: str) -> None:
    """A page names `engine/plan.py`, or `engine/plan.py: plan` for a function in it; both can be found."""
    page = (ROOT / name).read_text()
    missing = []
    for path, function in re.findall(r"`(?:src/hookline/)?((?:\w+/)*\w+\.py)(?:: (\w+))?`", page):
        file = next((place / path for place in (PACKAGE, ROOT) if (place / path).exists()), None)
        if file is None or (function and function not in functions_of(file)):
            missing.append(f"{path}: {function}")
    assert missing == []


def functions_of(file: Path) -> set[str]:
    """The names of all functions and methods of a module."""
    tree = ast.parse(file.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_the_tree_of_the_package_is_as_shown() -> None:
    """The page about the architecture lists the folders of the package, and no others."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    tree = page[page.index("src/hookline/\n│") : page.index("\n```\n\nA module")]
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(re.findall(r"(?m)^├── (\w+)/ ", tree)) == rooms
    folders = {path.parent.name for path in PACKAGE.rglob("__init__.py")} - {PACKAGE.name}
    assert set(re.findall(r"(\w+)/(?= |$)", tree.replace("src/hookline/", ""))) <= folders
    assert set(re.findall(r"(\w+\.py)", tree)) <= {path.name for path in PACKAGE.rglob("*.py")}


def test_every_page_has_a_place_in_the_site() -> None:
    """The navigation, from docs/index.md on, has each page once."""
    docs = ROOT / "docs"
    entries = [
        (index.parent / entry).relative_to(docs).as_posix()
        for index in docs.glob("**/*.md")
        for block in re.findall(r"^```{toctree}\n(.*?)```", index.read_text(), re.DOTALL | re.MULTILINE)
        for entry in re.findall(r"^[\w/-]+$", block, re.MULTILINE)
    ]
    pages = {page.relative_to(docs).with_suffix("").as_posix() for page in docs.glob("**/*.md")}
    written_by_make_docs = {"checks"} - pages
    assert sorted({*entries} - written_by_make_docs) == sorted(pages - {"index"})
    assert len(entries) == len({*entries})


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of ours in the documentation, in blocks and in sentences, with its page."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))):
        text = page.read_text()
        scripts = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
        lines = re.findall(r"^(?:    |\$ )(hookline .*)$", text, re.MULTILINE)
        lines += re.findall(r"^(hookline .*)$", scripts, re.MULTILINE)
        spans = re.findall(r"`(hookline [^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
        for line in (*lines, *spans):
            command = re.split(r" {2,}| [|&><]+ |; ", line)[0]
            yield page.name, shlex.split(command, comments=True)[1:]


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


LIMITS = [
    ("security", f"refused that is longer than {_size(matchers.LARGEST_BYTES)}"),
    ("security", f"than {matchers.MOST_ALTERNATIVES} alternatives"),
    ("security", f"nested more than {matchers.DEEPEST_NESTING} deep"),
    ("security", f"up to {files._MOST_ENTRIES:,} directory entries and {files._MOST_NAMES:,} names"),
    ("security", f"reads {_size(fingerprint._MOST_BYTES)} of content"),
    ("security", f"the first {hooks._MOST_GUEST_HOOKS:,} hooks are looked at"),
    ("configuration", f"stdout and stderr, each: {_size(constants.DEFAULT_OUTPUT_LIMIT_BYTES)}"),
    ("log", f"six files of {_size(sink.MAX_BYTES)} are kept"),
    ("hook-authors", f"Up to {_size(constants.DEFAULT_OUTPUT_LIMIT_BYTES)} of stdout and of stderr"),
    ("mcp-gateway", f"longer than {_size(lines.LIMIT)}"),
    ("workers", f"{constants.DEFAULT_WORKER_MEMORY_BYTES >> 20} MB if not given"),
    (
        "agent",
        f"summarized at {compression.NEARLY_FULL:.0%} of {DEFAULT_CONTEXT_LIMIT:,} tokens".replace("%", " %"),
    ),
    ("fleet-policy", f"at most {documents.MOST_FILES} files of {_size(documents.MOST_FILE_BYTES)}"),
    ("fleet-policy", f"{_size(documents.MOST_BYTES)} in all"),
    ("other-agents", f"{arguments.DEADLINE_S:g} s"),
]


@pytest.mark.parametrize(("page", "statement"), LIMITS)
def test_the_limits_that_are_named_are_those_of_the_code(page: str, statement: str) -> None:
    """Made from the constants, so a changed limit or page fails."""
    assert statement in re.sub(r"\s+", " ", (ROOT / "docs" / f"{page}.md").read_text())


def test_every_command_that_is_shown_exists() -> None:
    """Its name is one of the commands, and each option one of its options."""
    unknown = []
    for page, (name, *words) in shown_commands():
        if name == "COMMAND" or name.startswith("-"):
            continue
        if name not in COMMANDS:
            unknown.append(f"{page}: hookline {name}")
            continue
        command, parser = load_command(name)
        # A command with several forms has a parser for each.
        forms = getattr(command, "parser_of", lambda _words: None)
        form = forms(words) if words else None
        actions = (*parser._actions, *(() if form is None else form[0]._actions))
        options = {option for action in actions for option in action.option_strings}
        given = words[: words.index("--")] if "--" in words else words
        unknown += [
            f"{page}: hookline {name} {word}"
            for word in given
            if word.startswith("-") and len(word) > 1 and word.partition("=")[0] not in options
        ]
    assert unknown == []


def test_the_lists_of_commands_work(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What docs/testing.md lists without its output, run in a project with a trusted guard, case files and a log."""
    site = own_home / "site"
    site.mkdir()
    monkeypatch.chdir(site)
    assert [main(["init"]), main(["trust", "--all", "--yes"])] == [0, 0]
    for file in (".env", "notes.txt"):
        call = {"tool_name": "read_file", "tool_input": {"file_path": file}}
        main(["fire", "BeforeTool", "--input", json.dumps(call)])
    cases = '[[case]]\nname = "secrets"\ntool = "read_file"\narguments.file_path = ".env"\nexpect = "blocked"\n'
    for name in (".llxprt/guard.hooks.toml", "real.hooks.toml"):
        (site / name).write_text(cases)
    for name in ("hooks.json", "new.json"):
        (site / name).write_text((site / ".llxprt" / "settings.json").read_text())
    done = []
    for line in re.findall(r"^    hookline (.*)$", (ROOT / "docs" / "testing.md").read_text(), re.MULTILINE):
        command = re.split(r" {2,}", line)[0]
        if "--watch" in command or "--follow" in command:
            continue  # they go on until they are interrupted; tests/apps/cli/commands has them
        for placeholder, real in (("FILE…", "real.hooks.toml"), ("FILE", "out.xml"), ("TEXT", "secrets")):
            command = command.replace(placeholder, real)
        assert (command, main(shlex.split(command))) == (command, 0)
        done.append(command)
    assert len(done) >= 10


def test_trying_hooks_leaves_nothing_in_the_log(own_home: Path) -> None:
    """As docs/testing.md says; `hookline fire` shows that the same hook would be in it."""
    site = own_home / "site"
    site.mkdir()
    settings = own_home / ".llxprt" / "settings.json"
    settings.parent.mkdir()
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "name": "no", "command": "echo no >&2; exit 2"}]}]}
    settings.write_text(json.dumps({"enableHooks": True, "hooks": hooks}))
    case = '[[case]]\nname = "x"\ntool = "write_file"\narguments.file_path = "a"\nexpect = "blocked"\n'
    (settings.parent / "no.hooks.toml").write_text(case)
    assert "1 passed" in run("hookline test", site)
    assert run("hookline log --json", site) == ""
    run("hookline fire BeforeTool --tool write_file --input '{}'", site)
    assert '"kind": "hook"' in run("hookline log --json", site)
