"""Untrusted commands that name files without end: reading them takes bounded time, and lists what is left out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.settings.trust.fingerprint import fingerprint

PROGRAM = """
import json, sys
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.constants import ConfigSource
from hookline.settings.trust.fingerprint import fingerprint
given = {"event": HookEventName.BEFORE_TOOL, "source": ConfigSource.PROJECT, "origin": "", "location": ""}
hook = HookEntry(**given, run=CommandLine(sys.argv[1]))
print(json.dumps(fingerprint(hook, ".").unresolved))
"""


def unresolved(command: str, project: Path) -> list[str]:
    """Return what a child process finds that trust can't cover; it gets ten seconds of processor time and 1 GiB."""
    limits = "ulimit -t 10; ulimit -v 1048576; exec "
    ended = subprocess.run(
        ["sh", "-c", f'{limits} "$@"', "sh", sys.executable, "-c", PROGRAM, command],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,  # did not hang
    )
    assert ended.returncode == 0, (ended.returncode, ended.stderr)
    found: list[str] = json.loads(ended.stdout)
    return found


@pytest.mark.attack("13.2", "a command with a glob over the whole disk")
@pytest.mark.parametrize("command", ["cat /*/*/*/*", "cat /**/*", "cat /proc/*/*", f"cat {'*/' * 50}x", "cat /usr/*/*"])
def test_a_glob_over_the_disk_gives_up(command: str, project: Path) -> None:
    """After so many entries of directories the pattern counts as one that can't be resolved."""
    for index in range(3):
        (project / f"up{index}").symlink_to(".")
    assert any("*" in word for word in unresolved(command, project))


@pytest.mark.attack("13.2", "a script that is endless, a pipe, a device, or a link to itself")
@pytest.mark.parametrize(
    ("name", "is_covered"),
    [
        pytest.param("/dev/zero", True, id="endless-device"),
        pytest.param("zero", True, id="link-to-a-device"),
        pytest.param("fifo", True, id="pipe-without-a-writer"),
        pytest.param("loop", True, id="link-to-itself"),
        pytest.param("here/here/here/script", True, id="directory-in-itself"),
        pytest.param("sparse", False, id="10-GB"),
        pytest.param("/proc/kcore", False, id="all-memory"),
        pytest.param("/proc/kmsg", False, id="read-never-ends"),
        pytest.param("/proc/self/mem", False, id="unreadable"),
    ],
)
def test_reading_a_strange_script_ends(name: str, is_covered: bool, project: Path) -> None:
    """Only regular files are read; one that can't be read to its end is named as not covered."""
    os.mkfifo(project / "fifo")
    (project / "zero").symlink_to("/dev/zero")
    (project / "loop").symlink_to("loop")
    (project / "here").symlink_to(".")
    (project / "script").write_text("true")
    with (project / "sparse").open("wb") as file:
        file.truncate(10 << 30)
    path = project / name
    if not os.path.lexists(path):
        pytest.skip(f"{path} is not here")
    assert (name in unresolved(f"bash {name}", project)) is not is_covered


@pytest.mark.attack("13.2", "many large files, each below the limit of one")
def test_many_large_files_have_one_limit_together(project: Path) -> None:
    """The bytes that are read for one hook are bounded, whatever the number of its files."""
    for index in range(8):
        with (project / f"large{index}").open("wb") as file:
            file.truncate(200 << 20)
    assert unresolved(f"cat {' '.join(f'large{index}' for index in range(8))}", project)


@pytest.mark.attack("13.2", "a large file that changes, unlike before the limit")
def test_a_file_beyond_the_limit_still_changes_the_fingerprint(project: Path) -> None:
    """Its size and times count where its content can't be read."""
    hook = HookEntry(
        event=HookEventName.BEFORE_TOOL,
        source=ConfigSource.PROJECT,
        origin="",
        location="",
        run=CommandLine("bash sparse"),
    )
    with (project / "sparse").open("wb") as file:
        file.truncate(10 << 30)
    before = fingerprint(hook, str(project)).digest
    with (project / "sparse").open("r+b") as file:
        file.write(b"evil")
    assert fingerprint(hook, str(project)).digest != before


@pytest.mark.attack("13.2", "trust of a 10 GB script")
def test_a_review_does_not_read_what_it_does_not_show(project: Path) -> None:
    """The command shows the size of a file that is too large to show, within bounded memory and time."""
    with (project / "sparse").open("wb") as file:
        file.truncate(10 << 30)
    (project / ".llxprt").mkdir()
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": "bash sparse"}]}]}
    (project / ".llxprt" / "settings.json").write_text(json.dumps({"enableHooks": True, "hooks": hooks}))
    words = [
        "sh",
        "-c",
        'ulimit -t 10; ulimit -v 1048576; exec "$@"',
        "sh",
        sys.executable,
        "-m",
        "hookline",
        "trust",
        "--json",
    ]
    ended = subprocess.run(
        words, cwd=project, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60
    )
    assert ended.returncode == 1, ended.stderr
    (shown,) = json.loads(ended.stdout)["hooks"]
    assert "10737418240 bytes" in shown["files"][0]["note"]
