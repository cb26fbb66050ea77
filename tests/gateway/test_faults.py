"""Faults on either side give clean errors: nothing hangs, and no process is left."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.answers import says
from tests.gateway.conftest import ECHO, ROUGH, Raw, hook, is_gone, official_http_server, specific

pytestmark = pytest.mark.timeout(60)

CLIENT = {"name": "test", "version": "1"}
DENY_ALL = {"BeforeTool": [hook(says({"decision": "deny", "reason": "no"}), "mcp__demo__bad")]}


def wait_for(path: Path) -> str:
    """The content of a file, once it is there."""
    while not path.exists() or not path.read_text().endswith("\n"):
        pass
    return path.read_text().strip()


def test_the_server_dies(raw: Callable[..., Raw]) -> None:
    """All that waits is answered with an error that says why, and the gateway ends with exit code 1."""
    client = raw("list(zip(range(3), sys.stdin))\nsys.exit(7)\n", {"BeforeTool": [hook("sleep 60", "mcp__demo__slow")]})
    client.call("hook", "slow")
    client.call("call", "x")
    client.request("list", "tools/list")
    client.request("other", "resources/list")
    answers = {answer["id"]: answer["error"] for answer in (client.read() for _ in range(4))}
    text = "the MCP server demo has ended with exit code 7"
    assert answers == {name: {"code": -32000, "message": text} for name in ("hook", "call", "list", "other")}
    assert client.process.wait(45) == 1
    assert text in client.leave()[1]


def test_a_result_is_still_judged_after_the_server_has_died(raw: Callable[..., Raw]) -> None:
    """The last answer of a server is not lost with it, and not passed without its hooks either."""
    events = {"AfterTool": [hook("sleep 0.3; " + says(specific(tool_output="[hidden]")))]}
    client = raw("for request in requests():\n    answer(request, 'secret')\n    sys.exit(0)\n", events)
    client.call(1, "x")
    assert client.read()["result"]["content"] == [{"type": "text", "text": "[hidden]"}]


@pytest.mark.parametrize("words", [("no-such-program",), ("/",)], ids=["missing", "directory"])
def test_a_server_that_cannot_be_started(gateway: Callable[..., list[str]], words: tuple[str, ...]) -> None:
    """One line says what is wrong."""
    done = subprocess.run(gateway({}, *words), input=b"", capture_output=True, timeout=45, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"hookline: the MCP server demo can't be started: {words[0]}: ")
    assert done.stdout == b""


def test_an_address_where_nobody_answers(gateway: Callable[..., list[str]]) -> None:
    """The request gets an error, and the gateway ends."""
    client = Raw(gateway({}, "--url", "http://127.0.0.1:9/mcp"))
    client.request(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
    answer = client.read()
    assert (answer["id"], answer["error"]["code"]) == (1, -32000)
    assert "the MCP server demo can't be reached" in answer["error"]["message"]
    assert client.process.wait(45) == 1
    client.leave()


def test_a_server_with_an_address_dies(gateway: Callable[..., list[str]], tmp_path: Path) -> None:
    """The call that it works on gets an error, and so does the next one; then the gateway ends."""
    with official_http_server() as (url, server):
        client = Raw(gateway({}, "--url", url))
        client.request(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=CLIENT)
        assert client.read()["result"]["serverInfo"]["name"] == "demo"
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        client.call(2, "wait", path=str(tmp_path / "started"))
        wait_for(tmp_path / "started")
        server.kill()
        answer = client.read()
        assert (answer["id"], answer["error"]["code"]) == (2, -32000)
        client.call(3, "add", a=1, b=2)
        answer = client.read()
        assert (answer["id"], answer["error"]["code"]) == (3, -32000)
        assert client.process.wait(45) == 1
        client.leave()


def test_a_cancelled_call_in_a_hook(raw: Callable[..., Raw], tmp_path: Path) -> None:
    """The hook ends, the server never hears of the call, and no answer comes late."""
    pid = tmp_path / "pid"
    heard = tmp_path / "heard"
    code = (
        f"for request in requests():\n    Path({str(heard)!r}).open('a').write(json.dumps(request))\n"
        "    if 'id' in request: answer(request, 'ok')\n"
    )
    client = raw(code, {"BeforeTool": [hook(f"echo $$ > {pid}; exec sleep 60", "mcp__demo__slow")]})
    client.call(1, "slow")
    hook_pid = int(wait_for(pid))
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert is_gone(hook_pid)
    client.request(2, "resources/list")
    assert client.read()["id"] == 2
    assert client.leave()[0] == 0
    assert json.loads(heard.read_text())["method"] == "resources/list"


def test_a_cancelled_call_in_the_server(raw: Callable[..., Raw]) -> None:
    """The server gets the cancellation, and its late answer is dropped."""
    code = "for request in requests():\n    if 'cancelled' in request['method']:\n        answer(first, 'late')\n"
    client = raw(code + "    elif request['id'] == 1: first = request\n    else: answer(request, 'ok')\n", DENY_ALL)
    client.call(1, "x")
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    client.call(2, "x")
    assert client.read()["id"] == 2
    assert "an answer without a pending request" in client.leave()[1]


def test_a_slow_hook_holds_up_nothing(raw: Callable[..., Raw]) -> None:
    """Other calls are answered while a hook waits, and its timeout ends it."""
    events = {"BeforeTool": [hook("sleep 60", "mcp__demo__slow", timeout=1500, onError="block")]}
    client = raw(ECHO, events)
    client.call(1, "slow")
    client.call(2, "fast")
    client.request(3, "tools/list")
    assert {client.read()["id"], client.read()["id"]} == {2, 3}
    late = client.read()
    assert (late["id"], late["result"]["isError"]) == (1, True)


STUBBORN = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
stray = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
Path(sys.argv[0] + ".pids").write_text(f"{os.getpid()} {child.pid} {stray.pid}\\n")
while True:
    time.sleep(60)
"""


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize("how", ["eof", "SIGTERM", "SIGINT", "SIGHUP"])
def test_no_process_is_left(raw: Callable[..., Raw], tmp_path: Path, how: str) -> None:
    """A server that ignores everything is killed with its children, in bounded time; hooks that run also end."""
    pid = tmp_path / "pid"
    client = raw(STUBBORN, {"BeforeTool": [hook(f"echo $$ > {pid}; exec sleep 60")]})
    client.call(1, "x")
    pids = [int(word) for word in wait_for(tmp_path / "server.py.pids").split()]
    pids.append(int(wait_for(pid)))
    if how == "eof":
        assert client.leave()[0] == 0
    else:
        client.process.send_signal(getattr(signal, how))
        assert client.process.wait(45) == 128 + getattr(signal, how)
    assert all(is_gone(pid) for pid in pids)


def test_the_client_vanishes(raw: Callable[..., Raw], tmp_path: Path) -> None:
    """When no process reads the gateway's stdout any more, the server is ended."""
    client = raw(f"Path({str(tmp_path / 'pid')!r}).write_text(f'{{os.getpid()}}\\n')\n" + ECHO)
    pid = int(wait_for(tmp_path / "pid"))
    assert client.process.stdout is not None
    client.process.stdout.close()
    client.request(1, "resources/list")
    assert client.process.wait(45) == 0
    assert is_gone(pid)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(b"nonsense\n", -32700, id="no-json"),
        pytest.param(b'{"id":1,"method":"tools/call","params":{"name":"bad"\n', -32700, id="cut"),
        pytest.param(b"5\n", -32700, id="number"),
        pytest.param(b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32700, id="id-object"),
        pytest.param(b'{"jsonrpc":"2.0","id":null,"method":"tools/call"}\n', -32600, id="id-null"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}\n', -32602, id="params-list"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}\n', -32602, id="no-name"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}\n', -32602, id="name-5"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","Name":"bad"}}\n', -32602, id="case"
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\xff"}}\n', -32602, id="no-utf-8"
        ),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * 9999, -32700, id="deep"),
    ],
)
def test_messages_that_cannot_be_read(raw: Callable[..., Raw], sent: bytes, code: int) -> None:
    """They get an error and never reach the server, and the next message is answered as usual."""
    client = raw(ECHO, DENY_ALL)
    client.send(sent if sent.endswith(b"\n") else sent + b"\n")
    assert client.read()["error"]["code"] == code
    client.call("next", "x")
    assert client.read()["id"] == "next"


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"bad"}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","name":"bad"}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bad"},"Method":"ping"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"\\u0074ools/call","params":{"name":"b\\u0061d"}}\n',
        b'[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bad"}}]\n',
        b'{"jsonrpc":"2.0","id":1,\r"method":"tools/call","params":{"name":"bad"}}\r\n',
    ],
    ids=["method-twice", "name-twice", "method-in-capitals", "escapes", "batch", "carriage-return"],
)
def test_no_spelling_gets_past_a_guard(raw: Callable[..., Raw], line: bytes) -> None:
    """The guard judges what the server would read."""
    client = raw(ECHO, DENY_ALL)
    client.send(line)
    assert client.read()["result"] == {
        "content": [{"type": "text", "text": "no"}],
        "isError": True,
        "resultType": "complete",
    }


def test_what_the_server_gets_has_each_member_once(raw: Callable[..., Raw]) -> None:
    """A server that reads the first of two members reads the one that was judged."""
    client = raw("for line in sys.stdin:\n    send({'jsonrpc': '2.0', 'id': 1, 'result': {'line': line}})\n", DENY_ALL)
    client.send(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","METHOD":1,"params":{"name":"bad","name":"x"},"id":1}\n'
    )
    assert json.loads(client.read()["result"]["line"]) == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "x"},
    }


def test_a_call_without_an_id_does_not_run(raw: Callable[..., Raw]) -> None:
    """A notification could not be refused, so it is dropped, and that is reported."""
    client = raw(ECHO, DENY_ALL)
    client.send({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "bad"}})
    client.call(2, "x")
    assert client.read()["id"] == 2
    assert "tools/call without an id" in client.leave()[1]


def test_an_id_that_is_in_use(raw: Callable[..., Raw]) -> None:
    """The second request is refused, and the first is answered as usual."""
    client = raw("for request in requests():\n    time.sleep(0.3)\n    answer(request, request['params']['name'])\n")
    client.call(1, "first")
    client.call(1, "second")
    refused, answered = client.read(), client.read()
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert answered["result"]["content"][0]["text"] == "first"


REDACT = {"AfterTool": [hook("sleep 0.3; " + says(specific(tool_output="[hidden]")))]}


@pytest.mark.parametrize(
    "code",
    [
        "answer(request, 'secret'); answer(request, 'secret')",
        "answer({'id': str(request['id'])}, 'secret'); answer(request, 'secret')",
        "send({'jsonrpc':'2.0','id':1,'method':'x','result':{'content':[]}}); answer(request, 'secret')",
        "send([{'jsonrpc':'2.0','id':1,'result':{'content':[{'type':'text','text':'secret'}]}}])",
        "send({'id':1,'result':{'resultType':'input_required','content':[{'type':'text','text':'secret'}]}})",
        "send({'jsonrpc':'2.0','id':1,'result':{'toolResult':'secret'}})",
        "send({'jsonrpc':'2.0','id':1,'result':{'content':[],'structuredContent':{'a':'secret'}}})",
        "send({'jsonrpc':'2.0','id':1,'error':{'code':1,'message':'secret','data':'secret'}})",
        "send({'id':1,'result':{'content':[{'type':'resource','resource':{'text':'secret'}}],'_meta':{'x':'secret'}}})",
    ],
    ids=["twice", "other-id", "with-method", "batch", "input", "old-form", "structured", "error", "resource"],
)
def test_no_answer_gets_past_a_redaction(raw: Callable[..., Raw], code: str) -> None:
    """The client gets an answer without the secret, in any form that the server gives it."""
    client = raw(f"for request in requests():\n    {code}\n", REDACT)
    client.call(1, "x")
    answer = client.read()
    assert "[hidden]" in json.dumps(answer)
    stdout, _ = client.process.communicate(timeout=45)
    assert "secret" not in json.dumps(answer) + stdout.decode()


def test_results_of_tasks_are_judged(raw: Callable[..., Raw]) -> None:
    """A call that the server runs as a task has its AfterTool hooks when the result is fetched."""
    code = """
for request in requests():
    result = {"content": [{"type": "text", "text": "secret"}]}
    if request["method"] == "tools/call":
        result = {"task": {"taskId": "t1", "status": "working"}}
        send({"jsonrpc": "2.0", "method": "notifications/tasks", "params": {"taskId": "t1", "result": "secret"}})
    elif request["method"] == "tasks/get":
        result = {"taskId": "t1", "status": "completed", "result": result}
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})
"""
    client = raw(code, REDACT)
    client.request(1, "tools/call", name="x", task={})
    hidden = {"content": [{"type": "text", "text": "[hidden]"}]}
    notice, created = sorted((client.read(), client.read()), key=lambda message: "id" in message)
    assert created["result"]["task"]["taskId"] == "t1"
    client.request(2, "tasks/get", taskId="t1")
    client.request(3, "tasks/result", taskId="t1")
    fetched = {answer["id"]: answer["result"] for answer in (client.read(), client.read())}
    assert fetched == {2: {"taskId": "t1", "status": "completed", "result": hidden}, 3: hidden}
    assert notice["method"] == "notifications/tasks"


def test_a_server_that_writes_nonsense(raw: Callable[..., Raw]) -> None:
    """Lines that are not messages are reported on stderr, harmless for a terminal, and not passed on."""
    code = "print('starting\\x1b[2J', flush=True)\nsys.stderr.buffer.write(b'warm\\x1b[2J\\xff up\\n')\n"
    client = raw(code + ECHO)
    client.request(1, "ping")
    assert client.read()["id"] == 1
    stderr = client.leave()[1]
    assert "wrote a line to stdout that is not a message" in stderr
    assert "hookline: [demo] warm\\x1b[2J\ufffd up\n" in stderr
    assert "\x1b" not in stderr


def test_a_server_that_does_not_read(raw: Callable[..., Raw]) -> None:
    """A client that writes faster than the server reads waits, and nothing is lost."""
    client = raw("time.sleep(0.5)\nfor request in requests():\n    answer(request, 'ok')\n")
    for number in range(50):
        client.request(number, "x", text="y" * 20_000)
    assert [client.read()["id"] for _ in range(50)] == list(range(50))


def test_files_as_stdin_and_stdout(gateway: Callable[..., list[str]], tmp_path: Path) -> None:
    """Requests from a file are answered, even if the file ends at once."""
    server = tmp_path / "server.py"
    server.write_text(
        "import json, sys\nfor line in sys.stdin:\n    request = json.loads(line)\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': request['id'], 'result': {}}), flush=True)\n"
    )
    (tmp_path / "in").write_text('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}')
    words = gateway({"BeforeTool": [hook("sleep 0.2")]}, sys.executable, str(server))
    with (tmp_path / "in").open() as stdin, (tmp_path / "out").open("w") as stdout:
        assert subprocess.run(words, stdin=stdin, stdout=stdout, timeout=45, check=False).returncode == 0
    assert json.loads((tmp_path / "out").read_text()) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def echoing(project: Path, tmp_path: Path) -> Raw:
    """A client of the gateway in front of a server that echoes, with the settings from their usual places."""
    (tmp_path / "server.py").write_text(ROUGH + ECHO)
    own = ["--name", "demo", "--project", str(project)]
    return Raw([sys.executable, "-m", "hookline", "mcp", *own, "--", sys.executable, str(tmp_path / "server.py")])


@pytest.mark.parametrize("on_fault", ["allow", "block"])
def test_settings_that_cannot_be_read(own_home: Path, project: Path, tmp_path: Path, on_fault: str) -> None:
    """`onFault` of the user's settings decides about calls while the project's can't be read."""
    for folder, text in (
        (own_home, json.dumps({"enableHooks": True, "hooksConfig": {"onFault": on_fault}})),
        (project, "{"),
    ):
        (folder / ".llxprt").mkdir()
        (folder / ".llxprt" / "settings.json").write_text(text)
    client = echoing(project, tmp_path)
    client.call(1, "x")
    assert client.read()["result"].get("isError", False) is (on_fault == "block")
    assert "settings.json" in client.leave()[1]


def test_a_hook_that_can_never_run(own_home: Path, project: Path, tmp_path: Path) -> None:
    """Mistakes in a hook, such as the name of its event, are reported on stderr: no other output would show them."""
    (own_home / ".llxprt").mkdir()
    settings = {"enableHooks": True, "hooks": {"BeforeTol": [hook("exit 2")]}}
    (own_home / ".llxprt" / "settings.json").write_text(json.dumps(settings))
    client = echoing(project, tmp_path)
    client.call(1, "x")
    assert "result" in client.read()
    assert client.leave()[1].count("hooks.BeforeTol is not an event, so its hooks do not run") == 1


def test_a_project_that_is_not_trusted(project: Path, tmp_path: Path) -> None:
    """Its hooks don't run, and stderr reports that with the remedy."""
    (project / ".llxprt").mkdir()
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [hook(says({"decision": "deny", "reason": "no"}))]}}
    (project / ".llxprt" / "settings.json").write_text(json.dumps(settings))
    client = echoing(project, tmp_path)
    client.call(1, "x")
    assert "isError" not in client.read()["result"]
    assert "hookline trust" in client.leave()[1]
