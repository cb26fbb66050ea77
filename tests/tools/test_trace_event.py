import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The most calls and module changes of one event. The decisions quote these numbers.
LIMITS = {"execute_tool_with_hooks": (165, 90), "fire_before_model_hook": (235, 120)}


def test_events_are_counted() -> None:
    """Each event is listed with its counts, its modules and its calls, and stays within its limits."""
    command = [sys.executable, "tools/trace_event.py", "--calls"]
    done = subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True, timeout=300)
    counts = re.findall(
        r"^(\S+): (\d+) calls \((\d+) with resumes\), (\d+) module changes \((\d+) with returns\), (\d+) mod",
        done.stdout,
        re.MULTILINE,
    )
    traced = {name: tuple(map(int, numbers)) for name, *numbers in counts}
    assert list(traced) == [
        "execute_tool_with_hooks",
        "HookEventHandler.fire_before_tool_event",
        "fire_before_model_hook",
    ]
    for name, (calls, changes) in LIMITS.items():
        assert (traced[name][0] <= calls, traced[name][2] <= changes) == (True, True), (name, traced[name])
    for calls, with_resumes, changes, with_returns, modules in traced.values():
        assert with_resumes >= calls > changes >= modules - 1 > 5
        assert with_returns > changes
    assert_as_described(done.stdout.partition("HookEventHandler.fire_before_tool_event:")[0])
    numbered = re.findall(r"^ +(\d+)  \S+\.(\w+)$", done.stdout, re.MULTILINE)
    assert len(numbered) == sum(calls for calls, *_ in traced.values())
    assert ("1", "execute_tool_with_hooks") in numbered


def assert_as_described(trace: str) -> None:
    """The steps in docs/architecture.md are the functions that one event calls, in this order."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    steps = re.findall(r"^\| \d+ \| `([\w/]+)\.py: (\w+)` \| (?!only )", page, re.MULTILINE)
    described = [f"{module.replace('/', '.')}.{function}" for module, function in steps]
    called = iter(re.findall(r"^ +\d+  (\S+)$", trace, re.MULTILINE))
    # `in` continues behind the function that it found before.
    assert [function for function in described if function not in called] == []
    assert len(described) >= 12


def test_the_decisions_quote_the_limits() -> None:
    """Numbers of calls that a page names are those that the test above compares."""
    page = re.sub(r"\s+", " ", (ROOT / "docs" / "decisions.md").read_text())
    for name, (calls, changes) in LIMITS.items():
        assert f"`{name}` takes at most {calls} calls and {changes} module changes" in page
