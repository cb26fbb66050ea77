"""The command that serves the page; tests/apps/ui has the page itself."""

import http.client
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from tests.apps.cli.conftest import Workbench

from hookline.errors import install_command


def test_it_serves_on_loopback_until_interrupted(workbench: Workbench) -> None:
    """The printed address opens the page, another one does not, and Ctrl-C is the orderly end."""
    command = [sys.executable, "-m", "hookline", "ui", "--no-open"]
    with subprocess.Popen(command, cwd=workbench.project, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = urlsplit(server.stdout.readline().split()[-1])
        assert address.hostname == "127.0.0.1"
        statuses = []
        for path in (f"{address.path}?{address.query}", "/?token=guess", "/api/live"):
            connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=45)
            connection.request("GET", path)
            statuses.append(connection.getresponse().status)
            connection.close()
        server.send_signal(signal.SIGINT)
        assert (statuses, server.wait(45)) == ([200, 401, 401], 0)


def test_without_the_extra_one_line_names_it(workbench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback: the package that is missing, and what to install."""
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    said = workbench.run("ui", code=1)
    assert said == f"hookline: this needs the package uvicorn, which is not installed; run: {install_command('ui')}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--port", "70000"], "there is no port 70000", id="no such port"),
        pytest.param(["--source", "none.jsonl"], "the log none.jsonl does not exist", id="no such log"),
    ],
)
def test_what_can_t_be_served_is_said(workbench: Workbench, words: list[str], said: str) -> None:
    """A sentence, and exit code 1."""
    assert said in workbench.run("ui", "--no-open", *words, code=1)
