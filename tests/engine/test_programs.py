"""The files that a worker is started from, and when they are others."""

from hashlib import sha256
from pathlib import Path

import pytest

from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry, PolicyMark
from hookline.settings.trust.worker_source import WorkerSources


def make_hook(command: str, policy: PolicyMark | None = None) -> HookEntry:
    return HookEntry(
        event=HookEventName.BEFORE_TOOL,
        source=ConfigSource.USER,
        origin="o",
        location="l",
        run=CommandLine(command),
        policy=policy,
    )


def test_a_module_of_a_policy_counts_although_no_command_names_it(tmp_path: Path) -> None:
    """All scripts of a policy are signed, and a worker must not be started again with another one of them."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "guard.py").write_text("import words")
    (folder / "words.py").write_text("")
    files = {name: sha256((folder / name).read_bytes()).hexdigest() for name in ("guard.py", "words.py")}
    hook = make_hook(f"python3 {folder}/guard.py", PolicyMark(version=1, directory=str(folder), files=files))
    programs = WorkerSources()
    before = programs.snapshot(hook, str(tmp_path), {})
    assert programs.snapshot(hook, str(tmp_path), {}) == before
    (folder / "words.py").write_text("evil")
    assert programs.snapshot(hook, str(tmp_path), {}) != before


def test_a_program_is_looked_for_on_the_path_of_the_hook(project: Path) -> None:
    """Which need not be this program's own."""
    tool = project / "bin" / "guard"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    programs, hook = WorkerSources(), make_hook("guard")
    env = {"PATH": f"/usr/bin:{tool.parent}"}
    before, elsewhere = (programs.snapshot(hook, str(project), each) for each in (env, {"PATH": "/usr/bin"}))
    tool.write_text("#!/bin/sh\nexit 2\n")
    assert programs.snapshot(hook, str(project), env) != before
    assert programs.snapshot(hook, str(project), {"PATH": "/usr/bin"}) == elsewhere


@pytest.mark.parametrize("look", [WorkerSources.snapshot, WorkerSources.signatures])
def test_the_directory_counts(tmp_path: Path, look: object) -> None:
    """By its path and its inode, with or without links; one that is gone is also another one."""
    link, first, second = tmp_path / "link", tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    link.symlink_to(first)
    programs, hook, seen = WorkerSources(), make_hook("true"), []

    def see() -> None:
        assert callable(look)
        seen.append(look(programs, hook, str(link), {}))
        assert look(programs, hook, str(link), {}) == seen[-1]

    see()
    link.unlink()
    link.symlink_to(second)
    see()
    second.rename(tmp_path / "third")
    see()
    (tmp_path / "third").rename(tmp_path / "fourth")
    link.unlink()
    link.symlink_to(tmp_path / "fourth")
    see()
    link.unlink()
    first.rename(link)
    see()
    assert all(one != other for index, one in enumerate(seen) for other in seen[:index])
