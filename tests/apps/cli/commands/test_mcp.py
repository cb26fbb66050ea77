"""The command line of `hookline mcp`; tests/gateway has what it does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.apps.cli.main import main
from hookline.errors import install_command

SERVER = "import json, sys; request = json.loads(input()); print(json.dumps({'id': request['id'], 'result': sys.argv}))"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "give the server's command after --, or its address with --url", id="nothing"),
        pytest.param(["--url", "http://x", "--", "y"], "give the server's command after --", id="both"),
        pytest.param(["--url", "ftp://x"], "is not an address that begins with http", id="scheme"),
        pytest.param(["--url", "http://[::1/"], "is not an address that begins with http", id="bracket"),
        pytest.param(["--url", "http://x:99999/"], "is not an address that begins with http", id="port"),
        pytest.param(["--name", "x", "--project", "nowhere", "--", "y"], "is not a directory", id="project"),
    ],
)
def test_bad_usage(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what to give."""
    assert main(["mcp", *words]) == 1
    assert message in capsys.readouterr().err


def test_without_the_extra() -> None:
    """An address needs the official package, and one line says how to get it."""
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from hookline.apps.cli.main import main\n"
        "sys.exit(main(['mcp', '--name', 'x', '--url', 'http://127.0.0.1:9/']))"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False)
    message = f"hookline: this needs the package mcp, which is not installed; run: {install_command('agent')}\n"
    assert (done.returncode, done.stderr) == (1, message)


def test_all_words_after_the_dashes_are_the_servers(tmp_path: Path) -> None:
    """Options of the server are not taken for ours, nor are further dashes; the name comes from its program."""
    words = ["mcp", "--project", str(tmp_path), "--", sys.executable, "-c", SERVER, "--name", "--", "x"]
    request = b'{"jsonrpc":"2.0","id":1,"method":"x"}\n'
    done = subprocess.run([sys.executable, "-m", "hookline", *words], input=request, capture_output=True, check=False)
    assert json.loads(done.stdout)["result"][1:] == ["--name", "--", "x"]
    assert f"as mcp__{Path(sys.executable).stem}__" in done.stderr.decode()


def test_a_server_needs_no_extra(tmp_path: Path) -> None:
    """In front of a program the gateway does without the official package, and starts fast."""
    code = (
        "import sys; sys.modules['mcp'] = sys.modules['google'] = None\n"
        "from hookline.apps.cli.main import main\n"
        f"own = ['--project', {str(tmp_path)!r}, '--name', 'x']\n"
        f"sys.exit(main(['mcp', *own, '--', sys.executable, '-c', {SERVER!r}]))"
    )
    request = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}\n'
    done = subprocess.run([sys.executable, "-c", code], input=request, capture_output=True, check=False)
    assert json.loads(done.stdout)["id"] == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_stdin_or_stdout(closed: str) -> None:
    """Without a client, it ends."""
    words = f"{sys.executable} -m hookline mcp --name x -- true {closed}"
    done = subprocess.run(["sh", "-c", words], capture_output=True, check=False, timeout=45)
    assert (done.returncode, done.stderr.decode()) == (
        1,
        "hookline: the client speaks on stdin and stdout, and they are not open\n",
    )


@pytest.mark.parametrize(
    ("header", "message"),
    [
        pytest.param("Authorization: Bearer s3cret", "the value must be in an environment variable", id="in-clear"),
        pytest.param("Authorization", "the value must be in an environment variable", id="no-value"),
        pytest.param("X Y: env:A", "the value must be in an environment variable", id="no-name"),
        pytest.param("X: env:NO_SUCH_THING", "the environment variable NO_SUCH_THING is not set, or empty", id="unset"),
        pytest.param("X: env:TWO_LINES", "TWO_LINES has characters that a header can't have", id="line-feed"),
    ],
)
def test_headers_come_from_the_environment(
    header: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value in clear would be in the list of processes; it is refused, and not repeated."""
    monkeypatch.setenv("TWO_LINES", "a\r\nX-Other: b")
    assert main(["mcp", "--name", "x", "--url", "http://127.0.0.1:9/", "--header", header]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "s3cret" not in said


def test_headers_are_for_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    """A server with a command has no use for them."""
    assert main(["mcp", "--name", "x", "--header", "X: env:HOME", "--", "true"]) == 1
    assert "--header is for a server with --url" in capsys.readouterr().err
