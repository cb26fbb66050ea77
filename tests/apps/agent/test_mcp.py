"""MCP servers as real programs: one made with the official package, and small ones with bad manners."""

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp  # noqa: F401 - its loading takes long, and is no part of any test's time
import pytest

from hookline import Config
from hookline.apps.agent.approval.approver import Approval, ApprovalRequest, Permissions, UserReply
from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.events import AgentEvent, Notice
from hookline.apps.agent.mcp.client import connected_mcp_servers
from hookline.apps.agent.mcp.settings import McpServer, configured_servers
from hookline.apps.agent.scheduler import ToolScheduler
from hookline.apps.agent.tool import AgentCall, CallStatus
from hookline.apps.agent.toolbox import ToolBox
from hookline.client.triggers.results import ToolResult
from hookline.settings.read.paths import SettingsPaths

OFFICIAL = """
import os, sys
from pathlib import Path
from mcp.server.mcpserver import MCPServer, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

Path(sys.argv[1]).write_text(str(os.getpid()))
server = MCPServer("demo")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> str:
    "Adds two numbers."
    return str(a + b)

@server.tool()
def fail() -> str:
    raise ToolError("no luck")

@server.tool()
def where() -> str:
    names = [name for name in ("SECRET", "HOOKLINE_RUN") if name in os.environ]
    return os.getcwd() + " " + os.environ["MARK"] + " " + " ".join(names)

@server.tool()
def picture() -> Image:
    return Image(data=b"png!", format="png")

server.run()
"""

# A server in a few lines of the protocol's first version; `TRICK` says how it misbehaves.
ROUGH = """
import json, os, sys, time

def answer(request, result):
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)

trick = os.environ.get("TRICK", "")
if trick == "exits":
    sys.exit("cannot find my licence")
for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if trick == "silent":
        continue
    if trick == "noisy":
        print("starting up, please wait", flush=True)
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        answer(request, {"protocolVersion": version, "capabilities": {"tools": {}},
                         "serverInfo": {"name": "rough", "version": "1"}})
    elif method == "tools/list":
        tools = [{"name": "odd name!", "inputSchema": {"type": "object"}},
                 {"name": "bad", "inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}}}]
        answer(request, {"tools": tools})
    elif method == "tools/call":
        if trick == "dies":
            os._exit(3)
        if trick == "hangs":
            continue
        answer(request, {"content": [{"type": "text", "text": "did it"}]})
    elif "id" in request:
        error = {"code": -32601, "message": "Method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
"""


# The client gives up a server that does not end in time, on a busy machine too, and Python warns of its transport when
# that is collected: here, and not in whichever test runs then.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Whatever a test leaves is collected with it."""
    yield
    gc.collect()


@dataclass
class Session:
    """An agent's tools with MCP servers, and what a person was told."""

    config: Config
    connect_s: float = 45.0
    toolbox: ToolBox = field(default_factory=ToolBox)
    events: list[AgentEvent] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[ToolScheduler]:
        """Runs with the servers, and closes them."""
        background = BackgroundHooks()
        scheduler = ToolScheduler(
            config=self.config,
            toolbox=self.toolbox,
            permissions=Permissions(config=self.config, person=self._approve, background=background),
            on_change=lambda _call: None,
        )
        async with connected_mcp_servers(self.config, self.toolbox, self.events.append, connect_s=self.connect_s):
            try:
                yield scheduler
            finally:
                await background.drain(5)

    def call(self, *calls: AgentCall) -> list[AgentCall]:
        """What became of these calls in a session of their own; nothing of it is left afterwards."""

        async def session() -> list[AgentCall]:
            async with self.connected() as scheduler:
                finished = await scheduler.run(calls)
            assert len(asyncio.all_tasks()) == 1
            return finished

        return asyncio.run(session())

    def notes(self) -> list[str]:
        """What a person was told."""
        return [event.text for event in self.events if isinstance(event, Notice)]

    async def _approve(self, request: ApprovalRequest) -> UserReply:
        self.questions.append(request.what)
        return UserReply(Approval.ALLOW_ONCE)


def session_of(project: Path, servers: Mapping[str, Any], **settings: Any) -> Session:
    return Session(Config(project, session_id="s", settings={"mcpServers": servers, **settings}))


@pytest.fixture
def rough(tmp_path: Path) -> Path:
    path = tmp_path / "rough.py"
    path.write_text(ROUGH)
    return path


def rough_server(rough: Path, trick: str = "", **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-I", "-S", str(rough)], "env": {"TRICK": trick}, **more}


def call(name: str, number: int = 1, **arguments: Any) -> AgentCall:
    return AgentCall(id=str(number), name=name, arguments=arguments)


def is_gone(pid: int) -> bool:
    deadline = time.monotonic() + 45
    while time.monotonic() < deadline:
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.req("HOOK-014", "HOOK-025")
def test_tools_of_a_server(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are offered, checked, approved, run between their hooks, and the server is gone in the end."""
    monkeypatch.setenv("SECRET", "mine")
    script, pid = tmp_path / "server.py", tmp_path / "pid"
    script.write_text(OFFICIAL)
    record = f"printf '%s\\n' \"$(cat)\" >> {tmp_path}/events"
    session = session_of(
        project,
        {"demo": {"command": sys.executable, "args": [str(script), str(pid)], "env": {"MARK": "here"}}},
        enableHooks=True,
        hooks={"BeforeTool": [{"matcher": "^mcp__demo__add$", "hooks": [{"type": "command", "command": record}]}]},
    )
    added, invalid, failed, where, picture = session.call(
        call("mcp__demo__add", 1, a=2, b=3),
        call("mcp__demo__add", 2, a="two"),
        call("mcp__demo__fail", 3),
        call("mcp__demo__where", 4),
        call("mcp__demo__picture", 5),
    )
    assert (added.status, added.result) == (CallStatus.SUCCESS, ToolResult(llm_content="5", return_display="5"))
    assert invalid.result is not None
    assert invalid.result.error == (
        "mcp__demo__add was not run: 'b' is a required property; a: 'two' is not of type 'integer'."
        " mcp__demo__add takes a, b."
    )
    assert failed.result is not None
    assert failed.result.error == "Error executing tool fail: no luck"
    assert where.result is not None
    assert where.result.llm_content == f"{project} here HOOKLINE_RUN"
    assert picture.result == ToolResult(
        llm_content=[{"inlineData": {"mimeType": "image/png", "data": "cG5nIQ=="}}], return_display="[1 attachment]"
    )
    assert session.questions[0] == "call add of the MCP server demo"
    (event,) = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert event["mcp_context"] == {
        "server_name": "demo",
        "command": sys.executable,
        "args": [str(script), str(pid)],
        "tool_name": "add",
    }
    assert session.notes() == []
    assert [tool.is_read_only for tool in session.toolbox] == [True, False, False, False]
    assert is_gone(int(pid.read_text()))


def test_older_servers_are_understood(project: Path, rough: Path) -> None:
    """One of the protocol's first version works, odd names are mended, and an unusable tool costs only itself."""
    session = session_of(project, {"my server": rough_server(rough, trust=True)})
    (done,) = session.call(call("mcp__my_server__odd_name_"))
    assert done.result == ToolResult(llm_content="did it", return_display="did it")
    assert session.questions == []
    note = (
        "The MCP server my server offers a tool that can't be used: the schema of mcp__my_server__bad is not valid: "
        "'nonsense' is not valid under any of the given schemas."
    )
    assert session.notes() == [note]


@pytest.mark.parametrize(
    ("server", "note"),
    [
        pytest.param({"command": "/no/such/program"}, "No such file or directory", id="missing-program"),
        pytest.param(
            {"url": "http://me:secret@127.0.0.1:9/mcp?key=secret"},
            "server broken at http://127.0.0.1:9 could not be used, so its tools are missing: ",
            id="no-listener",
        ),
        pytest.param("exits", "cannot find my licence", id="exits-at-once"),
    ],
)
def test_a_server_that_does_not_start(project: Path, rough: Path, server: Any, note: str) -> None:
    """It costs its tools and a note that says why; the others are there."""
    broken = rough_server(rough, server) if isinstance(server, str) else server
    session = session_of(project, {"broken": broken, "fine": rough_server(rough)})
    (done,) = session.call(call("mcp__fine__odd_name_"))
    assert done.status is CallStatus.SUCCESS
    assert [text for text in session.notes() if "server broken" in text and note in text] == session.notes()[:1]


def test_a_server_that_is_silent(project: Path, rough: Path) -> None:
    """It is not waited for longer than the time to connect, and its program is ended."""
    session = session_of(project, {"mute": rough_server(rough, "silent"), "fine": rough_server(rough)})
    session.connect_s = 1.5
    began = time.monotonic()
    (done,) = session.call(call("mcp__fine__odd_name_"))
    assert done.status is CallStatus.SUCCESS
    assert session.notes()[0] == "The MCP server mute did not answer within 1.5 seconds, so its tools are missing."
    assert time.monotonic() - began < 15


def test_a_server_that_dies(project: Path, rough: Path) -> None:
    """The call that killed it fails, its tools are gone, and a person is told once."""
    session = session_of(project, {"frail": rough_server(rough, "dies")})
    first, second = session.call(call("mcp__frail__odd_name_", 1), call("mcp__frail__odd_name_", 2))
    assert first.result is not None
    assert first.result.error == "The MCP server frail ended while odd name! was running."
    assert second.result is not None
    assert second.result.error == "The MCP server frail has ended, so odd name! was not run."
    assert session.toolbox.names() == ()
    assert session.notes()[1:] == ["The MCP server frail has ended."]


def test_a_call_that_hangs(project: Path, rough: Path) -> None:
    """It is given up after the server's time; the server stays."""
    session = session_of(project, {"slow": rough_server(rough, "hangs", timeout=300)})
    (done,) = session.call(call("mcp__slow__odd_name_"))
    assert done.result is not None
    assert done.result.error == "odd name! did not answer within 0.3 seconds; it may or may not have had an effect."
    assert session.toolbox.names() == ("mcp__slow__odd_name_",)


def test_a_server_that_prints_nonsense(project: Path, rough: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is not the protocol is passed over, and does not appear between the agent's lines."""
    session = session_of(project, {"loud": rough_server(rough, "noisy")})
    (done,) = session.call(call("mcp__loud__odd_name_"))
    assert done.status is CallStatus.SUCCESS
    assert capfd.readouterr() == ("", "")


def test_cancelling_a_connection_leaves_nothing(project: Path, rough: Path) -> None:
    """Ctrl-C while servers start ends them."""
    session = session_of(project, {"mute": rough_server(rough, "silent")})

    async def interrupted() -> None:
        async with asyncio.timeout(0.5), session.connected():
            pytest.fail("a silent server was connected to")

    with pytest.raises(TimeoutError):
        asyncio.run(interrupted())
    assert session.notes() == []


def test_no_server_loads_nothing(project: Path) -> None:
    """Who has no servers does not pay for the package."""
    code = (
        "import asyncio, sys\n"
        "from hookline import Config\n"
        "from hookline.apps.agent.mcp.client import connected_mcp_servers\n"
        "from hookline.apps.agent.toolbox import ToolBox\n"
        f"servers = connected_mcp_servers(Config({str(project)!r}, settings={{}}), ToolBox(), print)\n"
        "asyncio.run(servers.__aenter__())\n"
        "sys.exit('mcp' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_project_cannot_start_programs(tmp_path: Path, project: Path) -> None:
    """What a repository's own settings name is not started, and that is said; the user's own servers are used."""
    own, user = project / ".llxprt" / "settings.json", tmp_path / "user.json"
    own.parent.mkdir()
    own.write_text('{"mcpServers": {"evil": {"command": "evil"}, "both": {"command": "evil"}}}')
    user.write_text('{"mcpServers": {"both": {"command": "mine", "args": ["-x"], "cwd": "sub"}}}')
    paths = SettingsPaths(project=own, user=user, system=tmp_path / "none.json")
    servers, notes = configured_servers(Config(project, settings_paths=paths).get_layers())
    assert servers == [McpServer(name="both", command="mine", args=("-x",), cwd="sub")]
    assert servers[0].described() == {"server_name": "both", "command": "mine", "args": ["-x"], "cwd": "sub"}
    assert [note.partition("mcpServers.")[2] for note in notes] == [
        f"{name} is ignored: a project's own file can't start programs; copy the entry to your user settings "
        "if you trust it, or name the file with --settings"
        for name in ("evil", "both")
    ]


def test_a_file_that_was_named_is_trusted(project: Path, tmp_path: Path) -> None:
    """Naming a settings file means trusting it; the first one that names a server counts."""
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text('{"mcpServers": {"s": {"url": "http://localhost/mcp"}}}')
    second.write_text('{"mcpServers": {"s": {"command": "other"}}}')
    servers, notes = configured_servers(Config(project, settings_files=[first, second]).get_layers())
    assert servers == [McpServer(name="s", url="http://localhost/mcp")]
    assert servers[0].described() == {"server_name": "s", "url": "http://localhost/mcp"}
    assert notes == []


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        pytest.param([], "it is an array, expected an object with command or url", id="no-object"),
        pytest.param(
            {}, "it needs either command (a program to start) or url (a server that runs already)", id="empty"
        ),
        pytest.param(
            {"command": "a", "url": "b"},
            "it needs either command (a program to start) or url (a server that runs already)",
            id="both",
        ),
        pytest.param({"command": ["a"]}, "command must be a string", id="command"),
        pytest.param({"command": "a", "args": "b"}, "args must be a list of strings", id="args"),
        pytest.param({"command": "a", "env": {"A": 1}}, "env must be an object whose values are strings", id="env"),
        pytest.param(
            {"command": "a", "timeout": True}, "timeout must be a number of milliseconds above 0", id="timeout"
        ),
        pytest.param({"command": "a", "trust": "yes"}, "trust must be true or false", id="trust"),
    ],
)
def test_an_entry_that_cannot_be_used(project: Path, entry: Any, said: str) -> None:
    """One bad entry costs one entry."""
    settings = {"mcpServers": {"bad": entry, "good": {"command": "x"}}}
    servers, notes = configured_servers(Config(project, settings=settings).get_layers())
    assert [server.name for server in servers] == ["good"]
    assert notes == [f"settings given in code: mcpServers.bad is ignored: {said}"]


def test_settings_that_are_no_object(project: Path) -> None:
    """The person is told, and nothing is started."""
    assert configured_servers(Config(project, settings={"mcpServers": 3}).get_layers()) == (
        [],
        ["settings given in code: mcpServers is a number, expected an object; it is ignored"],
    )
