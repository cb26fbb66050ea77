import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.runners.process.own_process import _is_hookline, started_by_hookline

ASK = "from hookline.runners.process.own_process import started_by_hookline; print(started_by_hookline())"
QUOTED = shlex.join([sys.executable, "-c", ASK])


def answer(script: str, **environ: str) -> str:
    command = ["bash", "-c", script]
    return subprocess.run(
        command, env={**os.environ, **environ}, capture_output=True, text=True, check=True, timeout=45
    ).stdout.strip()


def test_a_person_is_a_person() -> None:
    """The process of these tests was not started by hookline, and neither was its child."""
    assert started_by_hookline() is None
    assert answer(QUOTED) == "None"


@pytest.mark.parametrize(
    ("script", "sign"),
    [
        pytest.param(QUOTED, "HOOKLINE_RUN is set", id="own"),
        pytest.param(f"unset HOOKLINE_RUN; {QUOTED}; true", "which started it", id="parent"),
        pytest.param(
            f"env -i bash -c {shlex.quote(f'bash -c {shlex.quote(QUOTED)}; :')}; :", "which started it", id="far"
        ),
    ],
)
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
def test_the_mark_of_an_ancestor_is_found(script: str, sign: str) -> None:
    """A child can remove the mark from its own environment, and not from the one that its parent was started with."""
    assert sign in answer(script, HOOKLINE_RUN="1")


def test_another_variable_is_no_mark() -> None:
    """Only the name itself counts, not one that ends or begins with it, nor a value."""
    assert answer(QUOTED, XHOOKLINE_RUN="1", HOOKLINE_RUN_X="1", A="HOOKLINE_RUN=1") == "None"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
def test_endless_ancestors_are_a_sign() -> None:
    """A chain that is longer than any shell's was made to hide something."""
    deeper = 'if [ "$1" -gt 0 ]; then sh -c "$2" sh $(($1 - 1)) "$2"; true; else eval "$ASK"; fi'
    assert answer(f"sh -c {shlex.quote(deeper)} sh 260 {shlex.quote(deeper)}", ASK=QUOTED).startswith(
        "it has more than"
    )


@pytest.mark.parametrize(
    ("words", "is_ours"),
    [
        ("hookline agent", True),
        ("/usr/bin/hookline fire", True),
        ("/venv/bin/python /venv/bin/hookline agent", True),
        ("python3.12 -I /venv/bin/hookline agent", True),
        ("python3 -m hookline agent", True),
        ("python3 -X dev -m hookline agent", True),
        ("vim hookline", False),
        ("make -C hookline trust", False),
        ("python3 x.py hookline", False),
        ("python3 -m", False),
        ("bash -c hookline", False),
        ("", False),
    ],
)
def test_our_command_is_known_by_its_words(words: str, is_ours: bool) -> None:
    """A file or a directory of that name is not our command."""
    assert _is_hookline(words.encode().split(b" ")) is is_ours
