"""Hooks that mistreat their pipes."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.runners.process.batch import run_children

if TYPE_CHECKING:
    from tests.runners.conftest import MakeJob
    from tests.runners.process.faults.conftest import Survive

PYTHON = f"exec {sys.executable} -c"


@pytest.mark.req("HOOK-192")
@pytest.mark.parametrize("size", [1024, 1024**2, 50 * 1024**2], ids=["1 KB", "1 MB", "50 MB"])
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("sleep 0.2; echo done", id="never reads"),
        pytest.param("exec <&-; sleep 0.2; echo done", id="closes at once"),
        pytest.param("head -c 100 >/dev/null; sleep 0.2; echo done", id="reads a little"),
    ],
)
def test_input_that_is_not_read(survive: "Survive", job: "MakeJob", command: str, size: int) -> None:
    """A hook may leave its input where it is."""
    outcome = survive(job(command, stdin=b"x" * size))
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, b"done\n", b"")


def test_input_that_is_not_read_until_the_deadline(survive: "Survive", job: "MakeJob") -> None:
    """A full pipe does not delay the deadline."""
    outcome = survive(job("sleep 60", stdin=b"x" * 5_000_000, timeout_ms=400))
    assert outcome.timed_out


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_gigabyte_of_output(survive: "Survive", job: "MakeJob") -> None:
    """Output without end is drained to its end, and the cut is reported."""
    outcome = survive(job("head -c 1000000000 /dev/zero; echo end >&2", timeout_ms=100_000), within_s=100)
    assert (outcome.exit_code, len(outcome.stdout), outcome.stdout_truncated) == (0, 10 * 1024**2, True)
    assert outcome.stderr == b"end\n"


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_gigabyte_of_output_takes_bounded_memory(job: "MakeJob") -> None:
    """No more than what is kept, and once more to join it."""

    async def main() -> int:
        # Inside the loop: the end of asyncio.run writes the whole result into a message that is never shown.
        reset_peak()
        before = peak_kib()
        await run_children([job("head -c 1000000000 /dev/zero", timeout_ms=100_000)])
        return peak_kib() - before

    assert asyncio.run(main()) < 40 * 1024


def reset_peak() -> None:
    """Counts the most memory from here."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_kib() -> int:
    """The most memory that this process has had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def test_both_streams_alternately_in_large_blocks(survive: "Survive", job: "MakeJob") -> None:
    """A hook that fills one pipe, then the other, is never stuck."""
    code = "import os\nfor _ in range(20):\n for fd in (1, 2):\n  os.write(fd, b'ab'[fd - 1 : fd] * 200_000)"
    outcome = survive(job(f'{PYTHON} "{code}"'))
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, b"a" * 4_000_000, b"b" * 4_000_000)


def test_byte_by_byte_slowly(survive: "Survive", job: "MakeJob") -> None:
    """An answer in single bytes arrives whole."""
    outcome = survive(job("for i in 1 2 3 4 5 6 7 8 9; do printf $i; sleep 0.03; done"))
    assert (outcome.exit_code, outcome.stdout) == (0, b"123456789")


def test_many_single_bytes_cost_no_more_memory_than_their_number(survive: "Survive", job: "MakeJob") -> None:
    """Small pieces are kept together."""
    code = "import os\nfor _ in range(30000): os.write(1, b'x')"
    outcome = survive(job(f'{PYTHON} "{code}"'))
    assert (outcome.exit_code, outcome.stdout) == (0, b"x" * 30_000)


def test_a_character_split_across_writes(survive: "Survive", job: "MakeJob") -> None:
    """Bytes are joined before they are decoded."""
    outcome = survive(job(r"printf '\xc3'; sleep 0.1; printf '\xa4\xf0\x9f'; sleep 0.1; printf '\x8e\x89'"))
    assert outcome.stdout.decode() == "ä🎉"
