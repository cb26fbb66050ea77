"""Requests on the in-process bus: one subscriber answers one asker."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.client.bus import InProcessBus
from hookline.client.config import Config
from hookline.errors import NoAnswerError
from hookline.protocol.events import HookEventName
from hookline.protocol.messages import Message
from hookline.protocol.verdict import Verdict

REQUEST = "hook-execution-request"
# Generous, because it only ends a test that hangs.
LONG_S = 15.0


def go(work: Awaitable[Any]) -> Any:
    """Runs a test's coroutine, and ends one that hangs."""

    async def within() -> Any:
        return await asyncio.wait_for(work, LONG_S)

    return asyncio.run(within())


async def until(is_so: Callable[[], bool]) -> None:
    """Waits for a condition."""
    async with asyncio.timeout(LONG_S):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def test_a_request_is_answered_to_its_asker_alone() -> None:
    """One subscriber gets it, and general subscribers for answers do not get this one."""

    async def main() -> tuple[Message, int, list[Message]]:
        asked, captured_notices = 0, list[Message]()
        asker = worker = InProcessBus()

        async def answer(message: Message) -> None:
            nonlocal asked
            asked += 1
            reply = {"type": "b", "correlationId": message["correlationId"], "n": message["n"] + 1}
            await worker.publish({**reply, "to": message["replyTo"]})

        async def overhear(message: Message) -> None:
            captured_notices.append(message)

        await worker.subscribe("a", answer).ready()
        await worker.subscribe("a", answer).ready()
        await asker.subscribe("b", overhear).ready()
        answered = await asker.request({"type": "a", "n": 1, "correlationId": "x"}, LONG_S)
        return answered, asked, captured_notices

    answered, asked, captured_notices = go(main())
    assert (answered["n"], answered["correlationId"], "to" in answered) == (2, "x", False)
    assert (asked, captured_notices) == (1, [])


def test_requests_at_the_same_time_get_their_own_answers() -> None:
    """Each asker gets the answer to its own request, in whatever order they come."""

    async def main() -> list[int]:
        asker = worker = InProcessBus()

        async def answer(message: Message) -> None:
            await asyncio.sleep((5 - message["n"]) / 100)
            await worker.publish({"type": "b", "n": message["n"], "to": message["replyTo"]})

        await worker.subscribe("a", answer).ready()
        answers = await asyncio.gather(*(asker.request({"type": "a", "n": n}, LONG_S) for n in range(5)))
        return [one["n"] for one in answers]

    assert go(main()) == [0, 1, 2, 3, 4]


def test_nobody_there_is_told_at_once() -> None:
    """Without a subscriber a request fails long before its timeout."""

    async def main() -> str:
        asker = InProcessBus()
        with pytest.raises(NoAnswerError) as raised:
            await asker.request({"type": "a"}, 1000)
        return str(raised.value)

    assert go(main()) == "nobody listens for a"


def test_a_subscriber_that_does_not_answer_is_told() -> None:
    """It fails, or returns without an answer: the caller does not wait for the timeout."""

    async def main() -> None:
        asker = worker = InProcessBus()

        async def say_nothing(message: Message) -> None:
            if message["n"]:
                raise ValueError

        await worker.subscribe("a", say_nothing).ready()
        for n in (0, 1):
            with pytest.raises(NoAnswerError, match="did not answer"):
                await asker.request({"type": "a", "n": n}, 1000)

    go(main())


def test_an_abandoned_request_is_ended() -> None:
    """After the asker's timeout the work is cancelled, and its late answer is dropped."""

    async def main() -> tuple[bool, list[str]]:
        ends: list[str] = []
        asker = worker = InProcessBus()

        async def work(_: Message) -> None:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                ends.append("cancelled")
                raise

        await worker.subscribe("a", work).ready()
        with pytest.raises(NoAnswerError) as raised:
            await asker.request({"type": "a"}, 0.5)
        await until(lambda: bool(ends))
        return raised.value.timed_out, ends

    assert go(main()) == (True, ["cancelled"])


def test_a_cancelled_asker_ends_the_work() -> None:
    """Cancelling the task that asks is abandoning the request."""

    async def main() -> list[str]:
        seen: list[str] = []
        asker = worker = InProcessBus()

        async def work(_: Message) -> None:
            seen.append("began")
            try:
                await asyncio.sleep(1000)
            finally:
                seen.append("ended")

        await worker.subscribe("a", work).ready()
        asking = asyncio.create_task(asker.request({"type": "a"}, 1000))
        await until(lambda: seen == ["began"])
        asking.cancel()
        await until(lambda: len(seen) == 2)
        return seen

    assert go(main()) == ["began", "ended"]


def test_an_id_is_run_once() -> None:
    """The same id again is not run: the first answer may be on its way."""

    async def main() -> int:
        count = 0
        asker = worker = InProcessBus()

        async def answer(message: Message) -> None:
            nonlocal count
            count += 1
            await worker.publish({"type": "b", "to": message["replyTo"]})

        await worker.subscribe("a", answer).ready()
        await asker.request({"type": "a", "correlationId": "same"}, LONG_S)
        with pytest.raises(NoAnswerError, match="asked before"):
            await asker.request({"type": "a", "correlationId": "same"}, LONG_S)
        return count

    assert go(main()) == 1


def settings(command: str, **options: Any) -> dict[str, Any]:
    return {
        "enableHooks": True,
        "hooksConfig": {"log": {"enabled": False}},
        "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "guard", "command": command, **options}]}]},
    }


def ask(project: Path, command: str, fields: dict[str, Any], *, is_authenticated: bool, **more: Any) -> Message:
    """The answer of a hook system on the bus to one request."""

    async def main() -> Message:
        asker = worker = InProcessBus(is_authenticated=is_authenticated)
        config = Config(project, settings=settings(command), message_bus=worker, session_id="own")
        system = config.get_hook_system()
        assert system is not None
        await system.initialize()
        handler = system.get_event_handler()
        await handler.ready()
        answered = await asker.request({"type": REQUEST, "eventName": "BeforeTool", "input": fields, **more}, 30)
        system.dispose()
        return answered

    answered: Message = go(main())
    return answered


TOOL = {"tool_name": "deploy", "tool_input": {"to": "production"}}


def test_the_whole_verdict_is_on_the_wire(project: Path) -> None:
    """The asker reads back what the event came to, and which hook decided; nothing of the hooks behind it."""
    command = """TOKEN=s3cret; echo '{"decision": "deny", "reason": "Friday", "systemMessage": "note"}'"""
    answered = ask(project, command, TOOL, is_authenticated=False)
    verdict = Verdict.from_dict(answered["verdict"])
    assert (verdict.event, verdict.subject) == (HookEventName.BEFORE_TOOL, "deploy")
    assert (verdict.blocked, verdict.reason, verdict.note) == (True, "Friday", "note")
    assert (answered["by"], "output" in answered) == (["guard"], False)
    assert (verdict.plan, verdict.runs) == (None, ())
    assert "s3cret" not in str(answered)


FACTS = {"sessionId": "s-7", "cwd": "/home/eva/x", "project": "/home/eva", "agent": "codex", "user": "eva"}
TELL = """cat > told; echo '{}'"""


@pytest.mark.parametrize("is_authenticated", [True, False])
def test_the_askers_facts_are_believed_on_an_authenticated_bus_only(project: Path, *, is_authenticated: bool) -> None:
    """There hooks get the asker's facts; elsewhere they get the facts of their session."""
    forged = {**TOOL, "asker": {"user": "root"}, "session_id": "forged"}
    asker = {**FACTS, "machine": "forged", "admin": "yes"}
    answered = ask(project, TELL, forged, is_authenticated=is_authenticated, asker=asker)
    assert answered["success"], answered
    told = json.loads((project / "told").read_text())
    if not is_authenticated:
        assert (told["session_id"], told["cwd"], "asker" in told) == ("own", str(project), False)
        return
    assert (told["session_id"], told["cwd"], told["transcript_path"]) == ("s-7", "/home/eva/x", "")
    assert told["asker"] == {**FACTS, "machine": "forged"}


def test_a_request_with_a_fault_is_answered(project: Path) -> None:
    """An addressed request that can't be served gets the same structured error as any other."""
    answered = ask(project, "true", {"tool_name": "x"}, is_authenticated=False)
    assert answered["error"]["code"] == "invalid_input"
