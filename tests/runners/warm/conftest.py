import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.patience import children

from hookline.runners.process.batch import ChildJob, ChildLimits, ChildOutcome
from hookline.runners.warm import lease
from hookline.runners.warm.pool import WarmPool
from hookline.runners.warm.runner import run_warm


def _pythons() -> Iterator[tuple[str, str]]:
    """Other versions of Python that can be found here, each with the path of its program."""
    for version in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"):
        slots = [*Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"), Path(f"/usr/bin/python{version}")]
        if found := next((slot for slot in slots if slot.exists()), None):
            yield version, str(found)


PYTHONS = tuple(_pythons())
USUAL = ChildLimits()
NOTHING: Mapping[str, str] = {}


class Garage:
    """Scripts in a folder, and a Parking for them."""

    def __init__(self, folder: Path, most: int = 8, python: str = sys.executable) -> None:
        self.folder = folder
        self._not_ours = children()
        self.pool = WarmPool(most)
        self.python = python
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LLXPRT_PROJECT_DIR": str(folder)}

    def script(self, text: str, name: str = "hook.py", *, mode: int = 0o644) -> Path:
        """A script in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def job(
        self, command: str, env: Mapping[str, str] = NOTHING, *, timeout_ms: float = 15_000, cwd: Path | None = None
    ) -> ChildJob:
        """A job that may be parked."""
        return ChildJob(
            command=command,
            stdin=b'{"a":1}\n',
            cwd=str(cwd or self.folder),
            env={**self.env, **env},
            timeout_ms=timeout_ms,
        )

    async def fire(self, *jobs: ChildJob, limits: ChildLimits = USUAL) -> list[ChildOutcome]:
        """Run jobs at the same time, in the interpreters that wait for them."""
        return await run_warm(jobs, [self.pool] * len(jobs), limits=limits)

    def run(self, *jobs: ChildJob, limits: ChildLimits = USUAL) -> list[ChildOutcome]:
        """Run jobs at the same time, and wait until everything is parked that will be."""
        outcomes = asyncio.run(self.fire(*jobs, limits=limits))
        self.settle()
        return outcomes

    def ways(self, job: ChildJob, times: int) -> list[str]:
        """The ways in which a job runs so many times in a row."""
        return [self.run(job)[0].way.value for _ in range(times)]

    def children(self) -> set[int]:
        """The processes of this garage that this one has started, zombies included."""
        return children() - self._not_ours

    def settle(self) -> None:
        """Wait until new spares are ready."""
        assert self.pool.wait_until_idle(90)


@pytest.fixture(autouse=True)
def patient_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event waits for its spare, however busy the machine is; otherwise it is started cold after 0.1 s."""
    monkeypatch.setattr(lease, "_STANDBY_S", 30.0)


@pytest.fixture
def garage(tmp_path: Path) -> Iterator[Garage]:
    """A garage that is closed after the test."""
    made = Garage(tmp_path)
    yield made
    made.pool.close()
