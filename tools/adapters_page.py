"""Writes docs/adapters.md from the declarations of the adapters and from their examples."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from hookline.adapters.table import ADAPTERS, EVENTS, Adapter, EffectName, events_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "adapters.md"

_MEANINGS = {
    EffectName.DENY: "a tool does not run, and the model sees the reason",
    EffectName.INPUT_REWRITE: "a tool runs with other arguments",
    EffectName.CONTEXT: "the model sees a text with a tool's result",
    EffectName.REQUEST_REWRITE: "the model gets another request, or a note",
    EffectName.RESPONSE_REDACTION: "another text takes the place of the model's, before it is shown",
    EffectName.SYNTHETIC_RESPONSE: "the model is not asked; the hook's answer is used",
    EffectName.TOOL_RESTRICTION: "tools are not offered, and do not run if the model calls them anyway",
    EffectName.STOP: "the run ends with a reason, from any event",
}


def page() -> str:
    """The text of docs/adapters.md."""
    return "\n".join([*_head(), *_table(), *_outlook(), *(line for one in ADAPTERS for line in _how_to(one))])


def _head() -> Iterator[str]:
    yield "<!-- Written by `make pages`; the facts are in src/hookline/adapters/table.py. -->"
    yield "# Hooks in frameworks"
    yield ""
    yield (
        "An adapter gives the agents of a framework hooks, in a line or two. Each has an extra, such as"
        f" `pip install 'hookline[{ADAPTERS[0].extra}]'`; hookline itself needs no framework."
    )
    yield ""
    yield "```python"
    yield "from hookline import Hooks"
    for one in ADAPTERS:
        yield f"from hookline.adapters.{one.name} import {one.front}"
    yield ""
    yield 'hooks = Hooks("path/to/project")  # one for the whole program; reads the settings'
    for one in ADAPTERS:
        yield f"{one.use}  # {one.framework}"
    yield "```"
    yield ""


def _table() -> Iterator[str]:
    yield "## What hooks can do"
    yield ""
    yield f"| effect | events | {' | '.join(one.framework for one in ADAPTERS)} |"
    yield f"|---|---|{'---|' * len(ADAPTERS)}"
    for effect in EffectName:
        cells = " | ".join(_cell(one, effect) for one in ADAPTERS)
        yield f"| **{effect}**: {_MEANINGS[effect]} | {', '.join(EVENTS[effect])} | {cells} |"
    yield ""
    for one in ADAPTERS:
        for key, why in one.cannot.items():
            yield f"- {one.framework}, {key}: {why}."
    if any(one.cannot for one in ADAPTERS):
        yield ""


def _cell(adapter: Adapter, effect: EffectName) -> str:
    lost = {event for key in adapter.cannot if key.partition(": ")[0] == effect for event in events_of(key)}
    if not lost:
        return "yes"
    kept = [event for event in EVENTS[effect] if event not in lost]
    return f"{', '.join(kept)} only" if kept else "no"


def _outlook() -> Iterator[str]:
    yield (
        "`hookline doctor` lists the same for the frameworks that are installed. An adapter reports on stderr that it"
        " can't apply some hooks, or that it does not fire their event (prompts, sessions, compression, notifications)."
    )
    yield ""
    yield (
        "The rows are tests: `hookline.testing.effects` runs each of them with real hooks and the framework's own fake"
        " model, and `make adapters` does so for every adapter in a separate environment. Effects that an adapter"
        " declares as impossible are also tried: the test fails if one of them works, or is not reported."
    )
    yield ""
    yield "## An adapter of your own"
    yield ""
    yield (
        "Write it on `Hooks` ([embedding.md](embedding.md)), or on `hookline.adapters.run.AgentRun`, which has the"
        " shared decisions of adapters (what is sent, shown and refused, notes, stops, restrictions) for requests in"
        " one of `hookline.formats`;"
        " [agent_framework.py](../src/hookline/adapters/agent_framework/adapter.py) shows how."
        " Run the same table in its tests. A `Host` has one method, which runs a conversation"
        " in your framework with a model that follows the script:"
    )
    yield ""
    yield "```python"
    yield 'CANNOT = {"response redaction": "the framework shows tokens as they come"}  # empty if it can do everything'
    yield ""
    yield '@pytest.mark.parametrize("effect", effects.ROWS, ids=str)'
    yield "def test_effect(effect):"
    yield "    asyncio.run(effects.check(MyHost(), effect, cannot=CANNOT))"
    yield "```"
    yield ""
    yield (
        'The adapter calls `report_inabilities(hooks, "My framework", CANNOT)`, which reports them to the user. If your'
        ' framework knows tools by other names, `check(..., tool_name="mcp__files__{}".format)` uses them. Check'
        " `effects.NO_LEAK`"
        " with each way to stream. [examples/own_adapter.py](../examples/own_adapter.py) is a whole adapter with its"
        " host; a test runs it."
    )
    yield ""
    yield (
        "Without a framework, [embedding.md](embedding.md) has the methods that a loop of your own calls;"
        " [openai_loop.py](../examples/adapters/openai_loop.py) and"
        " [anthropic_loop.py](../examples/adapters/anthropic_loop.py) are such loops, with all effects."
    )
    yield ""


def _how_to(adapter: Adapter) -> Iterator[str]:
    example = ROOT / "examples" / "adapters" / f"{adapter.name}_agent.py"
    yield f"## {adapter.framework}"
    yield ""
    yield f"    pip install 'hookline[{adapter.extra}]'"
    yield ""
    yield _notes(adapter)
    yield ""
    if not example.exists():
        return
    where = example.relative_to(ROOT)
    yield f"[{where}](../{where}) runs without a key and without a network:"
    yield ""
    yield "```python"
    yield example.read_text(encoding="utf-8").rstrip()
    yield "```"
    yield ""
    yield "It prints"
    yield ""
    yield "```text"
    yield example.with_suffix(".txt").read_text(encoding="utf-8").rstrip()
    yield "```"
    yield ""


def _notes(adapter: Adapter) -> str:
    """Return the module's docstring after its first line; importing the module needs its framework."""
    module = ROOT / "src" / "hookline" / "adapters" / f"{adapter.name}.py"
    if not module.exists():
        module = module.with_suffix("") / "__init__.py"
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[2].strip()


def main() -> int:
    """Writes the page."""
    PAGE.write_text(page().rstrip() + "\n", encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
