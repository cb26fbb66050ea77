import re
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "trace_event.py"


def test_both_ways_of_firing_are_counted() -> None:
    """Both ways give their counts and their modules; the door has the handler's part and some of its own."""
    done = subprocess.run([sys.executable, TOOL, "--calls"], check=True, text=True, capture_output=True)
    counts = re.findall(
        r"^(\S+): (\d+) calls \((\d+) with resumes\), (\d+) module changes \((\d+) with returns\), (\d+) mod",
        done.stdout,
        re.MULTILINE,
    )
    assert [name for name, *_ in counts] == ["execute_tool_with_hooks", "HookEventHandler.fire_before_tool_event"]
    door, handler = ([int(number) for number in numbers] for _, *numbers in counts)
    assert all(more > less for more, less in zip(door, handler, strict=True))
    # A budget, of many events for the one with the fewest calls.
    assert door[0] <= 150
    for calls, with_resumes, changes, with_returns, modules in (door, handler):
        assert with_resumes >= calls > changes >= modules - 1 > 5
        assert with_returns > changes
    numbered = re.findall(r"^ +(\d+)  \S+\.(\w+)$", done.stdout, re.MULTILINE)
    assert len(numbered) == door[0] + handler[0]
    assert ("1", "execute_tool_with_hooks") in numbered
