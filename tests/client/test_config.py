import asyncio
import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline.client.bus import InProcessBus
from hookline.client.config import Config
from hookline.log.write.logger import MemorySink
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.results import AggregatedHookResult
from hookline.protocol.text.strings import short_paths
from hookline.settings.read.paths import SettingsPaths


def settings(*commands: str, **others: Any) -> dict[str, Any]:
    """Settings with BeforeTool hooks."""
    return {
        "enableHooks": True,
        "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command} for command in commands]}]},
        **others,
    }


class Files:
    """The three settings files of a test."""

    def __init__(self, root: Path) -> None:
        self.paths = SettingsPaths(
            project=root / "project" / ".llxprt" / "settings.json",
            user=root / "home" / ".llxprt" / "settings.json",
            system=root / "etc" / "settings.json",
        )

    def write(self, **layers: Mapping[str, Any]) -> None:
        """Writes the given files."""
        for layer, values in layers.items():
            path: Path = getattr(self.paths, layer)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def fire(config: Config, tool: str = "ls") -> AggregatedHookResult:
    async def main() -> AggregatedHookResult:
        system = config.get_hook_system()
        assert system is not None
        await system.initialize()
        try:
            return await system.get_event_handler().fire_before_tool_event(tool, {})
        finally:
            system.dispose()

    return asyncio.run(main())


@pytest.mark.req("HOOK-001")
def test_enabled_hooks_have_one_system(project: Path) -> None:
    """The system is made on the first call, and every later call gives the same."""
    config = Config(project, settings={"enableHooks": True})
    assert config.get_enable_hooks()
    assert config.get_hook_system() is config.get_hook_system() is not None


@pytest.mark.req("HOOK-002", "HOOK-010", "HOOK-013")
@pytest.mark.parametrize(
    "given", [{}, {"enableHooks": False}, {"enableHooks": None}, {"hooks": settings("touch ran")["hooks"]}]
)
def test_disabled_hooks_have_no_system(project: Path, given: dict[str, Any]) -> None:
    """Unless hooks are enabled a config makes no system, whatever is configured."""
    config = Config(project, settings=given)
    assert (config.get_hook_system(), config.get_enable_hooks()) == (None, False)


@pytest.mark.req("HOOK-001")
def test_the_older_spelling_is_understood(project: Path) -> None:
    """`tools.enableHooks` also enables; where both are given and differ, `enableHooks` wins, with a warning."""
    assert Config(project, settings={"tools": {"enableHooks": True}}).get_hook_system() is not None
    both = Config(project, settings={"enableHooks": False, "tools": {"enableHooks": True}})
    assert both.get_hook_system() is None
    said = "tools.enableHooks is true but enableHooks is false and is used; remove the older one"
    assert [str(problem) for problem in both.get_problems()] == [f"settings given in code: {said}"]


def loaded_modules(code: str, project: Path) -> set[str]:
    """The modules that a fresh program has loaded after running this code."""
    root = Path(sys.modules["hookline"].__path__[0]).parent
    program = f"import sys; sys.path.insert(0, {str(root)!r})\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=project)
    return set(done.stdout.split())


@pytest.mark.req("HOOK-002", "HOOK-010", "HOOK-013")
def test_disabled_hooks_load_nothing(project: Path) -> None:
    """A program with hooks disabled never loads the engine, nor what the engine needs."""
    code = (
        "from hookline import Config\n"
        "config = Config('.', settings={'hooks': {'BeforeTool': [{'hooks': [{'type': 'command', 'command': 'x'}]}]}})\n"
        "assert config.get_hook_system() is None"
    )
    loaded = loaded_modules(code, project)
    parts = {name.removeprefix("hookline.").partition(".")[0] for name in loaded if name.startswith("hookline.")}
    assert parts <= {"client", "errors", "extensions", "protocol", "settings", "stderr"}
    assert {name for name in loaded if name.startswith("hookline.client.")} == {"hookline.client.config"}
    assert not loaded & {"msgspec", "asyncio", "google", "google.genai", "regress", "platformdirs"}


@pytest.mark.req("HOOK-013")
def test_tool_events_never_load_the_sdk(project: Path) -> None:
    """Blocking and rewriting tools goes without google-genai."""
    code = (
        "import asyncio\n"
        "from hookline import Config, ToolResult, execute_tool_with_hooks\n"
        "hook = {'type': 'command', 'command': 'echo note'}\n"
        "hooks = {event: [{'hooks': [hook]}] for event in ('BeforeTool', 'AfterTool')}\n"
        "config = Config('.', settings={'enableHooks': True, 'hooks': hooks})\n"
        "async def tool(arguments): return ToolResult(llm_content='done')\n"
        "result = asyncio.run(execute_tool_with_hooks(config, 'ls', {}, tool))\n"
        "assert result.llm_content == 'done\\n\\n[System] note\\n\\n[System] note', result"
    )
    loaded = loaded_modules(code, project)
    assert "hookline.engine.handler" in loaded
    assert not {name for name in loaded if name.partition(".")[0] in ("google", "pydantic")}


@pytest.mark.req("HOOK-206")
def test_neither_config_nor_system_initialize_anything(project: Path) -> None:
    """Hook settings are not looked into before the first event: not even their problems are reported."""
    memory = MemorySink()
    config = Config(project, settings={"enableHooks": True, "hooks": {"Nonsense": 7}}, log_sinks=[memory])
    system = config.get_hook_system()
    assert system is not None
    assert (memory.records, system.get_status().initialized) == ([], False)
    asyncio.run(system.initialize())
    assert [record.to_dict()["kind"] for record in memory.records] == ["settings"]


@pytest.mark.req("HOOK-144", "HOOK-215")
def test_the_session_facts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A config returns its arguments, its directory as an absolute path, and makes an id where none is given."""
    config = Config(project, session_id="s1", transcript_path="t.jsonl", settings={})
    assert (config.get_session_id(), config.get_working_dir(), config.get_transcript_path()) == (
        "s1",
        str(project),
        "t.jsonl",
    )
    monkeypatch.chdir(project)
    other = Config(".", settings={})
    assert other.get_working_dir() == str(project)
    assert uuid.UUID(other.get_session_id()) != uuid.UUID(Config(".", settings={}).get_session_id())
    assert other.get_transcript_path() == ""


@pytest.mark.req("HOOK-188")
def test_hooks_inherit_the_given_environment(project: Path) -> None:
    """An environment given to the config takes the place of this program's."""
    config = Config(project, settings=settings('echo "$ONLY_HERE" >&2'), environ={"ONLY_HERE": "yes"})
    assert config.get_environ() == {"ONLY_HERE": "yes"}
    assert fire(config).results[0].stderr == "yes\n"


@pytest.mark.req("HOOK-084", "HOOK-085", "HOOK-187")
def test_layers_add_up(project: Path, files: Files) -> None:
    """The hooks of the project, the user, the system and of extensions are all there, in that order."""
    extension = {"name": "e", "hooks": settings("echo extension")["hooks"]}
    files.write(
        system=settings("echo system"),
        user=settings("echo user", extensions=[extension]),
        project=settings("echo project"),
    )
    config = Config(project)
    assert [layer.source for layer in config.get_layers()] == ["project", "user", "system"]
    system = config.get_hook_system()
    assert system is not None
    asyncio.run(system.initialize())
    user = str(files.paths.user)
    assert [(hook.command, hook.source, hook.origin) for hook in system.get_all_hooks()] == [
        ("echo project", ConfigSource.PROJECT, str(files.paths.project)),
        ("echo user", ConfigSource.USER, user),
        ("echo system", ConfigSource.SYSTEM, str(files.paths.system)),
        ("echo extension", ConfigSource.EXTENSIONS, f"extension e ({user})"),
    ]


@pytest.mark.req("HOOK-084")
@pytest.mark.parametrize(
    "project_settings",
    [
        pytest.param({"enableHooks": False}, id="enableHooks"),
        pytest.param({"tools": {"enableHooks": False}}, id="older spelling"),
        pytest.param({"hooksConfig": {"disabled": ["exit 2"]}}, id="disabled"),
        pytest.param({"hooks": {"BeforeTool": []}}, id="empty list"),
        pytest.param(settings("true", hooksConfig={"maxConcurrent": 0, "log": None}), id="nonsense"),
        pytest.param({"hooksConfig": {"outputLimit": 1}}, id="option"),
    ],
)
def test_a_project_cannot_remove_a_users_guard(project: Path, files: Files, project_settings: dict[str, Any]) -> None:
    """A project's file can't prevent the user's hook: it runs and blocks."""
    files.write(user=settings("exit 2"), project=project_settings)
    result = fire(Config(project))
    assert result.final_output is not None
    assert result.final_output.is_blocking_decision()


@pytest.mark.req("HOOK-084")
def test_a_project_may_disable_its_own_hooks(project: Path, files: Files) -> None:
    """The names that a project disables are taken from its own hooks."""
    files.write(
        user=settings("echo user"), project=settings("echo project", hooksConfig={"disabled": ["echo project"]})
    )
    config = Config(project)
    assert [result.stdout for result in fire(config).results] == ["user\n"]
    system = config.get_hook_system()
    assert system is not None
    (skip,) = system.explain(HookEventName.BEFORE_TOOL, "ls").skipped
    assert skip.reason == f"disabled: by {files.paths.project}"


def test_options_of_a_project_are_ignored_with_a_warning(project: Path, files: Files) -> None:
    """How hooks run is not the project's to decide; the log says where the option belongs."""
    files.write(
        user=settings("true", hooksConfig={"maxConcurrent": 3}),
        project={"hooksConfig": {"maxConcurrent": 7, "outputLimit": 1}},
    )
    memory = MemorySink()
    system = Config(project, log_sinks=[memory]).get_hook_system()
    assert system is not None
    asyncio.run(system.initialize())
    assert (system.get_settings().options.max_concurrent, system.get_settings().options.output_limit) == (
        3,
        10 * 1024 * 1024,
    )
    assert [record.message for record in memory.records] == [
        f"{files.paths.project}:1:{column}: hooksConfig.{option} is only used in the user's or the system's settings;"
        " move it there"
        for option, column in (("maxConcurrent", 35), ("outputLimit", 53))
    ]


def test_a_named_file_is_trusted_and_the_only_one_read(tmp_path: Path, project: Path, files: Files) -> None:
    """Settings files given by name take the place of the usual ones, and their hooks run."""
    files.write(user=settings("echo user"), project=settings("echo project"))
    named = tmp_path / "named.json"
    named.write_text(json.dumps(settings("echo named")))
    assert [result.stdout for result in fire(Config(project, settings_files=[named])).results] == ["named\n"]


def test_the_files_may_be_elsewhere(tmp_path: Path, project: Path, files: Files) -> None:
    """The three places can be given as an argument."""
    elsewhere = Files(tmp_path / "elsewhere")
    files.write(user=settings("echo usual"))
    elsewhere.write(user=settings("echo elsewhere"))
    assert [result.stdout for result in fire(Config(project, settings_paths=elsewhere.paths)).results] == [
        "elsewhere\n"
    ]


def test_an_unusable_file_costs_that_file_only(project: Path, files: Files) -> None:
    """A file that is not JSON is reported with its place, and the others' hooks run."""
    files.write(user=settings("echo user"), project={})
    files.paths.project.write_text('{"hooks": oops}')
    config = Config(project)
    assert [str(problem) for problem in config.get_problems()] == [
        f"{files.paths.project}:1:11: is not JSON (Expecting value), so none of its hooks run; fix it at this place"
    ]
    assert [result.stdout for result in fire(config).results] == ["user\n"]


def test_working_at_home_does_not_make_ones_own_file_a_strangers(own_home: Path) -> None:
    """Where the project's file is the user's own, it is the user's: its hooks need no trust, and count once."""
    file = own_home / ".llxprt" / "settings.json"
    file.parent.mkdir()
    hooks = [{"type": "command", "command": "true"}]
    file.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}}))
    system = Config(own_home).get_hook_system()
    assert system is not None
    asyncio.run(system.initialize())
    assert [(hook.source, hook.needs_trust) for hook in system.get_all_hooks()] == [(ConfigSource.USER, False)]


def test_a_program_that_changes_its_directory_keeps_its_guards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A settings file is the one that was named, wherever the program goes."""
    (tmp_path / "hooks.json").write_text(json.dumps(settings("exit 2")))
    monkeypatch.chdir(tmp_path)
    config = Config(tmp_path, settings_files=["hooks.json"])
    system = config.get_hook_system()
    assert system is not None

    async def blocks() -> bool:
        await system.initialize()
        await asyncio.sleep(0.01)
        result = await system.get_event_handler().fire_before_tool_event("write_file", {})
        return result.final_output is not None and result.final_output.is_blocking_decision()

    assert asyncio.run(blocks())
    monkeypatch.chdir("/")
    assert asyncio.run(blocks())


def test_first_events_in_several_threads_share_one_system(project: Path) -> None:
    """The first thread makes it, and the others wait for it."""

    class Slow(dict[str, Any]):
        """Settings that take a moment to be read, so that all threads are at it."""

        def get(self, key: str, default: Any = None) -> Any:
            time.sleep(0.01)
            return super().get(key, default)

    bus = InProcessBus()
    config = Config(project, settings=Slow(settings("true")), message_bus=bus)
    ready = threading.Barrier(8)
    systems: list[object] = []

    def first() -> None:
        ready.wait()
        system = config.get_hook_system()
        assert system is not None
        asyncio.run(system.initialize())
        systems.append(system)

    threads = [threading.Thread(target=first) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(system) for system in systems}) == 1
    assert len(bus._subscribers["hook-execution-request"]) == 1


@pytest.mark.parametrize("quiet", [True, False])
def test_a_file_that_cannot_be_read_is_told(
    quiet: bool, project: Path, files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its guards do not run, and that is not silent, even where no other file enables hooks."""
    files.write(user={})
    files.paths.user.write_text('{"enableHooks": true "hooks": {}}')
    config = Config(project, settings_paths=files.paths, quiet=quiet)
    assert not config.get_enable_hooks()
    told = capsys.readouterr().err
    assert told == ("" if quiet else f"hookline: {short_paths(str(config.get_problems()[0]))}\n")
    assert str(files.paths.user) in str(config.get_problems()[0])


def test_an_odd_environment_costs_no_guard(project: Path) -> None:
    """Variables that no process can have are left out; the guard runs with the others."""
    odd: dict[Any, Any] = {"SHLVL": 3, b"B": b"b", "A=B": "x", "": "x", "N": "a\0b", "\0": "x"}
    given = settings('[ "$GOOD" = yes ] && exit 2')
    config = Config(project, settings=given, environ={**os.environ, **odd, "GOOD": "yes"})
    output = fire(config).final_output
    assert output is not None
    assert output.is_blocking_decision()


ONE = {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}, {"type": "command", "command": "x"}]}]}


@pytest.mark.parametrize(
    ("settings", "messages"),
    [
        ({"hooks": ONE}, ['2 hooks configured, all off: set "enableHooks": true']),
        ({"use": ["hookline:shell"]}, ['1 hook configured, all off: set "enableHooks": true']),
        ({"hooks": ONE, "enableHooks": False}, ["2 hooks configured, all off: enableHooks is false here"]),
        ({"hooks": ONE, "enableHooks": True}, []),
        ({"hooks": {"BeforeTool": []}}, []),
        ({"hooks": []}, []),
        (
            {"hooks": ONE, "hooksConfig": {"enabled": True}},
            [
                "is Gemini CLI's switch and has no effect here; use enableHooks, at the top of the file",
                '2 hooks configured, all off: set "enableHooks": true',
            ],
        ),
    ],
)
def test_hooks_that_are_configured_and_off_are_a_problem(
    settings: dict[str, Any], messages: list[str], tmp_path: Path
) -> None:
    """Nobody has to wonder why a guard does nothing."""
    problems = Config(tmp_path, settings=settings).get_problems()
    assert [problem.message for problem in problems] == messages
    assert not any(problem.is_error for problem in problems)
