"""The shape of the package, checked: see docs/architecture.md for the picture."""

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import hookline
from hookline.protocol.events import HookEventName

PACKAGE = Path(hookline.__file__).parent

# Each layer may import from those above it in this table, and never from a neighbour in its own. Only the first row
# has foundations, of which each may import those to its left.
LAYERS = (
    ("errors", "extensions", "hook", "protocol", "stderr", "files", "shell"),
    ("dialects", "formats"),
    ("settings", "log", "runners"),
    ("engine",),
    ("client",),
    ("guards", "adapters", "bridge", "gateway", "fleet"),
    ("inspect", "testing"),
    ("apps", "__main__"),
)
LAYER_OF = {part: depth for depth, parts in enumerate(LAYERS) for part in parts}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True, order=True)
class Import:
    """One import statement's edge, by full module names."""

    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def module_name(path: Path) -> str:
    """`hookline.engine.planner` for its file, `hookline.engine` for the folder's `__init__.py`."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def part_of(module: str) -> str:
    """The folder or file directly below the package that a module belongs to; empty for the package itself."""
    return module.partition(".")[2].partition(".")[0]


def folder_of(module: str) -> str:
    """The package in whose folder a module's file stands."""
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


def imports_of(module: str) -> Iterator[Import]:
    """Every import of a module: at the top, inside functions and for type checkers alike."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            yield from (Import(module, alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                above = folder_of(module).split(".")
                origin = ".".join([*above[: len(above) - node.level + 1], *([origin] if origin else [])])
            for alias in node.names:
                full = f"{origin}.{alias.name}"
                # `from package import module` names a module, any other `from` a name inside one.
                yield Import(module, full if full in MODULES or origin == "google" else origin, node.lineno)


@cache
def tree_of(module: str) -> ast.Module:
    """The parsed source of a module."""
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def all_imports() -> list[Import]:
    """Not read at the top of this module, which every worker loads."""
    return sorted({found for module in MODULES for found in imports_of(module)})


@cache
def internal_imports() -> list[Import]:
    """The imports among the package's modules."""
    return [found for found in all_imports() if found.imported.partition(".")[0] == "hookline"]


def test_the_imports_were_found() -> None:
    """The reading below sees imports at the top of a module and those inside a function or a condition."""
    assert any(found.importer == "hookline.protocol.hook_entry" for found in internal_imports())
    assert any(
        found.importer == "hookline.formats.genai.sdk" and part_of(found.imported) == "genai" for found in all_imports()
    )


def test_the_layers_fit_in_one_head() -> None:
    """There are at most eight."""
    assert len(LAYERS) <= 8


def test_every_part_has_a_layer() -> None:
    """Each name directly below the package has its place in the order."""
    assert {part_of(module) for module in MODULES} - {""} <= LAYER_OF.keys()


def test_imports_run_one_way() -> None:
    """A part imports itself and the layers below it, nothing beside or above it."""
    # The package's own `__init__` is the front that hands out names of every layer.
    crossing = [found for found in internal_imports() if found.importer != "hookline" and not _is_downward(found)]
    assert [str(found) for found in crossing] == []


def _is_downward(found: Import) -> bool:
    importer, imported = part_of(found.importer), part_of(found.imported)
    if importer in (imported, "__main__"):
        return True
    if imported == "" or LAYER_OF[imported] != LAYER_OF[importer]:
        return imported != "" and LAYER_OF[imported] < LAYER_OF[importer]
    foundations = LAYERS[0]
    return importer in foundations and foundations.index(imported) < foundations.index(importer)


def test_no_imports_in_a_circle() -> None:
    """The modules can be put in an order in which each imports only earlier ones."""
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in internal_imports():
        graph[found.importer].add(found.imported)
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) >= len(MODULES)


def test_no_class_name_is_used_twice() -> None:
    """A search for a class by its name finds one class."""
    places: dict[str, list[str]] = {}
    for module in MODULES:
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_a_small_module_serves_more_than_one() -> None:
    """What has fewer than forty lines and one importer is a part of that importer."""
    importers: dict[str, set[str]] = {}
    for found in internal_imports():
        importers.setdefault(found.imported, set()).add(found.importer)
    folders = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    small = {name for name in MODULES if len(MODULES[name].read_text(encoding="utf-8").splitlines()) < 40}
    assert [name for name in sorted(small - folders) if len(importers.get(name, ())) == 1] == []


def test_imports_inside_functions_and_suppressions_are_few() -> None:
    """Fewer than 60 imports are inside functions, and fewer than 150 lines suppress a rule."""
    functions = (node for module in MODULES for node in ast.walk(tree_of(module)) if isinstance(node, FUNCTIONS))
    inside = [found for function in functions for found in ast.walk(function) if isinstance(found, IMPORTS)]
    suppressed = sum(path.read_text(encoding="utf-8").count("# noqa") for path in MODULES.values())
    assert (len(inside) < 60, suppressed < 150) == (True, True), (len(inside), suppressed)


def test_underscored_modules_serve_their_own_folder() -> None:
    """A module such as `engine/_merge.py` is imported by its neighbours only."""
    private = [found for found in internal_imports() if found.imported.rpartition(".")[2].startswith("_")]
    intruders = [found for found in private if folder_of(found.importer) != found.imported.rpartition(".")[0]]
    assert [str(found) for found in intruders] == []


def test_one_module_speaks_to_the_sdk() -> None:
    """Only `formats/genai/sdk.py` imports google-genai, which takes half a second to load."""
    of_google = [found for found in all_imports() if found.imported.partition(".")[0] == "google"]
    # Google ADK is another package under the same name.
    assert {found.importer for found in of_google if not found.imported.startswith("google.adk.")} == {
        "hookline.formats.genai.sdk"
    }


_PRINTS = re.compile(r"sys\.(?:stdout|stderr)(?:\.buffer)?\.write|(?:\w+\.)*console\.print|print|Console")


def test_few_modules_write_to_the_terminal() -> None:
    """Untrusted text is made safe where it is printed, and there are few such places."""
    printing = {
        module
        for module, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _PRINTS.fullmatch(ast.unparse(node.func))
    }
    assert printing == {
        "hookline.stderr",  # one line of hookline's, through `printable`
        "hookline.apps.cli.report.printer",  # lines through `painted`, JSON with escapes
        "hookline.apps.cli.main",  # the version, and tracebacks through `visible`
        "hookline.apps.cli.terminal.screen",  # a console that makes whatever it draws visible
        "hookline.apps.cli.terminal.slash",  # the help, on that console
        "hookline.hook",  # a script's own stderr, which hookline reads
        "hookline.apps.agent.tools.seeker",  # JSON for the process that started it
    }


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`import hookline` costs next to nothing: what is slow to load waits for its first use."""
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); import hookline; "
        "print(*sorted({'asyncio', 'dataclasses', 'google', 'msgspec'} & sys.modules.keys()))"
    )
    # Isolated and without site, so that nothing else of this environment is loaded beforehand.
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_public_names_are_pinned() -> None:
    """The public names are these, in order: growth shows in review."""
    assert hookline.__all__ == [
        "AggregatedHookResult",
        "Config",
        "DefaultHookOutput",
        "FormatError",
        "GenerateContentParameters",
        "HookEventHandler",
        "HookEventName",
        "HookSystem",
        "HooklineError",
        "Hooks",
        "InProcessBus",
        "LLMRequest",
        "LLMResponse",
        "Session",
        "ToolResult",
        "execute_tool_with_hooks",
        "fire_after_model_hook",
        "fire_after_tool_hook",
        "fire_before_model_hook",
        "fire_before_tool_hook",
        "fire_before_tool_selection_hook",
    ]
    assert hookline.__all__ == sorted(hookline.__all__)


@pytest.mark.req("HOOK-175")
@pytest.mark.parametrize("name", hookline.__all__)
def test_public_names_can_be_imported(name: str) -> None:
    """Every public name leads to the thing of that name."""
    assert getattr(hookline, name).__name__ == name


def test_unknown_names_are_refused() -> None:
    """A name that the package does not have is an ordinary AttributeError."""
    with pytest.raises(AttributeError, match="module 'hookline' has no attribute 'Hooksystem'"):
        getattr(hookline, "Hooksystem")  # noqa: B009 - the type checker knows that it is not there


def test_every_event_has_a_row() -> None:
    """The table knows each of the events, and nothing else."""
    table = import_module("hookline.engine.event_table").EVENT_TABLE
    assert set(table) == set(HookEventName)


def test_requirement_ids_stay_in_the_tests() -> None:
    """Code does not cite requirements: the markers of the tests do."""
    cited = re.compile(r"\b(?:HOOK|DELTA)-[A-Z]*-?\d+")
    assert [module for module, path in MODULES.items() if cited.search(path.read_text(encoding="utf-8"))] == []
