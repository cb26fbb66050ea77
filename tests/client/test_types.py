"""Programs are clean under the strictest checkers, without any extra of hookline."""

import importlib
import inspect
import os
import pkgutil
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import hookline
import hookline.adapters
from hookline import ToolResult
from hookline.client import Hooks, ModelAnswer, ModelGate, Selection, ToolCall

SOURCE = Path(hookline.__file__).parents[1]
PROGRAM = """
import asyncio
from collections.abc import Mapping
from typing import Any

from hookline import FormatError, Hooks, LLMRequest, LLMResponse, Session, ToolResult
from hookline.formats import anthropic, openai
from hookline.client import ModelAnswer, ModelGate, Selection, ToolCall


def ask(reason: str, arguments: Mapping[str, Any]) -> bool:
    return not reason and not arguments


async def write_file(arguments: dict[str, Any]) -> str:
    return f"Wrote {arguments}."


async def loop(session: Session, native: dict[str, Any]) -> str:
    request: LLMRequest = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    response: LLMResponse = {"text": "hello"}
    selection: Selection = await session.select_tools(request, ["write_file"])
    names: tuple[str, ...] = selection.allowed
    gate: ModelGate = await session.before_model(openai.to_hook_llm_request(native))
    native = openai.from_hook_llm_request(gate.request, native)
    if gate.blocked:
        return gate.reason or ""
    texts: list[str] = [message["content"] for message in gate.request["messages"]]
    answer: ModelAnswer = await session.after_model(anthropic.to_hook_llm_request(native), response)
    call: ToolCall = await session.before_tool(names[0], {"a": 1}, call_id="c1")
    result: ToolResult = await session.after_tool(call, ToolResult(llm_content="ok"))
    result = await session.run_tool("write_file", {}, write_file)
    result = session.sync.run_tool("write_file", {}, lambda arguments: {"a": len(arguments)})
    return (answer.text or "") + (result.stop_reason or "") + texts[0]


async def main() -> None:
    hooks = Hooks("project", on_ask=ask, on_fault="block")
    try:
        async with hooks.session("s-1", agent="planner") as session:
            print(await loop(session, {"model": "m", "messages": []}))
    except FormatError as error:
        print(error.where)


asyncio.run(main())
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.timeout(120)
def test_mypy_strict(program: Path) -> None:
    """A program passes `mypy --strict`, in an environment that has no google-genai."""
    # Neither site packages nor our own configuration: only hookline's source, as an installed package without extras.
    options = ["--strict", "--no-site-packages", "--config-file=", f"--cache-dir={program.parent / 'cache'}"]
    silenced = ["--follow-imports=silent", "--ignore-missing-imports"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *silenced, str(program)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MYPYPATH": str(SOURCE)},
    )
    assert done.stdout == "Success: no issues found in 1 source file\n"


@pytest.mark.timeout(120)
def test_pyright_strict(program: Path) -> None:
    """The same for pyright, which `make setup` installs where there is npm."""
    own = Path(sys.prefix, "pyright", "node_modules", ".bin", "pyright")
    pyright = str(own) if own.exists() else shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed, so its strict mode is NOT checked; try: npm install -g pyright")
    config = f'{{"typeCheckingMode": "strict", "extraPaths": ["{SOURCE}"], "include": ["program.py"]}}'
    (program.parent / "pyrightconfig.json").write_text(config)
    done = subprocess.run([pyright, "-p", str(program.parent)], capture_output=True, text=True, check=False)
    assert "0 errors" in done.stdout, done.stdout


@pytest.mark.parametrize("kind", [Selection, ModelGate, ModelAnswer, ToolCall, ToolResult])
def test_help_shows_every_field(kind: Any) -> None:
    """The docstring of a result describes each of its fields, in a separate line."""
    text = inspect.getdoc(kind) or ""
    assert [one.name for one in fields(kind) if f"\n    {one.name}: " not in text] == []
    assert list(inspect.signature(kind).parameters) == [one.name for one in fields(kind)]


def test_help_shows_every_option() -> None:
    """The same for the options of `Hooks` and of a session."""
    for function in (Hooks.__init__, Hooks.session):
        text = inspect.getdoc(function) or ""
        names = [name for name in inspect.signature(function).parameters if name != "self"]
        assert [name for name in names if f"\n    {name}: " not in text] == []


def test_dir_lists_the_public_names() -> None:
    """Completion in a shell finds names that were not loaded yet."""
    assert {*hookline.__all__} <= {*dir(hookline)}


@pytest.mark.parametrize(
    "module", ["hookline", "hookline.formats", "hookline.adapters", "hookline.testing", "hookline.hook"]
)
def test_dir_lists_nothing_else(module: str) -> None:
    """Modules that were imported on the way are not part of the interface, and each listed name can be imported."""
    loaded = importlib.import_module(module)
    assert dir(loaded) == sorted(loaded.__all__)
    if module not in ("hookline.formats", "hookline.adapters"):
        assert all(getattr(loaded, name) is not None for name in loaded.__all__)


def test_every_adapter_is_listed() -> None:
    """A new module appears in `dir` by itself only if the list is kept."""
    modules = {one.name for one in pkgutil.iter_modules(hookline.adapters.__path__) if not one.name.startswith("_")}
    assert {*hookline.adapters.__all__} == modules
