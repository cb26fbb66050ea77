"""Keeps a machine's policy as the company's server has it, through every outage.

A machine subscribes to the subjects of its keys, which costs the server next to nothing, and takes a message there for
a hint only: what counts is the value in the bucket, which it asks for then, after each outage, and now and then.
"""

import asyncio
import hashlib
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hookline.errors import HooklineError
from hookline.fleet.names import POLICY_BUCKET, NoClientError, ServerAddress, UnreachableError
from hookline.fleet.nats.bucket import Bucket, value_of
from hookline.fleet.nats.connection import ANSWER_S, BACK, LOST, close, connect, end_if_cancelled
from hookline.fleet.nats.jetstream import NoStreamError
from hookline.fleet.policy.bucket import keys_for, subject_of
from hookline.fleet.policy.documents import ALL_TEAMS, LessSpecificError, PolicyError
from hookline.fleet.policy.store import DocumentKind, PolicyStore, Taken

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

_POLL_S = 300.0
"""A machine checks this often, even without a notification."""
_ALIVE_S = 15.0
"""A connection that does not answer for so long is given up."""
# All machines hear of a change at the same moment.
_SPREAD_S = 0.2
# A machine may hear of a change before the bucket has it.
_AGAIN_S = (0.1, 0.3, 1.0, 3.0)
_BACKOFF_S = (0.2, 0.5, 1.0, 2.0, 5.0)


class PolicyUpdate(NamedTuple):
    """A message of a follower, for the log and for users."""

    message: str
    is_problem: bool = False


class Follower:
    """Follows the policy of one machine until it is cancelled."""

    def __init__(
        self,
        server: ServerAddress,
        place: PolicyStore,
        tell: Callable[[PolicyUpdate], None],
        *,
        spread_s: float = _SPREAD_S,
        poll_s: float = _POLL_S,
        alive_s: float = _ALIVE_S,
    ) -> None:
        self._server = server
        self._place = place
        self._tell = tell
        self._spread_s = spread_s
        self._poll_s = poll_s
        self._alive_s = alive_s
        # The team's own first: it would replace the one for all at once.
        self._keys = tuple(sorted(keys_for(place.team), key=lambda key: key.endswith(f".{ALL_TEAMS}")))
        self._woken = asyncio.Event()
        self._known: dict[str, str] = {}
        """The hash of what was last seen under each key, taken or refused."""
        self._taken: dict[str, Path] = {}
        """The keys whose document is in force here, and its file."""
        self._last_problem = ""
        self._is_leaving = False
        self._lacks_bucket = False
        self._is_late = False
        """Whether something could not be put in force, for a reason that may pass."""

    async def run(self) -> None:
        """Follows, for as long as it is not cancelled; NoClientError without the client."""
        failures = 0
        while True:
            try:
                await self._follow()
            except NoClientError:
                raise
            except UnreachableError as error:
                self._report_problem(str(error))
                await asyncio.sleep(_BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)] * _jitter(0.5, 1.5))
                failures += 1
            else:
                failures = 0

    async def pull(self) -> int:
        """Takes what is there now, once, and returns how many documents were new; HooklineError if it can't."""
        client = await connect(self._server, "policy")
        try:
            return await self._look(client)
        finally:
            await close(client)

    async def _follow(self) -> None:
        """Follows over one connection; ends when that does not answer any more."""
        client = await connect(self._server, "policy", on_change=self._hear)
        try:
            for key in self._keys:
                await client.subscribe(subject_of(key), cb=self._wake)
            await self._watch(client)
        except Exception as error:
            if isinstance(error, HooklineError):
                raise
            raise UnreachableError(f"the connection to {self._server.shown} failed ({error!r})") from error
        finally:
            self._is_leaving = True
            await close(client)
            self._is_leaving = False

    async def _watch(self, client: "Client") -> None:
        loop = asyncio.get_running_loop()
        await self._look(client)
        self._report_back()
        poll_at = loop.time() + self._poll_s * _jitter(0.5, 1.0)
        while True:
            # Not `wait_for`, which loses a cancellation on Python 3.11 if the event comes just then.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._alive_s):
                    await self._woken.wait()
            if self._woken.is_set():
                await asyncio.sleep(self._spread_s * _jitter(0.0, 1.0))
                self._woken.clear()
                await self._look_until_new(client)
            elif loop.time() >= poll_at or self._is_late:
                self._is_late = False
                await self._look(client)
                poll_at = loop.time() + self._poll_s
            else:
                await _require_answer(client, self._server)
                await self._mend(client)

    async def _mend(self, client: "Client") -> None:
        """Install damaged or removed documents again; a document that can't be installed is refused once."""
        if self._taken and not await asyncio.to_thread(self._place.is_whole, self._taken.values()):
            self._tell(
                PolicyUpdate("policy: files of it were changed or removed here; taking it again", is_problem=True)
            )
            for key in self._taken:
                self._known.pop(key, None)
            self._taken.clear()
            await self._look(client)

    async def _look_until_new(self, client: "Client") -> None:
        before = dict(self._known)
        for pause in (*_AGAIN_S, 0.0):
            await self._look(client)
            if self._known != before or self._woken.is_set():
                return
            await asyncio.sleep(pause)

    async def _look(self, client: "Client") -> int:
        """Take new documents, and return how many there were."""
        bucket = Bucket(client, POLICY_BUCKET)
        try:
            new = sum([await self._look_at(bucket, key) for key in self._keys])
        except NoStreamError as error:
            self._report_problem(str(error))
            self._is_late = self._lacks_bucket = True
            return 0
        self._lacks_bucket = False
        return new

    async def _look_at(self, bucket: Bucket, key: str) -> int:
        value = await value_of(bucket, key)
        if value is None or not value.data:
            if key in self._taken:
                self._report_problem(f"{key} is gone from the server")
            return 0
        digest = hashlib.sha256(value.data).hexdigest()
        if self._known.get(key) == digest:
            return 0
        try:
            taken = await asyncio.to_thread(self._place.take, value.data)
        except LessSpecificError:
            self._known[key] = digest
            return 0
        except PolicyError as error:
            self._tell(PolicyUpdate(f"policy: {key} was refused: it {error}; what was in force stays", is_problem=True))
            self._known[key] = digest
            return 0
        except HooklineError as error:  # no fault of the document: it is tried again
            self._report_problem(f"{key} can't be put in force: {error}")
            self._is_late = True
            return 0
        self._known[key] = digest
        self._taken[key] = taken.file
        if taken.is_new:
            self._tell(PolicyUpdate(f"policy: {describe(taken)} in force"))
        return int(taken.is_new)

    async def _wake(self, _message: "Msg") -> None:
        self._woken.set()

    def _hear(self, words: str) -> None:
        """The client reconnects by itself; check for changes that happened in between."""
        if self._is_leaving:  # the connection is of no further use
            return
        if words == LOST:
            self._report_problem(f"the connection to {self._server.shown} was lost")
        elif words == BACK:
            self._report_back()
            self._woken.set()

    def _report_problem(self, words: str) -> None:
        """Reports an outage once, not at each attempt."""
        if words != self._last_problem:
            self._last_problem = words
            self._tell(PolicyUpdate(f"policy: {words}; what is in force stays", is_problem=True))

    def _report_back(self) -> None:
        if self._last_problem and not self._lacks_bucket:
            self._tell(PolicyUpdate(f"policy: connected to {self._server.shown} again"))
            self._last_problem = ""


def _jitter(least: float, most: float) -> float:
    return random.uniform(least, most)  # noqa: S311 - machines must only not act at the same moment


def describe(taken: Taken) -> str:
    """A document for people: what it is, its version, and for whom."""
    document = taken.verified.document
    kind = "bundle" if DocumentKind.of(document) is DocumentKind.BUNDLE else "switches"
    verb = "are" if kind == "switches" else "is"
    return f"{kind} version {document.version} for {taken.channel} {verb}"


async def _require_answer(client: "Client", server: ServerAddress) -> None:
    end_if_cancelled()
    if not client.is_connected:  # the client reports when it is again
        return
    try:
        await client.flush(timeout=int(ANSWER_S))
    except Exception as error:
        raise UnreachableError(f"the server {server.shown} does not answer ({type(error).__name__})") from error
