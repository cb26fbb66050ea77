import asyncio
import json
from typing import Any

import pytest

from hookline import AggregatedHookResult, Config


def fire(config: Config, **arguments: Any) -> AggregatedHookResult:
    """BeforeTool."""

    async def main() -> AggregatedHookResult:
        system = config.get_hook_system()
        assert system is not None
        await system.initialize()
        return await system.get_event_handler().fire_before_tool_event("ls", arguments)

    return asyncio.run(main())


def chain(*commands: str) -> dict[str, Any]:
    return {"BeforeTool": [{"command": command, "sequential": True} for command in commands]}


@pytest.mark.req("HOOK-103", "HOOK-109", "HOOK-164")
def test_a_chain_runs_one_after_another(scene: Any) -> None:
    """A hook of a chain starts when the one before it has ended, however long that takes."""
    slow, quick = "sleep 0.3; echo first >> order", "echo second >> order"
    result = fire(scene.config(chain(slow, quick)))
    assert (scene.project / "order").read_text() == "first\nsecond\n"
    assert [one.hook.command for one in result.results] == [slow, quick]


@pytest.mark.req("HOOK-108", "HOOK-165")
def test_hooks_outside_a_chain_run_at_the_same_time(scene: Any) -> None:
    """Without `sequential` each can wait for the other, and the results come in the order of the settings."""
    commands = [f"touch {own}; until [ -e {other} ]; do sleep 0.01; done" for own, other in (("a", "b"), ("b", "a"))]
    result = fire(scene.config({"BeforeTool": commands}))
    assert [(one.hook.command, one.success) for one in result.results] == [(command, True) for command in commands]


@pytest.mark.req("HOOK-104")
@pytest.mark.parametrize(
    ("ending", "told"),
    [
        pytest.param("exit 0", {"path": "b", "all": True}, id="success"),
        pytest.param("exit 1", {"path": "a", "all": True}, id="failure"),
        pytest.param("kill -9 $$", {"path": "a", "all": True}, id="killed"),
    ],
)
def test_only_a_hook_that_succeeds_changes_what_the_next_is_told(
    scene: Any, says: Any, ending: str, told: dict[str, Any]
) -> None:
    """The next hook reads what a successful one made of the input, and the input as it was after one that failed."""
    first = f"{says({'hookSpecificOutput': {'tool_input': {'path': 'b'}}})}; {ending}"
    fire(scene.config(chain(first, "cat > told")), path="a", all=True)
    assert json.loads((scene.project / "told").read_text())["tool_input"] == told


@pytest.mark.req("HOOK-104")
@pytest.mark.parametrize("first", ["true", "echo hello", "echo '{}'"])
def test_a_hook_without_a_change_passes_the_input_on(scene: Any, first: str) -> None:
    """Nothing, a text or an empty answer leaves the input of the next hook as it is."""
    fire(scene.config(chain(first, "cat > told")), path="a")
    assert json.loads((scene.project / "told").read_text())["tool_input"] == {"path": "a"}
