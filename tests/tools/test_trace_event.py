import re
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "trace_event.py"


def test_events_are_counted() -> None:
    """Each event gives its counts and its modules; the trigger has the handler's part and some of its own."""
    done = subprocess.run([sys.executable, TOOL, "--calls"], check=True, text=True, capture_output=True)
    counts = re.findall(
        r"^(\S+): (\d+) calls \((\d+) with resumes\), (\d+) module changes \((\d+) with returns\), (\d+) mod",
        done.stdout,
        re.MULTILINE,
    )
    assert [name for name, *_ in counts] == [
        "execute_tool_with_hooks",
        "HookEventHandler.fire_before_tool_event",
        "fire_before_model_hook",
    ]
    door, handler, model = ([int(number) for number in numbers] for _, *numbers in counts)
    assert all(more > less for more, less in zip(door, handler, strict=True))
    # A budget, of many events for the one with the fewest calls.
    assert door[0] <= 150
    assert model[0] <= 240
    for calls, with_resumes, changes, with_returns, modules in (door, handler, model):
        assert with_resumes >= calls > changes >= modules - 1 > 5
        assert with_returns > changes
    numbered = re.findall(r"^ +(\d+)  \S+\.(\w+)$", done.stdout, re.MULTILINE)
    assert len(numbered) == door[0] + handler[0] + model[0]
    assert ("1", "execute_tool_with_hooks") in numbered
