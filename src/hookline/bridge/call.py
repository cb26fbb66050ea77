"""One run of the bridge command, in this process or for a client: words, stdin, directory, environment → answer."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hookline.bridge.agents import HOSTS
from hookline.bridge.arguments import BridgeArguments, fails_open, parse_arguments
from hookline.bridge.engine_cache import CacheKey, EngineCache, NotServedError
from hookline.bridge.host import AgentRequest, AgentResponse, HostAgent, Payload, text
from hookline.bridge.judge import deny_unreadable, judge, read_payload, refusal
from hookline.bridge.state_files import LastRequests
from hookline.errors import HooklineError
from hookline.protocol.constants import CHILD_MARK
from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.text.strings import printable, visible, visible_json
from hookline.settings.read.project import find_projects
from hookline.stderr import captured_notices

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
class BridgeCall:
    """One invocation of the bridge."""

    words: tuple[str, ...]
    """The arguments of the command."""
    stdin: bytes
    cwd: str
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The output and the exit code of the command."""

    exit_code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def is_pong(self) -> bool:
        """True if `hookline bridge status` asked."""
        return self.stdout == stringify_json(PONG) + b"\n"


class Bridge:
    """Answers calls, one after another or many at once."""

    def __init__(self, *, is_server: bool = False) -> None:
        self.systems = EngineCache(is_server=is_server)
        self._asked = LastRequests()

    async def answer(self, call: BridgeCall) -> Reply:
        """Return the reply; raises NotServedError if a server must not answer this caller."""
        messages: list[str] = []
        token = captured_notices.set(messages)
        try:
            return await self._answer(call, messages)
        except NotServedError:
            raise
        except Exception as error:  # noqa: BLE001 - the door: every agent continues when its hook command fails
            reason = f"the bridge failed ({type(error).__name__}: {error}); please report this"
            response = refusal(*_asked(call.words), reason)
            return _reply(response, messages, fail_open=fails_open(call.words))
        finally:
            captured_notices.reset(token)

    async def _answer(self, call: BridgeCall, messages: list[str]) -> Reply:
        try:
            words = parse_arguments(call.words)
        except HooklineError as error:
            return _reply(refusal(*_asked(call.words), str(error)), messages, fail_open=fails_open(call.words))
        response = await self._response(call, words)
        return _reply(response, messages, fail_open=words.fail_open)

    async def _response(self, call: BridgeCall, words: BridgeArguments) -> AgentResponse:
        host = HOSTS[words.agent]
        request: AgentRequest | None = None
        try:
            if words.deadline <= 0 and not call.stdin:
                return refusal(
                    *_asked(call.words), f"{host.agent} did not end its question on stdin before the deadline"
                )
            payload = read_payload(host, call.stdin)
            if payload == PING:
                return AgentResponse(stdout=PONG)
            request = _with_known_event(host, payload, host.parse_request(payload, _event(host, words, payload)))
            self._asked.note(host.name)
            if request.event is None:
                return AgentResponse(
                    unsupported=(
                        f"{request.native_event} of {host.agent} has no counterpart here, so no hook was asked",
                    )
                )
            _stop_endless_calls(call.environ)
            if words.deadline <= 0:
                # Before any file is read: that may be what took all the time.
                return refusal(host, request, "there is no time left")
            with self.systems.lease(_caller(call, words, request)) as lease:
                if request.fault:
                    return deny_unreadable(host, request, lease)
                return await judge(host, request, lease, words.deadline)
        except NotServedError:
            raise
        except HooklineError as error:
            return refusal(host, request or _asked(call.words)[1], str(error))


def _event(host: HostAgent, words: BridgeArguments, payload: Payload) -> str | None:
    """The event that the agent itself names, or else the command line; an unknown one counts with a tool call only."""
    named = text(payload.get("hook_event_name"))
    return named if named and (host.has_event(named) or host.has_call(payload)) else words.event


def _with_known_event(host: HostAgent, payload: Payload, request: AgentRequest) -> AgentRequest:
    """Return the request. A tool call under an unknown event name can't be judged, so it gets a fault."""
    if request.event is not None or host.has_event(request.native_event) or not host.has_call(payload):
        return request
    native_name = next(name for name, ours in host.events.items() if ours is HookEventName.BEFORE_TOOL)
    fault = (
        f"{host.agent} has no event {request.native_event}, so this tool call can't be judged; "
        f"the event is called {native_name}"
    )
    return replace(request, event=HookEventName.BEFORE_TOOL, fault=fault)


def overdue(words: tuple[str, ...], failure: str) -> Reply:
    """The refusal of a call that was not answered (in time), whatever holds up the bridge; it reads no file."""
    response = refusal(*_asked(words), f"the bridge {failure}")
    return _reply(response, [], fail_open=fails_open(words))


def _asked(words: tuple[str, ...]) -> tuple[HostAgent | None, AgentRequest | None]:
    """Return the agent and its request from the command line alone: a refusal needs that agent's format."""
    host = HOSTS.get(words[0]) if words else None
    event = words[1] if len(words) > 1 else ""
    if host is None or event not in host.events:
        return host, None
    return host, AgentRequest(native_event=event, event=host.events[event])


def _stop_endless_calls(environ: Mapping[str, str]) -> None:
    """Raises HooklineError when hooks call the bridge, which runs these hooks, again and again.

    A command that plainly runs the bridge is never run as a hook; a script can hide it.
    """
    if environ.get(CHILD_MARK, "").count("/") >= _MOST_NESTED:
        message = f"hookline was called by its own hooks {_MOST_NESTED} times, one inside the other"
        raise HooklineError(f"{message}; find the hook that runs hookline bridge, and remove it")


def _caller(call: BridgeCall, words: BridgeArguments, request: AgentRequest) -> CacheKey:
    files = None if words.settings is None else tuple(os.path.join(call.cwd, file) for file in words.settings)
    directory = os.path.abspath(os.path.join(call.cwd, request.cwd))  # not resolved
    root = request.root or call.environ.get(_ROOT_VARIABLES.get(words.agent, ""))
    project, nested = (directory, ()) if files else find_projects(directory, root, call.environ)
    return CacheKey(
        agent=words.agent,
        project=project,
        nested=nested,
        cwd=directory,
        session_id=request.session_id,
        transcript_path=request.transcript_path,
        settings=files,
        environ=call.environ,
        variables=frozenset(call.environ.items()),
    )


def _reply(response: AgentResponse, messages: list[str], *, fail_open: bool) -> Reply:
    if response.is_broken and fail_open:
        response = replace(response, stdout=None, exit_code=0)
    # First what is the agent's own: where exit code 2 is the answer, the model reads it from stderr.
    # Agents show it, so a line of a hook's reason must not look like output of the agent or of hookline.
    lines = [visible(response.stderr).replace("\n", "\n  ")] if response.stderr else []
    lines += [f"hookline: {printable(message)}" for message in messages]
    lines += [f"hookline: not supported by this agent: {printable(loss)}" for loss in response.unsupported]
    stderr = "".join(f"{line}\n" for line in lines)
    stdout = b"" if response.stdout is None else visible_json(stringify_json(response.stdout).decode()).encode() + b"\n"
    return Reply(exit_code=response.exit_code, stdout=stdout, stderr=stderr.encode("utf-8", "replace"))
