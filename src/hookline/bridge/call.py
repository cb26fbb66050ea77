"""One run of the bridge command, in this process or for a client: words, stdin, directory, environment → answer."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hookline.bridge.host import Heard, Host, Outcome, Payload, Said, text
from hookline.bridge.judge import deny_unreadable, hosts, judge, read_payload, refusal
from hookline.bridge.memory import LastAsked
from hookline.bridge.systems import Caller, NotServedError, Systems
from hookline.bridge.words import Words, fails_open, read_words
from hookline.contract.events import HookEventName
from hookline.contract.text import overheard, printable, visible, visible_json
from hookline.contract.vocabulary import CHILD_MARK
from hookline.contract.wire import stringify_json
from hookline.errors import HooklineError
from hookline.settings.project import find_projects

PING = {"hookline": "are you there?"}
"""A question that no agent asks; `hookline bridge status` does, and no hook is run for it."""
PONG = {"hookline": "yes"}
# In which an agent names its project's root to its hooks; a variable of another agent may be left from around this one.
_ROOT_VARIABLES = {
    "claude": "CLAUDE_PROJECT_DIR",
    "gemini": "GEMINI_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",
    "copilot": "COPILOT_PROJECT_DIR",
}
# Nobody nests agents this deeply.
_MOST_NESTED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How the bridge was run."""

    words: tuple[str, ...]
    """What follows `hookline bridge`."""
    stdin: bytes
    cwd: str
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the process that was run prints, and how it exits."""

    exit_code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def is_pong(self) -> bool:
        """Whether nobody but `hookline bridge status` asked."""
        return self.stdout == stringify_json(PONG) + b"\n"


class Bridge:
    """Answers calls, one after another or many at once."""

    def __init__(self, *, is_server: bool = False) -> None:
        self.systems = Systems(is_server=is_server)
        self._asked = LastAsked()

    async def answer(self, call: Call) -> Reply:
        """What the agent is told; NotServedError when a server must not answer this caller."""
        messages: list[str] = []
        token = overheard.set(messages)
        try:
            return await self._answer(call, messages)
        except NotServedError:
            raise
        except Exception as error:  # noqa: BLE001 - the door: every agent goes on when its hook command fails
            reason = f"the bridge failed ({type(error).__name__}: {error}); please report this"
            said = refusal(*_asked(call.words), reason)
            return _reply(said, messages, fail_open=fails_open(call.words))
        finally:
            overheard.reset(token)

    async def _answer(self, call: Call, messages: list[str]) -> Reply:
        try:
            words = read_words(call.words)
        except HooklineError as error:
            return _reply(refusal(*_asked(call.words), str(error)), messages, fail_open=fails_open(call.words))
        said = await self._said(call, words)
        return _reply(said, messages, fail_open=words.fail_open)

    async def _said(self, call: Call, words: Words) -> Said:
        host = hosts()[words.agent]
        heard: Heard | None = None
        try:
            if words.deadline <= 0 and not call.stdin:
                return refusal(
                    *_asked(call.words), f"{host.agent} did not end its question on stdin before the deadline"
                )
            payload = read_payload(host, call.stdin)
            if payload == PING:
                return Said(stdout=PONG)
            heard = _with_known_event(host, payload, host.hear(payload, _event(host, words, payload)))
            self._asked.note(host.name)
            if heard.event is None:
                return Said(lost=(f"{heard.theirs} of {host.agent} has no counterpart here, so no hook was asked",))
            _stop_endless_calls(call.environ)
            if words.deadline <= 0:
                # Before any file is read: that may be what took all the time.
                return refusal(host, heard, "there is no time left")
            with self.systems.lease(_caller(call, words, heard)) as lease:
                if heard.fault:
                    return deny_unreadable(host, heard, lease)
                return await judge(host, heard, lease, words.deadline)
        except NotServedError:
            raise
        except HooklineError as error:
            return refusal(host, heard or _asked(call.words)[1], str(error))


def _event(host: Host, words: Words, payload: Payload) -> str | None:
    """The event that the agent itself names, or else the command line; an unknown one counts with a tool call only."""
    named = text(payload.get("hook_event_name"))
    return named if named and (host.has_event(named) or host.has_call(payload)) else words.event


def _with_known_event(host: Host, payload: Payload, heard: Heard) -> Heard:
    """What is heard; a tool call under a name that is no event of the agent can't be judged, and must not pass."""
    if heard.event is not None or host.has_event(heard.theirs) or not host.has_call(payload):
        return heard
    known = next(name for name, ours in host.events.items() if ours is HookEventName.BEFORE_TOOL)
    fault = f"{host.agent} has no event {heard.theirs}, so this tool call can't be judged; the event is called {known}"
    return replace(heard, event=HookEventName.BEFORE_TOOL, fault=fault)


def overdue(words: tuple[str, ...], seconds: float) -> Reply:
    """The refusal of a call that was not answered in time, whatever holds up the bridge; it reads no file."""
    said = refusal(*_asked(words), f"the bridge did not answer within {seconds:g} s")
    return _reply(said, [], fail_open=fails_open(words))


def _asked(words: tuple[str, ...]) -> tuple[Host | None, Heard | None]:
    """Who asks about what, as far as the command line says so: a no has to be in the words of that agent and event."""
    host = hosts().get(words[0]) if words else None
    event = words[1] if len(words) > 1 else ""
    if host is None or event not in host.events:
        return host, None
    return host, Heard(theirs=event, event=host.events[event])


def no_in_json(agent: str, event: str, reason: str) -> bytes | None:
    """A refusal in an agent's JSON, for agents that read no exit code; None where it has none for this event."""
    host = hosts().get(agent)
    if host is None or event not in host.events:
        return None
    said = host.say(Heard(theirs=event, event=host.events[event]), Outcome(blocked=True, reason=reason))
    return None if said.stdout is None else stringify_json(said.stdout)


def _stop_endless_calls(environ: Mapping[str, str]) -> None:
    """Raises HooklineError when hooks call the bridge, which runs these hooks, again and again.

    A command that plainly runs the bridge is never run as a hook; a script can hide it.
    """
    if environ.get(CHILD_MARK, "").count("/") >= _MOST_NESTED:
        message = f"hookline was called by its own hooks {_MOST_NESTED} times, one inside the other"
        raise HooklineError(f"{message}; find the hook that runs hookline bridge, and remove it")


def _caller(call: Call, words: Words, heard: Heard) -> Caller:
    files = None if words.settings is None else tuple(os.path.join(call.cwd, file) for file in words.settings)  # noqa: PTH118 - as text
    directory = os.path.abspath(os.path.join(call.cwd, heard.cwd))  # noqa: PTH100, PTH118 - not resolved
    root = heard.root or call.environ.get(_ROOT_VARIABLES.get(words.agent, ""))
    project, nested = (directory, ()) if files else find_projects(directory, root, call.environ)
    return Caller(
        agent=words.agent,
        project=project,
        nested=nested,
        cwd=directory,
        session_id=heard.session_id,
        transcript_path=heard.transcript_path,
        settings=files,
        environ=call.environ,
        variables=frozenset(call.environ.items()),
    )


def _reply(said: Said, messages: list[str], *, fail_open: bool) -> Reply:
    if said.is_broken and fail_open:
        said = replace(said, stdout=None, exit_code=0)
    # First what is the agent's own: where exit code 2 is the answer, the model reads it from stderr.
    # Agents show it, so a line of a hook's reason must not look like one of theirs, or of ours.
    lines = [visible(said.stderr).replace("\n", "\n  ")] if said.stderr else []
    lines += [f"hookline: {printable(message)}" for message in messages]
    lines += [f"hookline: lost in this agent: {printable(loss)}" for loss in said.lost]
    stderr = "".join(f"{line}\n" for line in lines)
    stdout = b"" if said.stdout is None else visible_json(stringify_json(said.stdout).decode()).encode() + b"\n"
    return Reply(exit_code=said.exit_code, stdout=stdout, stderr=stderr.encode("utf-8", "replace"))
