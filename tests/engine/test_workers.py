"""Workers in an engine: shared, replaced, distrusted, closed. Real processes; the scripts use `hookline.hook`."""

import asyncio
import gc
import itertools
import json
import os
import shutil
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.patience import descriptors, traced

from hookline import Hooks
from hookline.log.write.logger import MemorySink
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry
from hookline.settings.read.paths import SettingsPaths
from hookline.settings.trust.fingerprint import Fingerprinter
from hookline.settings.trust.store import TrustStore

SCRIPT = """
import os, sys, time
from hookline.hook import Deny, main
open("started", "a").write(f"{os.getpid()}\\n")
def guard(event):
    if event.fields.get("tool_name") == "crash": os.write(2, b"because\\n"); os._exit(7)
    if event.fields.get("tool_name") == "slow": time.sleep(0.5)
    if event.fields.get("tool_name", "").startswith("gate"):
        open("entered", "w").close()
        while not os.path.exists("go"): time.sleep(0.01)
    if event.fields.get("tool_name") == "gate and crash": os._exit(7)
    return Deny(f"VERSION {event.hook_event_name} {os.environ.get('COLOR')} {os.environ.get('HOOKLINE_WORKER')}")
main(guard)
"""


def until(condition: Callable[[], bool]) -> None:
    """Waits until something is so."""
    deadline = time.monotonic() + 45
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def until_in_loop(condition: Callable[[], bool]) -> None:
    """The same while tasks of this loop run."""
    deadline = time.monotonic() + 45
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Workshop:
    """An engine with one worker, on two events."""

    def __init__(self, project: Path, version: str = "one", **options: Any) -> None:
        self.project = project
        self.write(version)
        hook = {
            "type": "command",
            "command": f"{sys.executable} guard.py",
            "worker": True,
            "onError": "block",
            **options,
        }
        groups = [{"hooks": [hook]}]
        self.settings: dict[str, Any] = {"enableHooks": True, "hooks": {"BeforeTool": groups, "AfterTool": groups}}
        self.sink = MemorySink()
        self.hooks: Hooks | None = None

    def write(self, version: str) -> None:
        """Another version of the script."""
        (self.project / "guard.py").write_text(SCRIPT.replace("VERSION", version))

    @contextmanager
    def open(self, **options: Any) -> Iterator[Hooks]:
        """The engine."""
        given = {"settings": self.settings, "environ": dict(os.environ), "log_sinks": [self.sink], **options}
        with Hooks(self.project, **given) as hooks:
            self.hooks = hooks
            yield hooks

    @contextmanager
    def open_untrusted(self, store: Path) -> Iterator[Hooks]:
        """The engine, with the same hooks in the project's settings, which need trust."""
        folder = self.project / ".llxprt"
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps(self.settings))
        with self.open(settings=None, trust_path=store) as hooks:
            system = hooks.config.get_hook_system()
            assert system is not None
            asyncio.run(system.initialize())
            yield hooks

    @property
    def entries(self) -> dict[HookEventName, HookEntry]:
        """Its hooks, by their events."""
        assert self.hooks is not None
        system = self.hooks.config.get_hook_system()
        assert system is not None
        return {hook.event: hook for hook in system.get_all_hooks()}

    async def ask_behind(self, gate: str) -> "tuple[asyncio.Task[Any], asyncio.Task[Any]]":
        """Asks about a tool that the worker holds until the file `go` is there, and about one that waits behind it."""
        assert self.hooks is not None
        system = self.hooks.config.get_hook_system()
        assert system is not None
        session = self.hooks.session()
        first = asyncio.create_task(session.before_tool(gate, {}))
        await until_in_loop((self.project / "entered").exists)
        second = asyncio.create_task(session.before_tool("x", {}))
        running = system.get_event_handler().runner.resources.workers._running
        await until_in_loop(lambda: any(each.worker._waiting for each in running.values()))
        return first, second

    @property
    def started(self) -> list[int]:
        """The processes that were started."""
        file = self.project / "started"
        return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.fixture
def project_dir(tmp_path: Path) -> Path:
    """Where hooks run."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_one_process_serves_events_loops_and_threads(project_dir: Path) -> None:
    """Two loops in a row, the loop of `sync`, and another event: it is started once, and is gone at the end."""
    shop = Workshop(project_dir)
    with shop.open() as hooks:
        session = hooks.session()
        reasons = [asyncio.run(session.before_tool("x", {})).reason for _ in range(2)]
        reasons.append(session.sync.before_tool("x", {}).reason)
        system = hooks.config.get_hook_system()
        assert system is not None
        after = asyncio.run(system.get_event_handler().fire_after_tool_event("x", {}, {}))
        assert reasons == ["one BeforeTool None None"] * 3
        assert after.final_output is not None
        assert after.final_output.get_effective_reason() == "one AfterTool None None"
        assert len(shop.started) == 1
        assert is_alive(shop.started[0])
    until(lambda: not is_alive(shop.started[0]))


@pytest.mark.req("WARM-023")
def test_many_threads_ask_at_once_and_each_event_is_sent_once(project_dir: Path) -> None:
    """The first one sends, the others wait for their turn; every event has a separate answer."""
    shop = Workshop(project_dir)
    script = project_dir / "guard.py"
    script.write_text(
        "from hookline.hook import Deny, main\n"
        "def guard(event):\n"
        "    open('seen', 'a').write(event.tool_name + '\\n')\n"
        "    return Deny(event.tool_name)\n"
        "main(guard)\n"
    )

    async def fire(hooks: Hooks, who: int) -> list[bool]:
        session = hooks.session()
        names = [f"tool-{who}-{number}" for number in range(40)]
        return [(await session.before_tool(name, {})).reason == name for name in names]

    with shop.open() as hooks, ThreadPoolExecutor(4) as threads:
        answered = list(threads.map(lambda who: asyncio.run(fire(hooks, who)), range(4)))
    assert answered == [[True] * 40] * 4
    seen = (project_dir / "seen").read_text().split()
    assert len(seen) == len(set(seen)) == 160


def test_a_script_that_changed_long_after_it_was_written(project_dir: Path) -> None:
    """Its times are enough to see that it is the same, and any other file, even of the same size, is another one."""
    shop = Workshop(project_dir)
    script = project_dir / "guard.py"
    with shop.open() as hooks:
        session = hooks.session().sync
        assert str(session.before_tool("x", {}).reason).startswith("one")
        past = time.time_ns() - 3600 * 10**9
        until(lambda: time.time_ns() - script.stat().st_ctime_ns > 2_100_000_000)
        for _ in range(3):
            assert str(session.before_tool("x", {}).reason).startswith("one")
        assert len(shop.started) == 1
        other = project_dir / "other.py"
        other.write_text(script.read_text().replace("one", "two"))
        os.utime(other, ns=(past, script.stat().st_mtime_ns))
        other.rename(script)
        assert str(session.before_tool("x", {}).reason).startswith("two")
        assert len(shop.started) == 2


def test_a_crash_is_a_failed_hook_and_the_next_event_gets_a_new_process(project_dir: Path) -> None:
    """Its `onError` decides, and the log has the reason."""
    shop = Workshop(project_dir)
    with shop.open() as hooks:
        session = hooks.session().sync
        crashed = session.before_tool("crash", {})
        assert crashed.blocked
        assert "exited with code 7" in str(crashed.reason)
        assert str(session.before_tool("x", {}).reason).startswith("one")
        assert len(shop.started) == 2
    records = [record.to_dict() for record in shop.sink.records]
    (message,) = [each["message"] for each in records if each["kind"] == "worker"]
    assert "exited with code 7" in message
    assert message.endswith(" (because)")


@pytest.mark.req("WARM-022")
@pytest.mark.parametrize(
    ("fallback", "expected"),
    [("cold", "one BeforeTool None None"), ("fail", "failed 3 times within a minute")],
)
def test_three_crashes_in_a_minute(project_dir: Path, fallback: str, expected: str) -> None:
    """Then it is run cold, or fails, as configured."""
    shop = Workshop(project_dir, worker={"fallback": fallback})
    with shop.open() as hooks:
        session = hooks.session().sync
        for _ in range(3):
            session.before_tool("crash", {})
        result = session.before_tool("x", {})
        assert result.blocked
        assert expected in str(result.reason)


@pytest.mark.req("WARM-024")
def test_a_changed_script_is_started_anew(project_dir: Path) -> None:
    """As a command would run the new one at the next event."""
    shop = Workshop(project_dir)
    with shop.open() as hooks:
        session = hooks.session().sync
        session.before_tool("x", {})
        shop.write("two")
        assert str(session.before_tool("x", {}).reason).startswith("two")
        first, second = shop.started
        until(lambda: not is_alive(first))
        assert is_alive(second)
    notes = [record.message for record in shop.sink.records if "so its worker is replaced" in record.message]
    assert notes == [f"{sys.executable} guard.py: {project_dir}/guard.py has changed, so its worker is replaced"]


@pytest.mark.req("WARM-024")
@pytest.mark.parametrize(
    "named",
    [
        pytest.param({"command": f"{sys.executable} guard.py LOG"}, id="behind-the-script"),
        pytest.param({"command": f"{sys.executable} -u guard.py LOG"}, id="with-options"),
        pytest.param({"command": "./guard.py LOG"}, id="behind-a-script-of-its-own"),
        pytest.param({"env": {"GUARD_LOG": "LOG"}}, id="in-its-environment"),
    ],
)
def test_a_file_that_a_worker_writes_is_not_its_program(project_dir: Path, named: dict[str, Any]) -> None:
    """It is named beside the script, and its worker stays all the same."""
    log = project_dir / "guard.log"
    log.write_text("")
    given = json.loads(json.dumps(named).replace("LOG", str(log)))
    shop = Workshop(project_dir, **given)
    script = project_dir / "guard.py"
    text = script.read_text().replace("def guard(event):", f"def guard(event):\n    open({str(log)!r}, 'a').write('x')")
    script.write_text(f"#!{sys.executable}\nopen({str(log)!r}, 'a').write('x')\n{text}")
    script.chmod(0o755)
    with shop.open() as hooks:
        session = hooks.session().sync
        assert [session.before_tool("x", {}).blocked for _ in range(3)] == [True] * 3
    assert len(shop.started) == 1
    assert log.read_text() == "x" * 4


@pytest.mark.req("WARM-024")
@pytest.mark.parametrize(
    "command", [f"{sys.executable} guard.py rules.json", "./with-env.sh guard.py", "flock x.lock ./guard.py"]
)
def test_other_files_that_the_command_names_are_its_program(project_dir: Path, command: str) -> None:
    """Rules that it reads, or a script that another program starts."""
    shop = Workshop(project_dir, command=command)
    script = project_dir / "guard.py"
    script.write_text(f"#!{sys.executable}\n{script.read_text()}")
    (project_dir / "with-env.sh").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for file in (script, project_dir / "with-env.sh"):
        file.chmod(0o755)
    (project_dir / "x.lock").touch()
    (project_dir / "rules.json").write_text("[]")
    with shop.open() as hooks:
        session = hooks.session().sync
        assert str(session.before_tool("x", {}).reason).startswith("one")
        (project_dir / "rules.json").write_text("[1]")
        script.write_text(script.read_text().replace("one", "two"))
        assert str(session.before_tool("x", {}).reason).startswith("two")


@pytest.mark.attack("13.4-6", "a user's hook with the command of the system's worker, and a timeout that it can't meet")
def test_hooks_of_two_layers_share_no_worker(tmp_path: Path, project_dir: Path) -> None:
    """The user's timeouts end a process, and after three of them no other is started; the system's guard continues."""
    shop = Workshop(project_dir)
    script = project_dir / "guard.py"
    script.write_text(script.read_text().replace('== "slow"', '!= "x"'))
    guard = shop.settings["hooks"]["BeforeTool"][0]["hooks"][0]
    paths = SettingsPaths(project=tmp_path / "none", user=tmp_path / "user.json", system=tmp_path / "system.json")
    quick = {**guard, "timeout": 1, "onError": "allow"}
    paths.user.write_text(json.dumps({"enableHooks": True, "hooks": {"Notification": [{"hooks": [quick]}]}}))
    paths.system.write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": [{**guard, "onError": "allow"}]}]}}))
    with shop.open(settings=None, settings_paths=paths) as hooks:
        session = hooks.session().sync
        for _ in range(4):
            assert session.before_tool("x", {}).blocked
            session.notify("kind", "text", {})


def test_a_worker_without_any_time_is_not_started(project_dir: Path) -> None:
    """A timeout of 0 is over at once, as it is for a command."""
    shop = Workshop(project_dir, timeout=0)
    with shop.open() as hooks:
        assert "timed out after 0ms" in str(hooks.session().sync.before_tool("x", {}).reason)
    assert not (project_dir / "started").exists()


def test_a_changed_environment_starts_it_anew(project_dir: Path) -> None:
    """As a command would see the new one at the next event."""
    shop = Workshop(project_dir)
    environ = dict(os.environ)
    with shop.open(environ=environ) as hooks:
        session = hooks.session().sync
        session.before_tool("x", {})
        environ["COLOR"] = "green"
        assert "green" in str(session.before_tool("x", {}).reason)
        assert len(shop.started) == 2


@pytest.mark.req("WARM-024")
def test_an_untrusted_script_ends_its_worker(tmp_path: Path, project_dir: Path) -> None:
    """The hash is asked before each event: a change ends the process, and nothing of it runs again."""
    shop = Workshop(project_dir)
    script = project_dir / "guard.py"
    slow_end = "import atexit, time\natexit.register(lambda: (time.sleep(0.5), open('cleaned', 'w')))\n"
    script.write_text(slow_end + script.read_text())
    store = tmp_path / "trust.json"
    with shop.open_untrusted(store) as hooks:
        session = hooks.session().sync
        assert not session.before_tool("x", {}).blocked
        TrustStore(store).trust(shop.entries.values(), str(project_dir))
        assert session.before_tool("x", {}).blocked
        shop.write("evil")
        assert not session.before_tool("x", {}).blocked
        (pid,) = shop.started
        until(lambda: not is_alive(pid))
    # It had no time to end by itself.
    assert not (project_dir / "cleaned").exists()


@pytest.mark.req("WARM-024")
@pytest.mark.attack("13.2", "a trusted worker's script is replaced while an event waits for the worker")
@pytest.mark.parametrize(
    ("gate", "worker"),
    [
        pytest.param("gate and crash", True, id="started-again-after-a-crash"),
        pytest.param("gate", {"restartAfter": 1}, id="replaced"),
        pytest.param("gate and crash", {"fallback": "cold"}, id="run-cold"),
    ],
)
def test_an_untrusted_script_is_not_started_for_an_event_that_waited(
    tmp_path: Path, project_dir: Path, gate: str, worker: Any
) -> None:
    """Its trust was asked when the script was another one: the event fails, and nothing of the new one runs."""
    shop = Workshop(project_dir, worker=worker)
    store = tmp_path / "trust.json"

    async def use(hooks: Hooks) -> tuple[Any, Any]:
        if worker == {"fallback": "cold"}:
            for _ in range(2):
                await hooks.session().before_tool("crash", {})
        events = await shop.ask_behind(gate)
        (project_dir / "guard.py").write_text("open('evil', 'w').close()\n")
        (project_dir / "go").touch()
        return await events[0], await events[1]

    with shop.open_untrusted(store) as hooks:
        TrustStore(store).trust(shop.entries.values(), str(project_dir))
        _, waited = asyncio.run(use(hooks))
        assert f"was not asked: {project_dir}/guard.py has changed since the hook was checked" in str(waited.reason)
        assert not hooks.session().sync.before_tool("x", {}).blocked
    assert not (project_dir / "evil").exists()


@pytest.mark.req("WARM-024")
@pytest.mark.parametrize("gate", ["gate", "gate and crash"])
def test_an_event_that_waited_gets_the_new_script(project_dir: Path, gate: str) -> None:
    """Where no trust is needed: it is sent to a new process, once."""
    shop = Workshop(project_dir, worker={"restartAfter": 1})

    async def use() -> str:
        events = await shop.ask_behind(gate)
        shop.write("two")
        (project_dir / "go").touch()
        await events[0]
        return str((await events[1]).reason)

    with shop.open():
        assert asyncio.run(use()).startswith("two")
    assert len(shop.started) == 2


def test_a_script_that_changes_while_it_is_started(project_dir: Path) -> None:
    """Then it is unknown which one it is; no event is sent to it, and after three tries the event fails."""
    shop = Workshop(project_dir)
    (project_dir / "guard.py").write_text(
        f"open(__file__, 'a').write('#')\n{SCRIPT}".replace(
            "def guard(event):", "def guard(event):\n    open('sent', 'w')"
        )
    )
    with shop.open() as hooks:
        reason = str(hooks.session().sync.before_tool("x", {}).reason)
        assert f"{project_dir}/guard.py changed while its worker was started, 3 times in a row" in reason
    assert len(shop.started) == 3
    assert not (project_dir / "sent").exists()


def test_a_script_that_changes_once_while_it_is_started(project_dir: Path) -> None:
    """The new one is started, and asked."""
    shop = Workshop(project_dir)
    once = "import os\nif not os.path.exists('once'): open('once', 'w'); open(__file__, 'a').write('#')\n"
    (project_dir / "guard.py").write_text(f"{once}{SCRIPT.replace('VERSION', 'one')}")
    with shop.open() as hooks:
        assert str(hooks.session().sync.before_tool("x", {}).reason).startswith("one")
    assert len(shop.started) == 2


@pytest.mark.req("WARM-024")
def test_an_untrusted_hook_leaves_the_worker_to_a_trusted_one(tmp_path: Path, project_dir: Path) -> None:
    """A hook of another event with the same command needs its own trust; the denies of the first must not be lost."""
    shop = Workshop(project_dir)
    store = tmp_path / "trust.json"
    with shop.open_untrusted(store) as hooks:
        system = hooks.config.get_hook_system()
        assert system is not None
        before, after = shop.entries[HookEventName.BEFORE_TOOL], shop.entries[HookEventName.AFTER_TOOL]

        def fire() -> tuple[bool, bool]:
            is_blocked = hooks.session().sync.before_tool("x", {}).blocked
            later = asyncio.run(system.get_event_handler().fire_after_tool_event("x", {}, {}))
            return is_blocked, bool(later.all_outputs)

        trust = TrustStore(store)
        trust.trust([before], str(project_dir))
        assert [fire(), fire()] == [(True, False)] * 2
        trust.trust([after], str(project_dir))
        assert fire() == (True, True)
        trust.untrust([after], str(project_dir))
        assert [fire(), fire()] == [(True, False)] * 2
        (pid,) = shop.started
        assert is_alive(pid)
        trust.untrust([before], str(project_dir))
        assert fire() == (False, False)
        until(lambda: not is_alive(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="copies a program of the system")
def test_a_replaced_program_of_the_system_is_started_anew(tmp_path: Path, project_dir: Path) -> None:
    """An update of it is no matter of trust, but the old one must not go on for ever."""
    tool = tmp_path / "tool"
    shutil.copy("/bin/sh", tool)
    (project_dir / "guard.sh").write_text(
        "echo $$ >> started; echo '{\"ready\": true}'\n"
        'while read -r line; do id=${line#*\'"id":"\'}; id=${id%%\'"\'*}; echo \'{"id":"\'$id\'","exit":2}\'; done\n'
    )
    shop = Workshop(project_dir, command=f"{tool} guard.sh")
    with shop.open() as hooks:
        session = hooks.session().sync
        assert [session.before_tool("x", {}).blocked for _ in range(2)] == [True, True]
        assert len(shop.started) == 1
        shutil.copy("/bin/sh", tmp_path / "new")
        (tmp_path / "new").rename(tool)
        assert session.before_tool("x", {}).blocked
        assert len(shop.started) == 2


def test_a_link_to_another_of_its_files_is_noticed(project_dir: Path) -> None:
    """The files are the same, and another one is run."""
    shop = Workshop(project_dir, command=f"{sys.executable} now.py one.py two.py")
    for version in ("one", "two"):
        (project_dir / f"{version}.py").write_text(SCRIPT.replace("VERSION", version))
    link = project_dir / "now.py"
    link.symlink_to("one.py")
    with shop.open() as hooks:
        session = hooks.session().sync
        assert str(session.before_tool("x", {}).reason).startswith("one")
        link.unlink()
        link.symlink_to("two.py")
        assert str(session.before_tool("x", {}).reason).startswith("two")


@pytest.mark.parametrize("how", ["a link", "renamed", "a link that follows"])
def test_another_directory_under_the_name_of_the_project(tmp_path: Path, how: str) -> None:
    """A worker runs in the directory that a command would run in, even if its files are all elsewhere."""
    script = tmp_path / "where.py"
    script.write_text("import os\nfrom hookline.hook import Deny, main\nmain(lambda event: Deny(os.getcwd()))\n")
    first, second, link = tmp_path / "first", tmp_path / "second", tmp_path / "link"
    for folder in (first, second):
        folder.mkdir()
    link.symlink_to(first)
    shop = Workshop(first if how == "renamed" else link, command=f"{sys.executable} {script}")
    with shop.open() as hooks:
        session = hooks.session().sync
        assert session.before_tool("x", {}).reason == str(first)
        if how == "a link":
            link.unlink()
            link.symlink_to(second)
            assert session.before_tool("x", {}).reason == str(second)
            return
        first.rename(tmp_path / "third")
        if how == "renamed":
            second.rename(first)
            assert session.before_tool("x", {}).reason == str(first)
        else:
            link.unlink()
            link.symlink_to(tmp_path / "third")
            assert session.before_tool("x", {}).reason == str(tmp_path / "third")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only EOF on stdin ends it")
def test_the_kernel_ends_a_worker_with_its_engine(project_dir: Path) -> None:
    """The request is made before the worker's program begins."""
    shop = Workshop(project_dir)
    (project_dir / "guard.py").write_text(
        "import ctypes\nfrom hookline.hook import Deny, main\nfound = ctypes.c_int()\n"
        "ctypes.CDLL(None).prctl(2, ctypes.byref(found), 0, 0, 0)\n"  # PR_GET_PDEATHSIG
        "main(lambda event: Deny(f'signal {found.value}'))\n"
    )
    with shop.open() as hooks:
        assert hooks.session().sync.before_tool("x", {}).reason == "signal 9"


def test_an_engine_that_nobody_closes_ends_its_worker(project_dir: Path) -> None:
    """When no other hook uses it any more."""
    shop = Workshop(project_dir)
    hooks = Hooks(project_dir, settings=shop.settings)
    asyncio.run(hooks.session().before_tool("x", {}))
    (pid,) = shop.started
    del hooks
    gc.collect()
    until(lambda: not is_alive(pid))


def test_a_closed_engine_starts_none(project_dir: Path) -> None:
    """An event that comes too late fails."""
    shop = Workshop(project_dir)
    with shop.open() as hooks:
        session = hooks.session()
        asyncio.run(session.before_tool("x", {}))
        system = hooks.config.get_hook_system()
        assert system is not None
        system.dispose()
        late = asyncio.run(session.before_tool("x", {}))
        assert late.blocked
        assert len(shop.started) == 1


def test_an_engine_that_is_closed_while_it_is_asked(project_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another thread, say, right before a new process would be started: then none is."""
    shop = Workshop(project_dir)
    with shop.open() as hooks:
        session = hooks.session()
        asyncio.run(session.before_tool("x", {}))
        shop.write("two")
        look_at = Fingerprinter.signatures

        def close_meanwhile(self: Fingerprinter, *arguments: Any) -> object:
            hooks.close()
            return look_at(self, *arguments)

        monkeypatch.setattr(Fingerprinter, "signatures", close_meanwhile)
        late = asyncio.run(session.before_tool("x", {}))
        assert "was not asked: the engine and its workers are closed" in str(late.reason)
    assert len(shop.started) == 1
    assert "hookline-workers" not in [thread.name for thread in threading.enumerate()]


def test_a_forked_program_leaves_the_worker_to_its_parent(project_dir: Path) -> None:
    """It holds no pipe of it open, and starts its own."""
    shop = Workshop(project_dir)
    with shop.open() as hooks:
        asyncio.run(hooks.session().before_tool("x", {}))
        theirs = {str(file.readlink()) for file in Path(f"/proc/{shop.started[0]}/fd").iterdir()}
        pipes = {name for name in theirs if name.startswith("pipe:")}
        assert pipes
        child = os.fork()
        if not child:
            code = 1
            try:
                if pipes & {each.partition(" ")[2] for each in descriptors()}:
                    os._exit(3)
                reason = asyncio.run(hooks.session().before_tool("x", {})).reason
                code = 0 if str(reason).startswith("one") else 2
                hooks.close()
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert str(asyncio.run(hooks.session().before_tool("x", {})).reason).startswith("one")
        assert len(shop.started) == 2
        assert is_alive(shop.started[0])


def test_a_cancelled_event_does_not_disturb_the_next(project_dir: Path) -> None:
    """Its answer is dropped."""
    shop = Workshop(project_dir)

    async def main(hooks: Hooks) -> str:
        session = hooks.session()
        await session.before_tool("x", {})
        task = asyncio.create_task(session.before_tool("slow", {}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return str((await session.before_tool("x", {})).reason)

    with shop.open() as hooks:
        assert asyncio.run(main(hooks)).startswith("one")
        assert len(shop.started) == 1


@pytest.mark.req("WARM-014")
def test_memory_descriptors_and_processes_are_flat(project_dir: Path) -> None:
    """Over some hundred events; `make faults` has ten thousand of them."""
    look(project_dir, 300)


@pytest.mark.req("WARM-014")
@pytest.mark.slow
@pytest.mark.timeout(1000)
def test_ten_thousand_events_in_a_row(project_dir: Path) -> None:
    """Neither this program nor the worker grows."""
    look(project_dir, 10_000)


MEASURED = """
import gc, os, tracemalloc
tracemalloc.start()
from hookline.hook import Deny, main
open("started", "a").write(f"{os.getpid()}\\n")
def guard(event):
    if not event.tool_name.startswith("size"): return Deny("no")
    gc.collect()
    return Deny(str(tracemalloc.get_traced_memory()[0]))
main(guard)
"""


def look(project_dir: Path, count: int) -> None:
    """Fires events, and compares before and after."""
    shop = Workshop(project_dir)
    (project_dir / "guard.py").write_text(MEASURED)
    log = project_dir / "log.jsonl"
    shop.settings["hooksConfig"] = {"log": {"path": str(log)}}
    with shop.open(log_sinks=()) as hooks, traced():
        session = hooks.session()
        names = map("size-{}-".format, itertools.count())

        async def fire(times: int) -> None:
            for _ in range(times):
                await session.before_tool("x", {})

        def usage() -> tuple[int, int]:
            """The bytes that this program and the worker use, when the log's thread has nothing left to write."""
            for name in (next(names), next(names)):  # the first ends whatever it has collected
                theirs = int(str(asyncio.run(session.before_tool(name, {})).reason))
                until(lambda name=name: name.encode() in log.read_bytes()[-8192:])  # type: ignore[misc]
            gc.collect()
            return tracemalloc.get_traced_memory()[0], theirs

        asyncio.run(fire(300))  # more than anything here remembers
        opened, before = descriptors(), usage()
        grown: list[int] = []
        # Less than the id of each event. Threads of other tests may use more from one moment on; a leak grows.
        most = max(24 * count, 8192)
        while len(grown) < 4 and (not grown or grown[-1] >= most):
            asyncio.run(fire(count))
            now = usage()
            grown.append(max(late - early for late, early in zip(now, before, strict=True)))
            before = now
        assert grown[-1] < most, grown
        assert len(shop.started) == 1
        # Files of other tests' threads come and go.
        until(lambda: {each for each in descriptors() - opened if " /" not in each} == set())
