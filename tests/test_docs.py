"""What the documentation shows is what the commands print, what its examples do, and where the code is."""

import ast
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.cli.main import COMMANDS, load_command, main

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "configuration.md"
PACKAGE = ROOT / "src" / "hookline"
BIN = Path(sys.executable).parent


def example(name: str) -> tuple[str, str]:
    """The command of an example, and what it is said to print."""
    found = re.search(rf"<!-- example: {name} -->\n```console\n\$ (.*?)\n(.*?)```", PAGE.read_text(), re.DOTALL)
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
        if name in ("disable", "enable", "untrust"):
            command += " --yes"  # nobody is at a terminal here
        assert neutral(run(command, site), site) == neutral(output, site)

    check("trust")
    for command in tries:
        run(command, site)
    check("list")
    check("explain")
    check("log")
    run_id = json.loads(run("hookline log --decision deny --json", site))["id"]
    check("show", **{"25d6b4ee53-0": run_id})
    check("stats")
    check("verify")
    check("disable")
    check("explain-disabled")
    check("enable")
    check("fire")
    check("untrust")
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
    """The page about the architecture lists every folder of the package, and modules that are there."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    tree = page[page.index("src/hookline/\n├") : page.index("\n```\n\nA module")]
    folders = {path.name for path in PACKAGE.rglob("*") if path.is_dir() and path.name != "__pycache__"} - {"genai"}
    assert set(re.findall(r"─ (\w+)/ ", tree)) == folders
    lines = [line for line in tree.splitlines() if " · " in line]
    modules = {name for line in lines for name in re.findall(r"\w+", line)}
    assert modules <= {path.stem for path in PACKAGE.rglob("*.py")}


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
    assert sorted(entries) == sorted(pages - {"index"})


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
            continue  # they go on until they are interrupted; tests/cli/commands has them
        for placeholder, real in (("FILE…", "real.hooks.toml"), ("FILE", "out.xml"), ("TEXT", "secrets")):
            command = command.replace(placeholder, real)
        assert (command, main(shlex.split(command))) == (command, 0)
        done.append(command)
    assert len(done) >= 10


def test_the_man_page_is_as_the_commands_are() -> None:
    """docs/hookline.1 is what `make man-page` writes, and the wheel installs it."""
    spec = importlib.util.spec_from_file_location("man_page", ROOT / "tools" / "man_page.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (ROOT / "docs" / "hookline.1").read_text() == tool.page(), "run make man-page"
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["shared-data"] == {"docs/hookline.1": "share/man/man1/hookline.1"}
