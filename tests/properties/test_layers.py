"""Random settings files of the system, the user and a project: the project's never lifts what the others forbid.

With a project's file, an event comes to what it would come to without it if the agent itself had asked for what the
project's hooks made of it, or to something stricter. So a block, a stop, a restriction or a redaction of the user's or
the system's hooks stands, and what they let through is what they judged.
"""

import asyncio
import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hookline.engine.decide import decide
from hookline.engine.plan import plan
from hookline.engine.run import HookRunner, skips
from hookline.protocol.answers import TOOL_MODES, ToolSelection
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import Verdict
from hookline.runners import warm_policy
from hookline.runners.process.batch import ChildJob, ChildOutcome
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer
from hookline.settings.read.merge import authority

# Making the data takes long on a busy machine, the first time above all.
pytestmark = pytest.mark.timeout(120)

Told = Mapping[str, Any]
Files = Mapping[str, dict[str, Any]]

SOURCES = {"project": ConfigSource.PROJECT, "user": ConfigSource.USER, "system": ConfigSource.SYSTEM}
ALLOW = {"decision": "allow", "continue": True, "suppressOutput": False, "reason": "fine"}


def specific(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": fields}


def says(content: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": content}


def guard(told: Told) -> Any:
    """Denies what is evil, wherever it stands."""
    return 2 if "evil" in json.dumps([told.get("tool_input"), told.get("llm_request")]) else None


def clean(told: Told) -> Any:
    """Removes the secret from its input."""
    if "SECRET" not in json.dumps([told.get("tool_input"), told.get("llm_request"), told.get("llm_response")]):
        return None
    arguments = told.get("tool_input") or {}
    messages = told.get("llm_request", {}).get("messages", [])
    return specific(
        tool_input={key: str(value).replace("SECRET", "[r]") for key, value in arguments.items()},
        llm_request={"messages": [says(one["content"].replace("SECRET", "[r]"), one["role"]) for one in messages]},
        llm_response={"text": "[r]"},
    )


def note(told: Told) -> Any:
    """Adds a system message that it was not sent: with one that it was sent, its list is the whole conversation."""
    text = "a note"
    while text in json.dumps(told.get("llm_request")):
        text += "!"
    return specific(tool_input={"p": "x"}, llm_request={"messages": [says(text, "system")]})


def rewrite(p: Any = None, **request: Any) -> Callable[[Told], Any]:
    return lambda _: specific(tool_input=None if p is None else {"p": p}, llm_request=request or None)


def fixed(answer: Any) -> Callable[[Told], Any]:
    return lambda _: answer


# The answer of each command: an exit code, an object, or nothing.
COMMANDS: Mapping[str, Callable[[Told], Any]] = {
    "guard": guard,
    "clean": clean,
    "deny": fixed(2),
    "deny-in-json": fixed({"decision": "block", "reason": "no"}),
    "deny-permission": fixed(specific(permissionDecision="deny")),
    "deny-and-answer": fixed({"decision": "deny", **specific(llm_response={"text": "instead"})}),
    "stop": fixed({"continue": False, "stopReason": "halt"}),
    "ask": fixed({"decision": "ask", "reason": "sure?"}),
    "quiet": fixed({"suppressOutput": True}),
    "allow": fixed({**ALLOW, **specific(permissionDecision="allow")}),
    "crash": fixed(1),
    "hide": rewrite("benign", messages=[says("benign")]),
    "hide-in-system": rewrite("benign", messages=[says("evil SECRET", "system"), says("benign")]),
    "restore": rewrite("evil SECRET", messages=[says("evil SECRET")], model="evil"),
    "instruct": rewrite("x", systemInstruction="evil SECRET"),
    "instruct-well": rewrite("x", systemInstruction="be kind"),
    "note": note,
    "model": rewrite("x", model="benign"),
    "config": rewrite("x", config={"temperature": 1}),
    "null": fixed(specific(tool_input=None, llm_request=None, llm_response=None)),
    "null-keys": fixed(specific(tool_input={"p": None}, llm_request={"model": None, "messages": None, "config": None})),
    "drop": fixed(specific(tool_input={"q": "x"})),  # all other arguments, in a dialect whose rewrites are whole
    "forge": fixed(specific(llm_response={"text": "FORGED SECRET"})),
    "none": fixed(specific(toolConfig={"mode": "NONE"})),
    "any": fixed(specific(toolConfig={"mode": "ANY", "allowedFunctionNames": ["a", "b"]})),
    "auto": fixed(specific(toolConfig={"mode": "AUTO"})),
    "names": fixed(specific(toolConfig={"allowedFunctionNames": ["a"]})),
    "other-names": fixed(specific(toolConfig={"allowedFunctionNames": ["b", "c"]})),
    "switched": fixed(2),  # unless OFF is in its environment
    "slow": fixed(None),  # ends after a second
}

ANSWERS = ("guard", "deny", "deny-in-json", "stop", "ask", "quiet", "allow", "crash", "switched", "slow")
REQUESTS = ("hide", "hide-in-system", "restore", "instruct", "instruct-well", "note", "model", "config", "null-keys")
# The commands that make a difference on each event.
RELEVANT = {
    HookEventName.BEFORE_TOOL: (*ANSWERS, "deny-permission", "clean", "hide", "restore", "drop", "null", "null-keys"),
    HookEventName.BEFORE_MODEL: (*ANSWERS, *REQUESTS, "clean", "null", "deny-and-answer", "forge"),
    HookEventName.AFTER_TOOL: ANSWERS,
    HookEventName.AFTER_MODEL: (*ANSWERS, "clean", "forge", "null"),
    HookEventName.BEFORE_TOOL_SELECTION: (*ANSWERS, "none", "any", "auto", "names", "other-names"),
}
# Where hooks can change what happens there is more to find.
EVENTS = st.sampled_from([*RELEVANT, *[HookEventName.BEFORE_TOOL, HookEventName.BEFORE_MODEL] * 3])
TEXTS = st.sampled_from(["plain", "evil", "SECRET", "evil SECRET"])


def rarely(usual: Any, other: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([usual] * 5 + [other])


@st.composite
def setups(draw: st.DrawFn) -> tuple[HookEventName, list[dict[str, Any]]]:
    """An event, and the files of the project, the user and the system; few commands, so that there are duplicates."""
    event = draw(EVENTS)
    commands = draw(st.lists(st.sampled_from(RELEVANT[event]), min_size=2, max_size=4, unique=True))
    hook = st.fixed_dictionaries(
        {
            "type": st.just("command"),
            "command": st.sampled_from(commands),
            "env": rarely({}, {"OFF": "1"}),
            "final": rarely(usual=False, other=True),
            "timeout": st.sampled_from([200, 5000]),
            "onError": st.sampled_from(["allow", "allow", "block"]),
            "enabled": rarely(usual=True, other=False),
            # Its words are ours, and its rewrites are whole.
            "dialect": rarely("hookline", "gemini"),
        }
    )
    group = st.fixed_dictionaries(
        {
            "hooks": st.lists(hook, min_size=1, max_size=3),
            "sequential": st.sampled_from([False, False, True]),
            "matcher": rarely("t", "other"),
        }
    )
    file = st.fixed_dictionaries(
        {
            "hooks": st.lists(group, max_size=1),
            "extension": st.lists(group, max_size=1),
            "enableHooks": st.booleans(),
            "disabled": rarely([], commands[:1]),
        }
    )
    # Files of another agent beside hookline's; an event that the agent does not have is ignored.
    dialect = draw(st.sampled_from(["claude", "codex", "gemini"]))
    foreign = st.fixed_dictionaries(
        {
            "foreign": st.lists(group, max_size=1),
            "dialect": rarely(dialect, "gemini"),
            "silences": st.booleans(),
        }
    )
    return event, [{**draw(file), **draw(foreign)} for _ in SOURCES]


def in_place(name: str, file: dict[str, Any], event: HookEventName) -> Layer:
    """A file of another agent, with everything that could switch hooks off there."""
    values = {"hooks": {event.value: file["foreign"]}, "hooksConfig": {"disabled": file.get("disabled", [])}}
    made = Layer(source=SOURCES[name], origin=name, values=values, is_guest=name == "project", dialect=file["dialect"])
    return made._replace(silences_below=authority(made) + 1 if file["silences"] else 0)


def layers(files: Files, event: HookEventName) -> list[Layer]:
    """The files as they would be read; the user's enables hooks."""
    made = [in_place(name, file, event) for name, file in files.items() if "foreign" in file]
    for name, file in files.items():
        values: dict[str, Any] = {
            "hooks": {event.value: file["hooks"]},
            "extensions": [{"name": "e", "hooks": {event.value: file.get("extension", [])}}],
            "hooksConfig": {"disabled": file.get("disabled", [])},
            "enableHooks": file.get("enableHooks") if name == "project" else True,
        }
        made.append(Layer(source=SOURCES[name], origin=name, values=values, is_guest=name == "project"))
    return made


async def answer_from_table(jobs: Sequence[ChildJob], **_: Any) -> list[ChildOutcome]:
    """In place of the processes."""
    return [outcome(job) for job in jobs]


def outcome(job: ChildJob) -> ChildOutcome:
    if job.command == "slow" and job.timeout_ms < 1000:
        return ChildOutcome(timed_out=True)
    assert isinstance(job.stdin, bytes)
    answer = None if "OFF" in job.env and job.command == "switched" else COMMANDS[job.command](json.loads(job.stdin))
    if isinstance(answer, int):
        return ChildOutcome(exit_code=answer, stderr=job.command.encode())
    return ChildOutcome(exit_code=0, stdout=b"" if answer is None else json.dumps(answer).encode())


def fire(files: Files, event: HookEventName, told: Told) -> tuple[Verdict, Told]:
    """The outcome of the event, and the input of the first hook that is not the project's."""
    configured = decode_settings(layers(files, event))
    assert configured.enabled
    made = plan(configured.hooks, event, "t")
    told = {"cwd": "/", **copy.deepcopy(told)}
    if not made.hooks:
        return Verdict(event=event), told
    runs = asyncio.run(HookRunner(environ={}).run(made, told))
    skipped = () if len(runs) == len(made.hooks) else skips(made.hooks, runs, told)
    verdict = decide(event, told, runs, plan=made, skipped=skipped)
    judging = [run for run in runs if run.hook.origin != "project" and "(project)" not in run.hook.origin]
    if not judging:
        return verdict, {**told, **goes_on_with(verdict, told)}
    # A hook of another agent gets fewer fields, and nothing else about these.
    judged = json.loads(judging[0].stdin)
    return verdict, {**told, **{key: judged[key] for key in told if key in judged}}


def goes_on_with(verdict: Verdict, told: Told) -> Told:
    """The arguments and the request after the event."""
    arguments = told["tool_input"] if verdict.arguments is None else verdict.arguments
    request = told["llm_request"] if verdict.request is None else verdict.request
    return {"tool_input": arguments, "llm_request": {key: value for key, value in request.items() if value}}


def is_narrower(tools: ToolSelection | None, than: ToolSelection) -> bool:
    if tools is None:
        return False
    if tools.mode == "NONE":
        return True
    names = than.names is None or (tools.names is not None and set(tools.names) <= set(than.names))
    mode = than.mode is None or (tools.mode is not None and TOOL_MODES.index(tools.mode) >= TOOL_MODES.index(than.mode))
    # Without a mode the request's own counts; one that restricts nothing must not replace it.
    return names and mode and (than.mode is not None or tools.mode != "AUTO")


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_policy, "run_children", answer_from_table)


def entry(command: str, **options: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **options}


def setup_of(
    event: HookEventName,
    project: list[dict[str, Any]],
    user: list[dict[str, Any]],
    *,
    extension: Sequence[dict[str, Any]] = (),
    chains: str = "",
) -> tuple[HookEventName, list[dict[str, Any]]]:
    """A setup that was an attack once; `chains` names the files whose hooks are sequential."""
    files = [
        {"hooks": [{"hooks": hooks, "sequential": name in chains}] if hooks else []}
        for name, hooks in (("project", project), ("user", user), ("system", []))
    ]
    files[0]["extension"] = [{"hooks": list(extension)}] if extension else []
    return event, files


BEFORE_TOOL, BEFORE_MODEL = HookEventName.BEFORE_TOOL, HookEventName.BEFORE_MODEL


@example(setup_of(BEFORE_TOOL, [entry("guard"), entry("restore")], [entry("guard")], chains="user"), "plain")
@example(setup_of(BEFORE_TOOL, [entry("guard")], [entry("restore"), entry("guard")], chains="user"), "plain")
@example(setup_of(BEFORE_TOOL, [entry("clean", final=True)], [entry("clean")]), "SECRET")
@example(setup_of(BEFORE_TOOL, [entry("slow", timeout=5000)], [entry("slow", timeout=200, onError="block")]), "plain")
@example(
    setup_of(BEFORE_TOOL, [entry("hide")], [entry("guard")], extension=[entry("restore")], chains="project"),
    "evil",
)
@example(
    setup_of(BEFORE_MODEL, [entry("hide")], [entry("clean")], extension=[entry("restore")], chains="project"),
    "SECRET",
)
@example(setup_of(BEFORE_MODEL, [entry("instruct")], [entry("clean")]), "SECRET")
@example(setup_of(BEFORE_MODEL, [entry("deny-and-answer")], [entry("deny")]), "plain")
@example(setup_of(BEFORE_TOOL, [entry("allow")], [entry("deny"), entry("stop")], chains="project"), "plain")
@example(setup_of(BEFORE_TOOL, [entry("restore")], [entry("drop", dialect="gemini")]), "evil")
@example(setup_of(BEFORE_TOOL, [entry("drop", dialect="gemini")], [entry("guard"), entry("clean")]), "SECRET")
@pytest.mark.req("HOOK-090", "HOOK-098", "HOOK-107")
@settings(max_examples=5 * settings().max_examples)
@given(setups(), TEXTS)
def test_a_projects_file_lifts_nothing(setup: tuple[HookEventName, list[dict[str, Any]]], text: str) -> None:
    """For any files and any answers of the hooks."""
    event, (project, user, system) = setup
    others: Files = {"user": user, "system": system}
    told = {
        "tool_name": "t",
        "tool_input": {"p": text},
        "llm_request": {"model": "m", "messages": [says("be brief", "system"), says(text)]},
        "llm_response": {"text": text},
    }
    with_it, judged = fire({"project": project, **others}, event, told)
    without, _ = fire(others, event, judged)
    if without.blocked:
        assert with_it.blocked
        assert with_it.response == without.response
    # A copy with onError can make a hook of a chain block, which ends the chain.
    groups = [*project["hooks"], *project["extension"], *project.get("foreign", [])]
    is_stricter = any(one.get("onError") == "block" for group in groups for one in group["hooks"])
    assert with_it.stop or not without.stop or (is_stricter and with_it.skipped)
    assert with_it.suppress or not without.suppress or with_it.blocked
    assert with_it.ask or with_it.blocked or not without.ask
    if without.tools is not None:
        assert is_narrower(with_it.tools, without.tools)
    assert with_it.blocked or goes_on_with(with_it, told) == goes_on_with(without, judged)
    if event is HookEventName.AFTER_MODEL and (without.response is not None or without.stop):
        assert with_it.response == without.response
