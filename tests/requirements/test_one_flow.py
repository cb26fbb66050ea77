"""The same verdict has the same effect in every program: one table of answers, and a host for each program.

Each host runs one call of `remember`, and returns what ran, what the user was asked, what the model saw, whether the
agent stops, and what the log says. What a host can't express is data of the host.
"""

import asyncio
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from hookline import Config, Hooks, execute_tool_with_hooks
from hookline.adapters.blocking import finished
from hookline.adapters.run import AgentRun
from hookline.adapters.table import Adapter
from hookline.apps.agent.approval.approver import Approval, ApprovalRequest, Permissions, UserReply
from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.scheduler import ToolScheduler
from hookline.apps.agent.tool import AgentCall, AgentTool, ToolContext
from hookline.apps.agent.toolbox import ToolBox
from hookline.bridge.agents.claude import CLAUDE_HOST
from hookline.bridge.judge import judge
from hookline.client.triggers.results import ToolResult
from hookline.formats import openai
from hookline.gateway.elicitation import Elicitation
from hookline.gateway.guard import GuardedRequest, ToolGuard
from hookline.gateway.messages import Message, read_messages, read_object, to_raw
from hookline.log.write.logger import MemorySink

Json = dict[str, Any]
CALL = {"topic": "a.txt", "text": "x"}
NAMES = {"Subject": "topic", "TOPIC": "topic"}


class Facts(NamedTuple):
    """The outcome of one call."""

    ran: tuple[Json, ...]
    asked: tuple[tuple[str, Json], ...]
    model: tuple[str, ...] | None
    """The call's result as the model reads it, by paragraphs; None where the host has another text for it."""
    stops: bool
    log: tuple[Any, ...]


@dataclass(frozen=True)
class Row:
    """Hooks, and what the user answers if asked."""

    name: str
    events: Mapping[str, list[Json]]
    reply: bool | None = True
    """None where the program has no way to ask the user."""
    has_rules: bool = False
    """Whether the program has to normalize and validate arguments."""

    @property
    def settings(self) -> Json:
        """The settings with these hooks."""
        return {"enableHooks": True, "hooks": dict(self.events), "hooksConfig": {"log": {"enabled": False}}}

    def __str__(self) -> str:
        return self.name


@dataclass
class Program:
    """The program around a call: it runs the tool, asks the user, and checks arguments."""

    row: Row
    project: Path
    memory: MemorySink = field(default_factory=MemorySink)
    ran: list[Json] = field(default_factory=list)
    asked: list[tuple[str, Json]] = field(default_factory=list)

    def tool(self, arguments: Mapping[str, Any]) -> str:
        """The tool."""
        self.ran.append(dict(arguments))
        return f"Wrote {arguments.get('topic')}."

    async def tool_async(self, arguments: Mapping[str, Any]) -> str:
        """The same, for a program that awaits it."""
        return self.tool(arguments)

    def on_ask(self, reason: str, arguments: Mapping[str, Any]) -> bool:
        """The user."""
        self.asked.append((str(reason), dict(arguments)))
        return self.row.reply is True

    @property
    def rules(self) -> Json:
        """The program's rules for arguments."""
        return {"normalize": normalize, "validate": validate} if self.row.has_rules else {}

    @property
    def question(self) -> Any:
        """The program's `on_ask`."""
        return None if self.row.reply is None else self.on_ask

    def hooks(self, **options: Any) -> Hooks:
        """The program's hooks."""
        return Hooks(self.project, settings=self.row.settings, log_sinks=[self.memory], quiet=True, **options)

    def facts(self, model: Any, *, stops: bool) -> Facts:
        """The outcome of the call."""
        seen = None if model is None else tuple(part for part in str(model).split("\n\n") if part)
        return Facts(tuple(self.ran), tuple(self.asked), seen, stops, self.log())

    def log(self) -> tuple[Any, ...]:
        """The decisions in the log, and whether a call was refused after them."""
        told = [record.to_dict() for record in self.memory.records]
        keys = ("event", "blocked", "stop", "ask", "effect", "by")
        events = [
            (*[one.get(key) or False for key in keys], _without_time(one["message"]))
            for one in told
            if one["kind"] == "event"
        ]
        refused = [
            one["message"].partition(": ")[2]
            for one in told
            if one.get("blocked") and (one["kind"] == "advice" or (one["kind"] == "answer" and "asked" not in one))
        ]
        return (*events, *refused)


def _without_time(message: str) -> str:
    return message.rpartition(" (")[0].partition(": ")[2]


def normalize(arguments: Mapping[str, Any]) -> Json:
    """`Subject` and `TOPIC` are other names of `topic`."""
    return {NAMES.get(name, name): value for name, value in arguments.items()}


def validate(arguments: Mapping[str, Any]) -> str | None:
    """Topics are texts."""
    return None if isinstance(arguments.get("topic"), str) else "topic is not a text"


# ------------------------------------------------------------------------------------------------------ hosts


def triggers(program: Program) -> Facts:
    config = Config(program.project, settings=program.row.settings, log_sinks=[program.memory], quiet=True)
    call = execute_tool_with_hooks(
        config, "remember", CALL, program.tool_async, on_ask=program.question, **program.rules
    )
    return _of_result(program, asyncio.run(call))


def session(program: Program) -> Facts:
    with program.hooks(on_ask=program.question) as hooks:
        return _of_result(
            program, asyncio.run(hooks.session().run_tool("remember", CALL, program.tool, **program.rules))
        )


def session_in_halves(program: Program) -> Facts:
    async def run(hooks: Hooks) -> ToolResult:
        own = hooks.session()
        call = await own.before_tool("remember", CALL, **program.rules)
        return await own.after_tool(call, "" if call.blocked else program.tool(call.arguments))

    with program.hooks(on_ask=program.question) as hooks:
        return _of_result(program, asyncio.run(run(hooks)))


def sync(program: Program) -> Facts:
    with program.hooks(on_ask=program.question) as hooks:
        return _of_result(program, hooks.session().sync.run_tool("remember", CALL, program.tool, **program.rules))


ADAPTER = Adapter(name="own", framework="Own", extra="", package="own", since="1", front="own", use="own", go_on="on")


def adapter(program: Program) -> Facts:
    with program.hooks(on_ask=program.question) as hooks:
        run = AgentRun(ADAPTER, openai, hooks, "s-1")
        return _of_result(program, asyncio.run(run.run_tool("remember", CALL, program.tool, **program.rules)))


def blocking_adapter(program: Program) -> Facts:
    with program.hooks(on_ask=program.question) as hooks:
        run = AgentRun(ADAPTER, openai, hooks, "s-1", is_blocking=True)
        return _of_result(program, finished(run.run_tool("remember", CALL, program.tool, **program.rules)))


@dataclass(frozen=True, kw_only=True)
class OwnTool(AgentTool):
    """The tool in hookline's agent."""

    program: Program

    def normalize(self, arguments: Mapping[str, Any]) -> Json:
        """The program's rule."""
        return normalize(arguments) if self.program.row.has_rules else dict(arguments)

    def needs_approval(self, _arguments: Mapping[str, Any], _context: ToolContext) -> None:
        """Never: only hooks ask."""

    async def execute(self, arguments: Mapping[str, Any], _context: ToolContext) -> ToolResult:
        """Runs it."""
        text = self.program.tool(arguments)
        return ToolResult(llm_content=text, return_display=text)


class OwnToolBox(ToolBox):
    """Checks arguments by the program's rule."""

    def fault(self, tool: AgentTool, arguments: Mapping[str, Any]) -> str | None:
        """Return the problem of the arguments, or None."""
        return validate(arguments) if isinstance(tool, OwnTool) and tool.program.row.has_rules else None


def agent(program: Program) -> Facts:
    async def person(request: ApprovalRequest) -> UserReply:
        assert request.asked is not None
        yes = program.on_ask(request.asked, request.call.arguments)
        return UserReply(Approval.ALLOW_ONCE if yes else Approval.REFUSE)

    config = Config(program.project, settings=program.row.settings, log_sinks=[program.memory], quiet=True)
    schema = {"type": "object"}
    tool = OwnTool(name="remember", description="", parameters=schema, is_read_only=False, program=program)
    background = BackgroundHooks()
    scheduler = ToolScheduler(
        config=config,
        toolbox=OwnToolBox([tool]),
        permissions=Permissions(
            config=config,
            person=None if program.row.reply is None else person,
            approves_all=True,
            background=background,
        ),
        on_change=lambda _: None,
    )
    (done,) = asyncio.run(scheduler.run([AgentCall(id="1", name="remember", arguments=CALL)]))
    assert done.result is not None
    return _of_result(program, done.result)


def gateway(program: Program) -> Facts:
    """An MCP server behind the gateway; the client answers questions by elicitation."""

    async def run(hooks: Hooks) -> tuple[Message, bool]:
        def to_client(line: bytes) -> None:
            (asked,) = read_messages(line)
            text = read_object(asked.params)["message"].partition(" runs: ")[2]
            reason, _, arguments = text.rpartition("\nArguments: ")
            answer = {"action": "accept", "content": {"allow": program.on_ask(reason, json.loads(arguments))}}
            asyncio.get_running_loop().call_soon(elicitation.accept, Message(id=asked.id, result=to_raw(answer)))

        elicitation = Elicitation(to_client)
        if program.row.reply is not None:
            elicitation.read_capabilities(
                Message(method="initialize", params=to_raw({"capabilities": {"elicitation": {}}}))
            )
        guard = ToolGuard(hooks, hooks.session(), {"server_name": "files"}, elicitation)
        guard.start()
        call = Message(id=1, method="tools/call", params=to_raw({"name": "remember", "arguments": CALL}))
        question = guard.request_without_hooks(call) or await guard.request(call)
        if not isinstance(question, GuardedRequest):
            return question, guard.is_stopped
        text = program.tool(read_object(question.message.params)["arguments"])
        answer = Message(id=1, result=to_raw({"content": [{"type": "text", "text": text}]}))
        answer = answer if guard.passes_answer(question) else await guard.answer(question, answer)
        return answer, guard.is_stopped

    with program.hooks() as hooks:
        answer, stops = asyncio.run(run(hooks))
    texts = [block["text"] for block in read_object(answer.result)["content"]]
    # A stopped gateway reports that with another text.
    return program.facts(None if stops else "\n\n".join(texts), stops=stops)


def bridge(program: Program) -> Facts:
    """Claude Code, which asks its own user, and shows the model what it is answered."""
    config = Config(program.project, settings=program.row.settings, log_sinks=[program.memory], quiet=True)

    async def ask(event: str, **fields: Any) -> Json:
        system = config.get_hook_system()
        lease: Any = SimpleNamespace(system=system, session=lambda _: None, log=lambda _: None)
        payload = {"hook_event_name": event, "cwd": str(program.project), "tool_name": "remember", **fields}
        said = await judge(CLAUDE_HOST, CLAUDE_HOST.parse_request(payload, None), lease, 30)
        return dict(said.stdout or {})

    async def run() -> tuple[str | None, bool]:
        answer = await ask("PreToolUse", tool_input=CALL)
        specific = answer.get("hookSpecificOutput", {})
        arguments = specific.get("updatedInput", CALL)
        decision, reason = specific.get("permissionDecision"), specific.get("permissionDecisionReason", "")
        if decision == "ask" and program.row.reply is not None:
            decision = None if program.on_ask(reason, arguments) else "deny"
        if decision is not None:
            return None, answer.get("continue") is False
        text = program.tool(arguments)
        after = await ask("PostToolUse", tool_input=arguments, tool_response=text)
        return None, answer.get("continue") is False or after.get("continue") is False

    model, stops = asyncio.run(run())
    return program.facts(model, stops=stops)


def _of_result(program: Program, result: ToolResult) -> Facts:
    return program.facts(result.llm_content, stops=result.should_stop)


HOSTS: Mapping[str, Callable[[Program], Facts]] = {
    host.__name__: host
    for host in (triggers, session, session_in_halves, sync, adapter, blocking_adapter, agent, gateway, bridge)
}
# Programs that do not know the tool, so that they can't normalize or validate its arguments.
WITHOUT_RULES = frozenset({"gateway", "bridge"})
# A question that is left to the client, whose refusal these programs word differently.
ASKS_ELSEWHERE = frozenset({"gateway", "bridge"})


# ------------------------------------------------------------------------------------------------------- rows


def says(answer: Json, name: str, **options: Any) -> Json:
    """A hook with this answer."""
    command = f"printf %s {shlex.quote(json.dumps(answer))}"
    return {"hooks": [{"type": "command", "name": name, "command": command, **options}]}


def specific(**fields: Any) -> Json:
    return {"hookSpecificOutput": fields}


REWRITE = specific(tool_input={"topic": "b.txt"})
ANSWERS: Mapping[str, Json] = {
    "nothing": {},
    "allow": {"decision": "allow", "reason": "fine"},
    "deny": {"decision": "deny", "reason": "not here"},
    "deny with a note": {"decision": "deny", "reason": "not here", "systemMessage": "mind that"},
    "permissionDecision": specific(permissionDecision="deny", permissionDecisionReason="not here"),
    "stop": {"continue": False, "stopReason": "enough"},
    "note": {"systemMessage": "mind that"},
    "context": specific(additionalContext="use tabs"),
    "suppress": {"suppressOutput": True},
    "rewrite": REWRITE,
    "rewrite to null": specific(tool_input={"topic": "b.txt", "text": None}),
    "rewrite whole": specific(tool_input={"topic": "b.txt"}, replacesInput=True),
    "rewrite to no object": specific(tool_input="b.txt"),
    "ask": {"decision": "ask", "reason": "sure?"},
    "ask and rewrite": {"decision": "ask", "reason": "sure?", **REWRITE},
    "output": specific(tool_output="[hidden]"),
}


def rows() -> list[Row]:
    """Every answer on both events, questions with each reply, chains, parallel hooks, and rules for arguments."""
    made = [
        Row(f"{event}: {name}", {event: [says(answer, "guard")]})
        for event in ("BeforeTool", "AfterTool")
        for name, answer in ANSWERS.items()
        if not (event == "AfterTool" and "rewrite" in name)
    ]
    asking = [ANSWERS["ask"], ANSWERS["ask and rewrite"]]
    for reply in (False, None):
        made += [
            Row(f"ask {number}, reply {reply}", {"BeforeTool": [says(answer, "guard", type="command")]}, reply=reply)
            for number, answer in enumerate(asking)
        ]
    both = [says(REWRITE, "one"), says(specific(tool_input={"text": "y"}), "two")]
    made += [
        Row("two rewrites", {"BeforeTool": both}),
        Row("a chain", {"BeforeTool": [{**group, "sequential": True} for group in both]}),
        Row("a final guard", {"BeforeTool": [*both, says({"decision": "deny", "reason": "no"}, "final", final=True)]}),
        Row(
            "both events",
            {"BeforeTool": [says(ANSWERS["note"], "one")], "AfterTool": [says(ANSWERS["context"], "two")]},
        ),
    ]
    for name, changes in {
        "alias": {"Subject": "b.txt"},
        "alias and name": {"TOPIC": "c.txt", "topic": "b.txt"},
        "invalid": {"topic": 7},
        "invalid alias": {"Subject": None},
    }.items():
        for asks in (False, True):
            answer = {**specific(tool_input=changes), **(ANSWERS["ask"] if asks else {})}
            made.append(
                Row(f"{name}{', ask' if asks else ''}", {"BeforeTool": [says(answer, "guard")]}, has_rules=True)
            )
    return made


def _comparable(facts: Facts, host: str, row: Row) -> Facts:
    """The facts without what the host can't express."""
    if (host in ASKS_ELSEWHERE and row.reply is False) or (host == "bridge" and row.reply is None):
        return facts._replace(model=None, log=facts.log[:1])
    return facts._replace(model=None) if host == "bridge" or (host == "gateway" and facts.stops) else facts


@pytest.mark.req("DELTA-FLOW-007")
@pytest.mark.parametrize("row", rows(), ids=str)
def test_every_program_does_the_same(tmp_path: Path, row: Row) -> None:
    """All of them agree on what ran, what the user was asked, what the model read and what the log has."""
    expected = session(Program(row, tmp_path))
    for name, host in HOSTS.items():
        if row.has_rules and name in WITHOUT_RULES:
            continue
        # The specification lets a script's question pass in its trigger functions if the program can't ask the user.
        if row.reply is None and name == "triggers":
            continue
        facts = _comparable(host(Program(row, tmp_path)), name, row)
        wanted = _comparable(expected, name, row)
        wanted = wanted._replace(model=None) if facts.model is None else wanted
        assert facts == wanted, name
    if expected.asked and expected.ran:
        assert [arguments for _, arguments in expected.asked] == list(expected.ran)
