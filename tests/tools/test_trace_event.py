"""How much one event takes stays within what was reached."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(120)
def test_one_event_takes_no_more_calls_than_were_reached() -> None:
    """The limits are those of the issue that rebuilt the core; the tool takes the event with the fewest calls."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "trace_event.py"], capture_output=True, text=True, check=True, timeout=120
    )
    found = re.search(r"execute_tool_with_hooks: (\d+) calls, (\d+) module changes", done.stdout)
    assert found is not None
    assert int(found[1]) <= 90
    assert int(found[2]) <= 45
