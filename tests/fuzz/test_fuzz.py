"""A short run of the fuzzer with the same inputs each time; `make fuzz` runs it for longer, with new ones."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "fuzz.py"


@pytest.mark.parametrize(
    ("target", "rounds"),
    [("settings", 60), ("answers", 400), ("requests", 400), ("replay", 40), ("commands", 20), ("words", 60)],
)
def test_the_seeds_and_some_mutations_break_no_rule(target: str, rounds: int) -> None:
    """Everything that reads foreign text survives its seed corpus, and the rules of its target hold."""
    ended = subprocess.run(
        [sys.executable, str(TOOL), target, "--seed", "13", "--rounds", str(rounds), "--seconds", "15"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "held" in ended.stdout


def test_a_broken_rule_is_reported(tmp_path: Path) -> None:
    """The fuzzer could fail: with a reader that loses every deny it names the input and ends with 1."""
    program = (
        f"import sys; sys.path.insert(0, {str(TOOL.parent)!r}); import fuzz\n"
        "from hookline.protocol.answers import HookAnswer\n"
        "fuzz.read_stdout = lambda text: HookAnswer()\n"
        "sys.argv[1:] = ['answers', '--rounds', '0', '--seed', '1']\n"
        "sys.exit(fuzz.main())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert ended.returncode == 1
    assert "a deny is lost" in ended.stdout
    assert list(tmp_path.glob("fuzz-answers-*"))
