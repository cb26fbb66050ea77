"""Attacks on what was judged: each tries to have something run that a guard, or the user, has not seen like that."""

import asyncio
import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hookline import Config, Hooks, execute_tool_with_hooks
from hookline.apps.agent.approval.approver import Approval, ApprovalRequest, Permissions, UserReply
from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.scheduler import ToolScheduler
from hookline.apps.agent.tool import AgentCall, CallStatus
from hookline.apps.agent.toolbox import default_toolbox
from hookline.hook import Ask
from hookline.settings.read.paths import SettingsPaths
from hookline.settings.trust.store import TrustStore

Json = dict[str, Any]


def rewrites(changes: Any, **options: Any) -> Json:
    """A hook that rewrites arguments."""
    answer = {"hookSpecificOutput": {"tool_input": changes, **options.pop("specific", {})}}
    return {"type": "command", "command": f"printf %s {shlex.quote(json.dumps(answer))}", **options}


def guard(word: str, directory: Path, **options: Any) -> Json:
    """A hook that denies an input with this word, and notes what it was given."""
    seen = shlex.quote(str(directory / "seen.jsonl"))
    command = f"input=$(cat); printf '%s\\n' \"$input\" >> {seen}; case $input in *{word}*) echo no >&2; exit 2;; esac"
    return {"type": "command", "name": "guard", "command": command, **options}


def group(*hooks: Json, **options: Any) -> Json:
    """A layer with these BeforeTool hooks."""
    return {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": list(hooks), **options}]}}


def layered(directory: Path, **layers: Json) -> Config:
    """The settings of project, user and system, of which every hook is trusted."""
    files = [directory / f"{name}.json" for name in ("project", "user", "system")]
    paths = SettingsPaths(project=files[0], user=files[1], system=files[2])
    for name, settings in layers.items():
        (directory / f"{name}.json").write_text(json.dumps(settings))
    trust_path = directory / "trust.json"
    config = Config(directory / "work", settings_paths=paths, trust_path=trust_path)
    TrustStore(trust_path).trust(
        [one for one in config.get_settings().hooks if one.needs_trust], str(directory / "work")
    )
    return config


@dataclass
class User:
    """Says yes to everything, and remembers the questions."""

    answer: Approval = Approval.ALLOW_ONCE
    asked: list[ApprovalRequest] = field(default_factory=list)

    async def __call__(self, request: ApprovalRequest) -> UserReply:
        """The same answer each time."""
        self.asked.append(request)
        return UserReply(self.answer)


def agent(config: Config, name: str, arguments: Mapping[str, Any], user: User | None = None) -> AgentCall:
    """The finished call in hookline's own agent, with its own tools."""
    scheduler = ToolScheduler(
        config=config,
        toolbox=default_toolbox(),
        permissions=Permissions(config=config, person=user or User(), background=BackgroundHooks()),
        on_change=lambda _: None,
    )
    (done,) = asyncio.run(scheduler.run([AgentCall(id="1", name=name, arguments=arguments)]))
    return done


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A project with a secret."""
    (tmp_path / "work" / "secret").mkdir(parents=True)
    (tmp_path / "work" / "ok.txt").write_text("fine")
    (tmp_path / "work" / "secret.txt").write_text("s3cret")
    (tmp_path / "work" / "secret" / "key.txt").write_text("s3cret")
    return tmp_path


def seen(directory: Path) -> list[Json]:
    """The arguments that the guard was given."""
    lines = (directory / "seen.jsonl").read_text().splitlines()
    return [json.loads(line)["tool_input"] for line in lines]


ALIAS = {"path": "secret.txt"}


@pytest.mark.req("DELTA-FLOW-001")
@pytest.mark.attack("30.A2", "rewrite an argument under another of its names, so that the guard sees the old value")
@pytest.mark.parametrize("options", [{}, {"final": True}], ids=["plain", "final"])
@pytest.mark.parametrize("layer", ["user", "system"])
@pytest.mark.parametrize(
    "changes",
    [
        ALIAS,
        {"absolute_path": "secret.txt"},
        {"file_path": "ok.txt", "path": "secret.txt"},
        {"path": "secret.txt", "encoding": None},
    ],
    ids=["path", "absolute-path", "both", "null"],
)
def test_an_alias_hides_nothing_from_a_more_trusted_guard(work: Path, layer: str, options: Json, changes: Json) -> None:
    """The guard judges the file that would be read."""
    config = layered(work, project=group(rewrites(changes)), **{layer: {**group(guard("secret.txt", work, **options))}})
    if layer == "system":
        (work / "user.json").write_text(json.dumps({"enableHooks": True}))
    done = agent(config, "read_file", {"file_path": "ok.txt"})
    assert (done.status, "s3cret" in str(done.result)) == (CallStatus.IDLE, False)
    assert [one["file_path"] for one in seen(work)] == ["secret.txt"]
    assert all("path" not in one and "absolute_path" not in one for one in seen(work))


@pytest.mark.req("DELTA-FLOW-001")
@pytest.mark.attack("30.A2", "the same inside one file: a chain, or parallel hooks before a final guard")
@pytest.mark.parametrize(
    ("options", "final"), [({"sequential": True}, False), ({}, True)], ids=["chain", "parallel-final"]
)
@pytest.mark.parametrize(
    "hooks", [[ALIAS], [{"file_path": "b.txt"}, ALIAS], [ALIAS, {"encoding": "utf-8"}]], ids=["one", "last", "first"]
)
def test_an_alias_hides_nothing_in_one_file(work: Path, options: Json, final: bool, hooks: list[Json]) -> None:
    """Each rewrite has the argument's proper name before the next hook sees it."""
    entries = [*map(rewrites, hooks), guard("secret.txt", work, final=final)]
    done = agent(layered(work, user=group(*entries, **options)), "read_file", {"path": "ok.txt"})
    assert (done.status, "s3cret" in str(done.result)) == (CallStatus.IDLE, False)
    assert [one["file_path"] for one in seen(work)] == ["secret.txt"]


@pytest.mark.req("DELTA-FLOW-001")
@pytest.mark.attack("30.A2", "a project's rewrite survives under another name than that of the user's own rewrite")
@pytest.mark.parametrize("names", [("file_path", "path"), ("path", "file_path"), ("path", "absolute_path")])
def test_a_more_trusted_rewrite_wins_under_every_name(work: Path, names: tuple[str, str]) -> None:
    """The user's hook redirects the call, whatever name each of the two uses."""
    project, user = names
    config = layered(
        work,
        project=group(rewrites({project: "secret.txt"})),
        user=group(rewrites({user: "ok.txt"}), guard("nothing", work, final=True)),
    )
    done = agent(config, "read_file", {"file_path": "ok.txt"})
    assert done.arguments == {"file_path": "ok.txt"} == seen(work)[-1]
    assert "fine" in str(done.result)


@pytest.mark.req("DELTA-FLOW-002")
@pytest.mark.attack("30.A3", "leave an argument out that the guard would object to, and have it restored afterwards")
@pytest.mark.parametrize("options", [{}, {"final": True}], ids=["plain", "final"])
def test_a_dropped_argument_stays_dropped(work: Path, options: Json) -> None:
    """The guard sees no directory, and the command runs without one."""
    change = rewrites({"command": "cat key.txt"}, specific={"replacesInput": True})
    config = layered(work, project=group(change), user=group(guard("secret", work, **options)))
    done = agent(config, "run_shell_command", {"command": "cat key.txt", "directory": "secret"})
    assert seen(work) == [{"command": "cat key.txt"}] == [done.arguments]
    assert "s3cret" not in str(done.result)


@pytest.mark.req("DELTA-FLOW-002")
@pytest.mark.attack("30.A3", "leave out an argument that the tool needs")
def test_a_required_argument_is_not_restored(work: Path) -> None:
    """The rewrite is not valid, so the call fails before the user is asked."""
    user = User()
    config = layered(work, user=group(rewrites({"content": "x"}, specific={"replacesInput": True})))
    done = agent(config, "write_file", {"file_path": "a.txt", "content": "y"}, user)
    assert (done.status, user.asked) == (CallStatus.ERROR, [])
    assert not (work / "work" / "a.txt").exists()


# ------------------------------------------------------------------------------------------------- questions


def ways() -> list[str]:
    return ["triggers", "session", "sync"]


@dataclass
class Case:
    """A call in one of the programs around the flow, with a normalizer that ignores the case of names."""

    directory: Path
    answer: Json
    validate: Any = None
    reply: Any = True
    normalize: Any = None
    ran: list[Json] = field(default_factory=list)
    asked: list[tuple[str, Json]] = field(default_factory=list)

    def run(self, way: str, arguments: Json) -> Any:
        """The result of the call."""
        command = f"printf %s {shlex.quote(json.dumps(self.answer))}"
        settings = {**group({"type": "command", "command": command}), "hooksConfig": {"log": {"enabled": False}}}
        given: Any = {"normalize": self.normalize or _in_small_letters, "validate": self.validate}
        if way == "triggers":
            config = Config(self.directory, settings=settings)
            return asyncio.run(
                execute_tool_with_hooks(config, "t", arguments, self.tool_async, on_ask=self.on_ask, **given)
            )
        with Hooks(self.directory, settings=settings, on_ask=self.on_ask) as hooks:
            session = hooks.session()
            if way == "sync":
                return session.sync.run_tool("t", arguments, self.tool, **given)
            return asyncio.run(session.run_tool("t", arguments, self.tool, **given))

    def tool(self, arguments: Json) -> str:
        """Remembers what it was run with."""
        self.ran.append(dict(arguments))
        return "ran"

    async def tool_async(self, arguments: Json) -> str:
        """Does the same."""
        return self.tool(arguments)

    async def on_ask(self, reason: str, arguments: Any) -> Any:
        """Remembers the question, and tries to change what it is about."""
        self.asked.append((str(reason), dict(arguments)))
        arguments["path"] = "/changed/by/the/question"
        return self.reply


def _in_small_letters(given: Mapping[str, Any]) -> Json:
    return {name.lower(): value for name, value in given.items()}


def asking(changes: Any) -> Json:
    return {"decision": "ask", "reason": "sure?", "hookSpecificOutput": {"tool_input": changes}}


@pytest.mark.req("DELTA-FLOW-003")
@pytest.mark.attack("30.A5", "have the user approve other arguments than those that run")
@pytest.mark.parametrize("way", ways())
def test_the_user_approves_what_runs(tmp_path: Path, way: str) -> None:
    """The question has the normal form, and changing what it was given changes nothing."""
    case = Case(tmp_path, asking({"Path": "/etc"}))
    case.run(way, {"PATH": "a", "mode": "r"})
    assert case.asked == [("sure?", {"path": "/etc", "mode": "r"})]
    assert case.ran == [{"path": "/etc", "mode": "r"}]


def _broken(_arguments: Mapping[str, Any]) -> Any:
    raise LookupError("broken")


@pytest.mark.req("DELTA-FLOW-004")
@pytest.mark.attack("30.A5", "have the user asked about a rewrite that is not valid, or that can't be checked")
@pytest.mark.parametrize("way", ways())
@pytest.mark.parametrize(
    "rules",
    [
        {"validate": lambda _: "path is wrong"},
        {"validate": _broken},
        {"normalize": lambda given: _broken(given) if "Path" in given else given},
        {"normalize": lambda given: ["no mapping"] if "Path" in given else given},
    ],
    ids=["invalid", "validate-raises", "normalize-raises", "no-mapping"],
)
def test_an_invalid_rewrite_is_refused_before_the_question(tmp_path: Path, way: str, rules: Json) -> None:
    """Nobody is asked, nothing runs, and the result names the fault."""
    case = Case(tmp_path, asking({"Path": 7}), **rules)
    result = case.run(way, {"path": "a"})
    assert (case.asked, case.ran) == ([], [])
    assert "rewrote its arguments, and they are not valid" in str(result.error)


@pytest.mark.req("DELTA-FLOW-004")
@pytest.mark.attack("30.A5", "arguments without a normal form")
@pytest.mark.parametrize("way", ways())
def test_arguments_without_a_normal_form_are_refused(tmp_path: Path, way: str) -> None:
    """Nobody knows what the tool would do with them, so no hook is asked either."""
    case = Case(tmp_path, asking({}), normalize=_broken)
    result = case.run(way, {"path": "a"})
    assert (case.asked, case.ran) == ([], [])
    assert "LookupError: broken" in str(result.error)


@pytest.mark.req("DELTA-FLOW-003")
@pytest.mark.attack("30.A5", "a normalizer that gives another answer each time")
@pytest.mark.parametrize("way", ways())
def test_an_inconsistent_normalizer_changes_nothing_after_the_question(tmp_path: Path, way: str) -> None:
    """The call that the user saw is the one that runs, even if the program's function is not consistent."""
    count = iter(range(100))
    case = Case(tmp_path, asking({"path": "b"}), normalize=lambda given: {**given, "count": next(count)})
    case.run(way, {"path": "a"})
    assert case.ran == [arguments for _, arguments in case.asked]


# ------------------------------------------------------------------------------------- no user can be asked

SHELL_PACK = {"enableHooks": True, "use": ["hookline:shell"], "hooksConfig": {"log": {"enabled": False}}}


@pytest.mark.req("DELTA-FLOW-005")
@pytest.mark.attack("30.A6", "a question of a pack where no user can be asked")
@pytest.mark.parametrize("way", ways())
def test_a_pack_that_asks_in_vain_refuses(tmp_path: Path, way: str) -> None:
    """The tool does not run, and the result has the reason; also in the specification's trigger."""
    result, ran = _unasked(tmp_path, way, SHELL_PACK)
    assert ran == []
    assert "nobody can be asked here" in str(result.llm_content)
    assert "environment" in str(result.llm_content)


def _unasked(directory: Path, way: str, settings: Json, **options: Any) -> tuple[Any, list[Json]]:
    ran: list[Json] = []
    arguments = {"command": "env"}

    async def tool(given: Json) -> str:
        ran.append(given)
        return "ran"

    if way == "triggers":
        config = Config(directory, settings=settings)
        return asyncio.run(execute_tool_with_hooks(config, "bash", arguments, tool, **options)), ran
    with Hooks(directory, settings=settings, **options) as hooks:
        session = hooks.session()
        if way == "sync":
            return session.sync.run_tool("bash", arguments, tool), ran
        return asyncio.run(session.run_tool("bash", arguments, tool)), ran


SCRIPT = group({"type": "command", "name": "script", "command": 'printf \'{"decision": "ask", "reason": "sure?"}\''})


@pytest.mark.req("DELTA-FLOW-005", "HOOK-182")
@pytest.mark.attack("30.A6", "a question of a script where no user can be asked")
@pytest.mark.parametrize(("way", "runs"), [("triggers", True), ("session", False), ("sync", False)])
def test_a_script_that_asks_in_vain_refuses_but_in_the_trigger(
    tmp_path: Path, way: str, runs: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the specification's trigger lets it run, and reports that on stderr."""
    result, ran = _unasked(tmp_path, way, SCRIPT)
    assert bool(ran) is runs
    assert ("sure?" in str(result.llm_content)) is not runs
    assert ("runs without a question" in capsys.readouterr().err) is runs


@pytest.mark.req("DELTA-FLOW-005")
@pytest.mark.attack("30.A6", "questions of a function and of another agent's hook in the specification's trigger")
@pytest.mark.parametrize("kind", ["function", "claude", "script and function"])
def test_only_scripts_pass_in_the_trigger(tmp_path: Path, kind: str) -> None:
    """Questions of anything else are refused, also beside a script that asks."""
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}
    command = f"printf %s {shlex.quote(json.dumps(answer))}"
    claude = {"dialect": "claude", "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}}
    settings = {"claude": {"enableHooks": True, **claude}, "script and function": SCRIPT}.get(kind, {})
    config, ran = Config(tmp_path, settings=settings), list[Json]()
    if "function" in kind:
        config.add_hook("BeforeTool", lambda _event: Ask("really?"))

    async def tool(given: Json) -> str:
        ran.append(given)
        return "ran"

    result = asyncio.run(execute_tool_with_hooks(config, "bash", {"command": "ls"}, tool))
    assert (ran, "nobody can be asked here" in str(result.llm_content)) == ([], True)


def test_the_report_comes_once_per_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A session with many such calls has one line on stderr."""
    config = Config(tmp_path, settings=SCRIPT)

    async def tool(_given: Json) -> str:
        return "ran"

    async def calls() -> None:
        for _ in range(3):
            await execute_tool_with_hooks(config, "bash", {}, tool)

    asyncio.run(calls())
    assert capsys.readouterr().err.count("runs without a question") == 1


@pytest.mark.req("DELTA-FLOW-005")
@pytest.mark.parametrize("way", ways())
@pytest.mark.parametrize("settings", [SHELL_PACK, SCRIPT], ids=["pack", "script"])
def test_a_program_opts_out_explicitly(
    tmp_path: Path, way: str, settings: Json, capsys: pytest.CaptureFixture[str]
) -> None:
    """`on_ask="allow"` runs the call, and nothing is reported."""
    result, ran = _unasked(tmp_path, way, settings, on_ask="allow")
    assert (ran, result.llm_content) == ([{"command": "env"}], "ran")
    assert capsys.readouterr().err == ""


@pytest.mark.req("DELTA-FLOW-005")
@pytest.mark.attack("30.A6", "an `on_ask` that is not a function, as if it were a yes")
@pytest.mark.parametrize("way", ways())
@pytest.mark.parametrize("on_ask", [True, "yes", "deny", 1, False])
def test_only_the_word_allow_opts_out(tmp_path: Path, way: str, on_ask: Any) -> None:
    """Anything else is an error of the program."""
    with pytest.raises(TypeError, match="on_ask is"):
        _unasked(tmp_path, way, SHELL_PACK, on_ask=on_ask)


# ------------------------------------------------------------------------------------- guards decide first


@pytest.mark.req("DELTA-FLOW-006")
@pytest.mark.attack("30.A5", "have the user asked about a call that a guard denies")
def test_a_guard_denies_before_the_user_is_asked(work: Path) -> None:
    """The user sees no question about a call that would not run anyway."""
    user = User()
    done = agent(layered(work, user=group(guard("rm", work))), "run_shell_command", {"command": "rm -rf x"}, user)
    assert (done.status, user.asked) == (CallStatus.IDLE, [])


@pytest.mark.req("DELTA-FLOW-006")
@pytest.mark.attack("30.A5", "two questions about one call, or one without the guard's reason")
def test_a_guard_that_asks_makes_one_question(work: Path) -> None:
    """It names the reason and the call, with the arguments as hooks left them."""
    user = User()
    config = layered(work, user=group({"type": "command", "name": "careful", **_says(asking({"command": "echo b"}))}))
    done = agent(config, "run_shell_command", {"command": "echo a"}, user)
    (request,) = user.asked
    assert request.asked is not None
    assert (request.asked.hooks, request.asked) == (("careful",), "sure?")
    assert (request.what, request.call.arguments) == ("run echo b", {"command": "echo b"})
    assert (done.status, done.arguments) == (CallStatus.SUCCESS, {"command": "echo b"})


def _says(answer: Json) -> Json:
    return {"command": f"printf %s {shlex.quote(json.dumps(answer))}"}


@pytest.mark.req("DELTA-FLOW-001")
@pytest.mark.attack("30.A2", "rewrite arguments to something else than an object")
@pytest.mark.parametrize("value", ["secret.txt", ["secret.txt"], 7, True])
def test_a_rewrite_that_is_no_object_changes_nothing(work: Path, value: Any) -> None:
    """Guards and tool go on with the arguments from before."""
    config = layered(work, project=group(rewrites(value)), user=group(guard("secret", work, final=True)))
    done = agent(config, "read_file", {"file_path": "ok.txt"})
    assert (done.arguments, seen(work)) == ({"file_path": "ok.txt"}, [{"file_path": "ok.txt"}])


@pytest.mark.req("DELTA-FLOW-001")
@pytest.mark.attack("30.A2", "true in place of 1, which are equal in Python")
def test_true_is_not_one(tmp_path: Path) -> None:
    """A guard that judges the one must not see the other."""
    program = "import json, sys; told = json.load(sys.stdin)['tool_input']; sys.exit(2 if told['force'] is True else 0)"
    judge = {"type": "command", "command": shlex.join([sys.executable, "-I", "-c", program]), "final": True}
    hooks = group(rewrites({"force": True}), judge)
    case_settings = {**hooks, "hooksConfig": {"log": {"enabled": False}}}
    result, ran = _forced(tmp_path, case_settings)
    assert (ran, result.decided_by != ()) == ([], True)


def _remembering(ran: list[Json]) -> Any:
    def tool(given: Json) -> str:
        ran.append(given)
        return "ran"

    return tool


def _forced(directory: Path, settings: Json) -> tuple[Any, list[Json]]:
    ran: list[Json] = []
    with Hooks(directory, settings=settings) as hooks:
        result = hooks.session().sync.run_tool("t", {"force": 1}, _remembering(ran))
    return result, ran
