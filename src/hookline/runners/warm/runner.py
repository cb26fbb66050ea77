"""The runner of warm hooks: runs commands in interpreters that wait for their event, and starts the others."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hookline.protocol.constants import RunWay
from hookline.runners.process.batch import ChildJob, ChildLimits, ChildOutcome, run_children
from hookline.runners.process.status import STATUSES
from hookline.runners.warm.lease import Lease
from hookline.runners.warm.pool import WarmPool

_LONGEST_WAIT_MS = 1e6


async def run_warm(
    jobs: Sequence[ChildJob],
    pools: Sequence[WarmPool | None],
    *,
    limits: ChildLimits,
    on_end: Callable[[int], None] | None = None,
) -> list[ChildOutcome]:
    """Run all jobs at the same time, as `run_children` does; those with a pool use its interpreters."""

    def ended(index: int) -> None:
        if on_end is not None:
            on_end(index)

    async def run_one(index: int, pool: WarmPool) -> None:
        outcomes[index] = await _run(jobs[index], pool, limits)
        ended(index)

    async def start_others() -> None:
        found = await run_children(
            [jobs[index] for index in cold], limits=limits, on_end=lambda number: ended(cold[number])
        )
        outcomes.update(zip(cold, found, strict=True))

    outcomes: dict[int, ChildOutcome] = {}
    cold = [index for index, pool in enumerate(pools) if pool is None]
    warm = [run_one(index, pool) for index, pool in enumerate(pools) if pool is not None]
    if len(jobs) == 1 and warm:  # without a task
        await warm[0]
    else:
        await asyncio.gather(start_others(), *warm)
    return [outcomes[index] for index in range(len(jobs))]


async def _run(job: ChildJob, pool: WarmPool, limits: ChildLimits) -> ChildOutcome:
    """Run one job. If its interpreter dies before it runs the script, a process is started in the time that is left."""
    began = time.monotonic()
    lease = await _lease(job, pool)
    if lease is None:
        return await _start(job, limits, began)
    try:
        outcome = await _start(replace(job, launch=lease.launch), limits, began)
    finally:
        with contextlib.suppress(Exception):  # the outcome is known, whatever happens here
            lease.finish()
    if not lease.is_sent:
        return outcome
    if lease.has_taken() or outcome.timed_out:
        return replace(outcome, way=RunWay.WARM)
    if (time.monotonic() - began) * 1000 >= job.timeout_ms:
        return replace(outcome, way=RunWay.WARM, timed_out=True)
    return await _start(job, limits, began)


async def _start(job: ChildJob, limits: ChildLimits, began: float) -> ChildOutcome:
    waited_ms = (time.monotonic() - began) * 1000
    (outcome,) = await run_children([replace(job, timeout_ms=job.timeout_ms - waited_ms)], limits=limits)
    return replace(outcome, duration_ms=outcome.duration_ms + waited_ms)


async def _lease(job: ChildJob, pool: WarmPool) -> Lease | None:
    """Return an interpreter for the job, or None."""
    if job.timeout_ms <= 0 or STATUSES.are_contested():
        return None
    try:
        lease = pool.lease(job)
        if lease is None:
            return None
        # Half of the timeout is left for a cold start.
        return lease if await lease.ready(min(job.timeout_ms, _LONGEST_WAIT_MS) / 2000) else None
    except Exception:  # noqa: BLE001 - whatever is wrong with it, the hook can still be started
        return None
