"""`make fleet-demo`: one command that shows policy, remote hooks, a shadow guard, the kill switch and the audit."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.fleet.server import find_program

DEMO = Path(__file__).resolve().parents[2] / "examples" / "fleet_demo.py"


@pytest.mark.fleet
@pytest.mark.timeout(560)
@pytest.mark.skipif(find_program() is None, reason="no nats-server here: `make setup` installs it")
def test_the_demo_shows_what_it_promises() -> None:
    """It ends well only if the forged record was found; what it shows on the way is what happened."""
    for _ in range(3):
        done = subprocess.run([sys.executable, str(DEMO)], capture_output=True, text=True, check=False, timeout=180)
        shown = done.stdout
        # A machine that stands still for a second gets the configured answer in place of the worker's.
        if "the workers of customers" not in shown:
            break
    assert done.returncode == 0, shown + done.stderr
    for machine in ("anna", "bert"):
        assert f"{machine} writes '-----BEGIN PRIVATE KEY-----': denied by no-keys" in shown
        assert f"{machine} writes 'Call Ada Lovelace back': denied by customers (worker worker-" in shown
        assert f"{machine} writes 'see http://docs.example': allowed" in shown
    assert "would have blocked 1" in shown
    assert "anna writes 'just a note': denied: agents are switched off by the company's policy: incident 4711" in shown
    assert "2 machines, 2 without a problem" in shown
    assert "Intact: no record was changed, removed or invented." in shown
    assert "was changed" in shown.partition("changes a denial")[2]
    assert "Not intact: 1 finding." in shown
