"""The documentation is compared with the commands' output, the examples' output, and the code."""

import ast
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hookline.apps.cli.main import COMMANDS, load_command
from hookline.protocol.text.secret_names import SECRET_NAMES
from hookline.settings.decode import schema

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("configuration", "settings-keys", "trust", "troubleshooting", "log")]
PACKAGE = ROOT / "src" / "hookline"
BIN = Path(sys.executable).parent


def example(name: str) -> tuple[str, str]:
    """Return the command of an example, and its output on the page."""
    text = "".join(page.read_text() for page in PAGES)
    found = re.search(rf"<!-- example: {name} -->\n```console\n\$ (.*?)\n(.*?)```", text, re.DOTALL)
    assert found, name
    return found[1], found[2]


def run(command: str, site: Path) -> str:
    """Return the output of a command in the project."""
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
            command += " --yes"  # there is no terminal here
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
    """Yield each command line of hookline in the documentation, in blocks and in sentences, with its page."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))):
        text = page.read_text()
        scripts = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
        lines = re.findall(r"^(?:    |\$ )(hookline .*)$", text, re.MULTILINE)
        lines += re.findall(r"^(hookline .*)$", scripts, re.MULTILINE)
        spans = re.findall(r"`(hookline [^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
        for line in (*lines, *spans):
            command = re.split(r" {2,}| [|&><]+ |; ", line)[0]
            yield page.name, shlex.split(command, comments=True)[1:]


class Quantity:
    """The value of a constant, as pages write it."""

    def __init__(self, constant: str) -> None:
        module, _, path = constant.partition(":")
        value: Any = importlib.import_module(f"hookline.{module}")
        for name in path.split("."):
            value = getattr(value, name.removesuffix("()"))
            value = value() if name.endswith("()") else value
        self.value = value[0] if isinstance(value, tuple) else value

    def __format__(self, form: str) -> str:
        value = self.value
        if form == "size":
            return f"{value >> 20} MiB" if value >= 1 << 20 else f"{value >> 10} KiB"
        if form == "word":
            return ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")[int(value)]
        if form == "minutes":
            return {1: "minute", 2: "two minutes", 5: "five minutes", 10: "ten minutes", 60: "hour"}.get(
                value / 60, f"{value / 60:g} minutes"
            )
        return format(value, form or ",.10g")


QUOTED = """
agent           | summarized at {:.0%}       | apps.agent.conversation.compression:NEARLY_FULL
agent           | 80% of {} tokens               | protocol.llm:DEFAULT_CONTEXT_LIMIT
agent           | {} for OpenAI                  | apps.agent.models.openai:CONTEXT_LIMIT
agent           | {} for Anthropic               | apps.agent.models.anthropic:CONTEXT_LIMIT
agent           | one prompt may take, {} by     | apps.agent.loop:DEFAULT_MAX_TURNS
agent           | more than {} characters is not | apps.agent.approval.protected:_LONGEST_COMMAND
backtest        | up to {} changes               | testing.backtest.run:_MOST_KEPT
settings-keys   | milliseconds; default {:g} | protocol.constants:DEFAULT_TIMEOUT_MS
settings-keys   | in one program; default {}     | protocol.constants:DEFAULT_MAX_CONCURRENT
settings-keys   | continue the turn; default {}  | protocol.constants:DEFAULT_MAX_STOP_BLOCKS
settings-keys   | stdout and stderr, each: {:size} | protocol.constants:DEFAULT_OUTPUT_LIMIT_BYTES
settings-keys   | {:size}, has more than 400     | protocol.text.matchers:LARGEST_BYTES
settings-keys   | compared up to {} characters   | protocol.text.matchers:LONGEST_NAME
embedding       | there are at most {}           | runners.function.threads:MOST_THREADS
fleet           | {:size} by default             | settings.decode.schema:FleetSettings().spool_bytes
fleet           | {:word} heartbeats are missing | fleet.health.status:_MISSED_BEATS
fleet           | a heartbeat every {:minutes}   | fleet.health.heartbeat:EVERY_S
fleet           | arrives {:minutes} after       | fleet.health.heartbeat:CLOCK_S
fleet           | tried again after an {:minutes} | fleet.service:_CANARY_AGAIN_S
fleet           | retries every {} seconds       | fleet.nats.connection:_REFUSED_S
fleet-policy    | at most {} files               | fleet.policy.documents:MOST_FILES
fleet-policy    | files of {:size}               | fleet.policy.documents:MOST_FILE_BYTES
fleet-policy    | {:size} in all                 | fleet.policy.documents:MOST_BYTES
fleet-policy    | checks every {} seconds        | fleet.policy.follow:_ALIVE_S
fleet-record    | every {:minutes} the machine   | fleet.service:ANCHOR_S
foreign-hooks   | at the {:word}h nested call    | bridge.call:_MOST_NESTED
hook-authors    | KILL {} seconds later          | runners.process.job:ChildLimits().grace_s
hook-authors    | `hooksConfig.maxStopBlocks` ({}) | protocol.constants:DEFAULT_MAX_STOP_BLOCKS
hook-authors    | Up to {:size} of stdout        | protocol.constants:DEFAULT_OUTPUT_LIMIT_BYTES
hook-kinds      | up to {} in a program          | runners.http.connections:_MOST_IDLE
hook-kinds      | idle for {} seconds            | runners.http.connections:_IDLE_S
hook-kinds      | is {:minutes} old              | runners.http.connections:_LONGEST_S
log             | six files of {:size} are kept  | log.write.sink:MAX_BYTES
log             | at least {:word} characters    | log.redact.redactor:SHORTEST_SECRET
mcp-gateway     | longer than {:size}            | gateway.lines:LIMIT
mcp-gateway     | no answer within {:minutes}    | gateway.elicitation:ASK_S
mcp-gateway     | the server {:word} more        | gateway.process:WAIT_S
mcp-gateway     | {:word} seconds later SIGKILL  | gateway.process:GRACE_S
other-agents    | {} s                           | bridge.arguments:DEADLINE_S
other-agents    | {} s, 50 s                     | bridge.installation.entries:HOST_TIMEOUT_S
other-agents    | after {:minutes} without a call | bridge.server.serve:IDLE_S
other-agents    | within {:word} seconds         | bridge.client:_ACCEPT_S
packs           | at most {} characters          | guards.findings:LONGEST_REASON
remote-hooks    | fails after {} s               | fleet.remote.protocol:CLAIM_TIMEOUT_S
remote-hooks    | fails {} s after its last      | fleet.remote.protocol:HEARTBEAT_TIMEOUT_S
remote-hooks    | due every {} s                 | fleet.remote.protocol:HEARTBEAT_S
security        | longer than {:size}            | protocol.text.matchers:LARGEST_BYTES
security        | than {} alternatives           | protocol.text.matchers:MOST_ALTERNATIVES
security        | nested more than {} deep       | protocol.text.matchers:DEEPEST_NESTING
security        | up to {} directory entries     | shell.files:_MOST_ENTRIES
security        | and {} names                   | shell.files:_MOST_NAMES
security        | reads {:size} of content       | settings.trust.fingerprint:_MOST_BYTES
security        | first {} hooks are looked at   | settings.decode.hooks:_MOST_GUEST_HOOKS
security        | JSON file has up to {:size}    | settings.read.files:_LARGEST_BYTES
security        | TOML file up to {:size}        | settings.read.files:_LARGEST_TOML_BYTES
security        | keys of up to {} parts         | settings.read.toml:_MOST_PARTS
security        | Of each file {} problems       | settings.read.files:MOST_PROBLEMS
testing         | input of more than {:size}     | log.write.sink:_FIELD_LIMIT
ui              | the latest {}                  | apps.ui.records:_SESSIONS
warm-hooks      | at most {} scripts             | protocol.constants:DEFAULT_MAX_WARM
warm-hooks      | idle for {:minutes}            | runners.warm.pool:DEFAULT_IDLE_S
workers         | {} at most                     | runners.worker.lines:MOST_AT_ONCE
workers         | at most {} of them             | runners.worker.worker:MOST_WAITING
workers         | every {} events                | runners.worker.worker:_MEMORY_LOOKED_AT_EVERY
workers         | again at the next event: after {} s | runners.worker.backoff:_PAUSES_S
workers         | has {} s before                | runners.worker.workers:_CLOSING_S
workers         | {:size} if not given          | protocol.constants:DEFAULT_WORKER_MEMORY_BYTES
"""


@pytest.mark.parametrize("row", QUOTED.strip().splitlines(), ids=lambda row: " ".join(row.split()[::2]))
def test_the_limits_and_defaults_that_are_named_are_those_of_the_code(row: str) -> None:
    """Each row has a page, a statement with a number or a size in it, and the constant that it comes from."""
    page, statement, constant = (part.strip() for part in row.split(" | "))
    written = statement.format(Quantity(constant))
    assert written in re.sub(r"\s+", " ", (ROOT / "docs" / f"{page}.md").read_text())


def test_every_setting_has_its_place_on_a_page() -> None:
    """Each key of the settings files, of whichever object, is named outside of the decisions."""
    text = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md") if page.stem != "decisions")
    structs = [one for one in vars(schema).values() if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    keys = {field.encode_name for struct in structs for field in msgspec.structs.fields(struct)}
    # Another name of `async`, which Claude Code reads.
    assert [
        key
        for key in sorted(keys - {"asyncRewake", *schema.THEIR_EVENTS})
        if not re.search(rf"[`\"./]{key}[`\":.]", text)
    ] == []


def test_the_names_of_secrets_are_listed() -> None:
    """The page about the log lists the patterns that the redactor uses."""
    page = (ROOT / "docs" / "log.md").read_text()
    assert ", ".join(f"`{name}`" for name in SECRET_NAMES[:-1]) + f" and `{SECRET_NAMES[-1]}`" in page


def test_the_recipes_are_counted() -> None:
    """The number on the page for hook authors is that of the folders."""
    count = sum(path.is_dir() for path in (ROOT / "examples" / "cookbook").iterdir())
    assert f"has {count} small hooks" in (ROOT / "docs" / "hook-authors.md").read_text()


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
