import os
import shutil
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from msgspec.structs import replace

from hookline.protocol.constants import ConfigSource, OnError
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry, Plugin, ResourceLimits
from hookline.settings.trust.fingerprint import Fingerprinter, fingerprint


def make_hook(command: str = "hooks/x.sh", **options: Any) -> HookEntry:
    return HookEntry(
        event=options.pop("event", HookEventName.BEFORE_TOOL),
        source=ConfigSource.PROJECT,
        origin=".llxprt/settings.json",
        location="hooks.BeforeTool[0].hooks[0]",
        run=CommandLine(command),
        **options,
    )


@pytest.fixture(name="script")
def script_fixture(project: Path) -> Path:
    script = project / "hooks" / "x.sh"
    script.parent.mkdir()
    script.write_text("exit 0\n")
    return script


def relink(link: Path, target: Path) -> None:
    link.unlink()
    link.symlink_to(target)


def digest(hook: HookEntry, project: Path) -> str:
    return fingerprint(hook, str(project)).digest


@pytest.mark.parametrize(
    "change",
    [
        {"event": HookEventName.AFTER_TOOL},
        {"matcher": "write_file"},
        {"sequential": True},
        {"run": Plugin("package:name")},
        {"run": CommandLine("hooks/x.sh --yes")},
        {"timeout_ms": 1.0},
        {"env": {"A": "b"}},
        {"on_error": OnError.BLOCK},
        {"name": "guard"},
        {"final": True},
        {"limits": ResourceLimits(memory_bytes=1)},
        {"limits": ResourceLimits(network=False)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_everything_that_decides_what_runs_and_when_is_covered(project: Path, change: dict[str, Any]) -> None:
    """A change of any deciding field is another fingerprint."""
    hook = make_hook()
    assert digest(replace(hook, **change), project) != digest(hook, project)


def test_trust_from_before_limits_stays(project: Path) -> None:
    """The definition has only the limits that are given."""
    assert not {"limits", "network"} & {*fingerprint(make_hook(), str(project)).definition}
    definition = fingerprint(make_hook(limits=ResourceLimits(cpu_s=2)), str(project)).definition
    assert definition["limits"] == {"cpu": 2}
    assert "network" not in definition


def test_trust_from_before_final_guards_stays(project: Path) -> None:
    """The definition of a hook that is not final is the same as before there were final hooks."""
    assert "final" not in fingerprint(make_hook(), str(project)).definition
    assert fingerprint(make_hook(final=True), str(project)).definition["final"] is True


@pytest.mark.parametrize(
    "change",
    [
        {"location": "hooks.BeforeTool[7].hooks[0]"},
        {"origin": "elsewhere"},
        {"description": "what it does"},
        {"disabled_by": "user settings"},
        {"budget_ms": 50.0},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_decides_nothing_is_not_covered(project: Path, change: dict[str, Any]) -> None:
    """Moving, describing or switching a hook off does not change what was agreed to."""
    hook = make_hook()
    assert digest(replace(hook, **change), project) == digest(hook, project)


def test_the_script_is_covered(project: Path, script: Path) -> None:
    """The fingerprint names the script that would run, and its content."""
    taken = fingerprint(make_hook(), str(project))
    assert (taken.files, taken.hashes) == ((script,), {str(script): sha256(b"exit 0\n").hexdigest()})


@pytest.mark.parametrize(
    ("command", "covered"),
    [
        pytest.param("cat hooks/x.sh", (), id="printed"),
        pytest.param("[ -f hooks/x.sh ] && cat hooks/x.sh", (), id="tested-and-printed"),
        pytest.param("head -5 < hooks/x.sh | grep -v '^#'; echo done", (), id="in-a-pipeline"),
        pytest.param('cat "$LLXPRT_PROJECT_DIR/hooks/x.sh"', (), id="by-a-variable"),
        pytest.param("cat hooks/*.sh 2>/dev/null", (), id="by-a-pattern"),
        pytest.param("cat hooks/x.sh | sh", ("hooks/x.sh",), id="run-by-a-shell"),
        pytest.param("sh hooks/x.sh", ("hooks/x.sh",), id="run"),
        pytest.param("< hooks/x.sh sh", ("hooks/x.sh",), id="read-by-a-shell"),
        pytest.param("cat hooks/x.sh; < /dev/null sh hooks/x.sh", ("hooks/x.sh",), id="run-after-a-redirection"),
        pytest.param("cat hooks/x.sh && sh hooks/x.sh", ("hooks/x.sh",), id="printed-and-run"),
        pytest.param("echo $(sh hooks/x.sh)", ("hooks/x.sh",), id="run-for-its-output"),
        pytest.param("cat <(sh hooks/x.sh)", ("hooks/x.sh",), id="run-for-a-file"),
        pytest.param("cat hooks/x.sh > y.sh; sh y.sh", ("hooks/x.sh",), id="written-and-run"),
        pytest.param("PATH=hooks cat hooks/x.sh", ("hooks/x.sh",), id="with-another-path"),
        pytest.param("cat() { sh hooks/x.sh; }; cat", ("hooks/x.sh",), id="a-function"),
        pytest.param("(cat hooks/x.sh) | sh", ("hooks/x.sh",), id="in-a-group"),
        pytest.param("./cat hooks/x.sh", ("hooks/x.sh",), id="a-program-of-the-project"),
    ],
)
def test_printed_files_are_data(project: Path, script: Path, command: str, covered: tuple[str, ...]) -> None:
    """On lifecycle events files that are only printed may change; on other events the output is the decision."""
    hook = make_hook(command, event=HookEventName.SESSION_START)
    assert {*fingerprint(hook, str(project)).files} == {project / name for name in covered}
    on_a_tool = fingerprint(replace(hook, event=HookEventName.BEFORE_TOOL), str(project))
    assert script in on_a_tool.files


def test_a_printing_program_from_the_project_is_covered(project: Path) -> None:
    """A variable of the hook may lead `cat` into the project."""
    (project / "bin").mkdir()
    (project / "bin" / "cat").write_text("exit 0\n")
    (project / "TODO.md").write_text("")
    hook = make_hook("cat TODO.md", event=HookEventName.SESSION_START, env={"PATH": "bin"})
    assert fingerprint(hook, str(project)).files == (project / "bin" / "cat",)


def test_words_that_cannot_be_resolved_are_reported(project: Path, script: Path) -> None:
    """The fingerprint names the words that may lead to files which it does not cover."""
    taken = fingerprint(make_hook("sh hooks/x.sh $(cat name)"), str(project))
    assert (taken.files, taken.unresolved) == ((script,), ("$(cat name)",))


def test_editing_vanishing_and_appearing_are_seen(project: Path, script: Path) -> None:
    """A script that is edited, removed or put back changes the fingerprint each time."""
    hook = make_hook()
    original = digest(hook, project)
    script.write_text("exit 2\n")
    edited = digest(hook, project)
    script.unlink()
    removed = digest(hook, project)
    script.write_text("exit 0\n")
    assert len({original, edited, removed}) == 3
    assert digest(hook, project) == original


def test_a_link_is_followed_and_its_target_covered(project: Path, script: Path, tmp_path: Path) -> None:
    """Both the content behind a link and the place it leads to count."""
    elsewhere = tmp_path / "elsewhere.sh"
    shutil.copy(script, elsewhere)
    (project / "link.sh").symlink_to(script)
    hook = make_hook("./link.sh")
    taken = fingerprint(hook, str(project))
    (project / "link.sh").unlink()
    (project / "link.sh").symlink_to(elsewhere)
    moved = fingerprint(hook, str(project))
    elsewhere.write_text("exit 2\n")
    assert (taken.files, moved.files) == ((script,), (elsewhere,))
    assert len({taken.digest, moved.digest, digest(hook, project)}) == 3


def test_binaries_of_the_system_are_left_out(project: Path, script: Path, tmp_path: Path) -> None:
    """A binary outside the project may be updated, one inside may not."""
    outside = tmp_path / "tool"
    outside.write_bytes(b"\x7fELF old")
    inside = project / "tool"
    inside.write_bytes(b"\x7fELF old")
    hook = make_hook(f"{outside} hooks/x.sh")
    before = fingerprint(hook, str(project))
    own = make_hook("./tool")
    own_before = digest(own, project)
    outside.write_bytes(b"\x7fELF new")
    inside.write_bytes(b"\x7fELF new")
    assert (before.files, digest(hook, project)) == ((script,), before.digest)
    assert digest(own, project) != own_before


def test_a_large_file_is_read_to_its_end(project: Path) -> None:
    """The last byte of a large script counts."""
    big = project / "big.sh"
    big.write_bytes(b"#" * 3_000_000 + b"a")
    before = digest(make_hook("sh big.sh"), project)
    big.write_bytes(b"#" * 3_000_000 + b"b")
    assert digest(make_hook("sh big.sh"), project) != before


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_an_unreadable_file_counts_by_its_times(project: Path, script: Path) -> None:
    """The replacement of an unreadable file is noticed."""
    script.chmod(0o100)
    before = digest(make_hook(), project)
    script.unlink()
    script.write_text("exit 2 # longer\n")
    script.chmod(0o100)
    assert digest(make_hook(), project) != before


def test_odd_commands_have_a_fingerprint(project: Path) -> None:
    """No command is beyond a fingerprint: an empty one, a lone surrogate, a null character, a very long one."""
    commands = ["", "\udc80", "a\0b", "x" * 100_000, "'", "hooks/[!", "~nobody-here/x"]
    assert len({digest(make_hook(command), project) for command in commands}) == len(commands)


def test_a_rewrite_that_leaves_no_trace_in_the_times_is_seen(project: Path, script: Path) -> None:
    """A script rewritten at once, with the same length, times and inode number, is another script."""
    hook = make_hook()
    fingerprinter = Fingerprinter()
    seen = set()
    for number in range(10):
        script.write_text(f"exit {number}\n")
        os.utime(script, ns=(1, 1))
        seen.add(fingerprinter.fingerprint(hook, str(project)).digest)
    assert len(seen) == 10


def test_a_large_file_is_read_again_when_its_times_change(project: Path, script: Path) -> None:
    """A file of 1 MiB or more is known by its status once its times are past; a change of those is a change."""
    fingerprinter = Fingerprinter()
    hook = make_hook()
    script.write_text("#" * (1 << 20))
    first = fingerprinter.fingerprint(hook, str(project))
    assert fingerprinter.fingerprint(hook, str(project)) is first
    script.write_text("#" * (1 << 20) + "x")
    assert fingerprinter.fingerprint(hook, str(project)).digest != first.digest


def test_a_fingerprint_is_made_again_only_when_a_file_has_changed(project: Path, script: Path) -> None:
    """The files are read, and if they are the same, so is the fingerprint."""
    fingerprinter = Fingerprinter()
    hook = make_hook("sh hooks/x.sh /etc/passwd")
    script.unlink()
    first = fingerprinter.fingerprint(hook, str(project))
    assert fingerprinter.fingerprint(hook, str(project)) is first
    script.write_text("exit 1\n")
    assert fingerprinter.fingerprint(hook, str(project)).digest != first.digest


def test_a_program_is_looked_for_where_the_hook_will_find_it(project: Path, script: Path) -> None:
    """On the PATH that hooks get, which need not be this program's own."""
    hook = make_hook(script.name)
    found = Fingerprinter(f"/usr/bin:{script.parent}").fingerprint(hook, str(project))
    assert found.files == (script.resolve(),)
    assert Fingerprinter().fingerprint(hook, str(project)).files == ()


@pytest.mark.parametrize(
    ("command", "change"),
    [
        pytest.param("sh hooks/x.sh", lambda at: (at / "hooks" / "x.sh").write_text("exit 3\n"), id="edited"),
        pytest.param("sh hooks/x.sh", lambda at: os.utime(at / "hooks" / "x.sh", ns=(1, 1)), id="older"),
        pytest.param("sh hooks/x.sh", lambda at: (at / "hooks" / "x.sh").unlink(), id="gone"),
        pytest.param("sh hooks/x.sh y.sh", lambda at: (at / "y.sh").write_text(""), id="another-appears"),
        pytest.param("python3 hooks", lambda at: (at / "hooks" / "__main__.py").write_text(""), id="in-a-directory"),
        pytest.param("cd hooks && ./z.sh", lambda at: (at / "hooks" / "z.sh").write_text(""), id="in-that-directory"),
        pytest.param("cat hooks/*.sh", lambda at: (at / "hooks" / "z.sh").write_text(""), id="of-a-pattern"),
        pytest.param("sh link/x.sh", lambda at: relink(at / "link", at / "other"), id="behind-a-link"),
    ],
)
def test_signatures_differ_after_each_change(
    project: Path, script: Path, command: str, change: Callable[[Path], None]
) -> None:
    """A search that found the same twice still notices what appears, changes or vanishes where it looks."""
    other = project / "other" / "x.sh"
    other.parent.mkdir()
    other.write_text("exit 0\n")
    for file in (script, other):
        os.utime(file, ns=(0, 0))
    (project / "link").symlink_to(project / "hooks")
    hook, fingerprinter = make_hook(command), Fingerprinter()
    with mock.patch("time.time_ns", return_value=time.time_ns() + 10**10):  # all files are old enough
        before = fingerprinter.signatures(hook, str(project))
        assert before == fingerprinter.signatures(hook, str(project)) is not None
        change(project)
        after = fingerprinter.signatures(hook, str(project))
        assert before != after is not None
        assert after == Fingerprinter().signatures(hook, str(project))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda at: (at / "hooks" / "x.sh").write_text("exit 3\n"), id="edited"),
        pytest.param(lambda at: (at / "y.sh").write_text(""), id="another-appears"),
        pytest.param(lambda at: relink(at / "link", at / "other.sh"), id="a-link-to-another-of-them"),
        pytest.param(lambda at: (at.parent / "new").rename(at.parent / "tool"), id="a-binary-of-the-system"),
    ],
)
def test_a_program_differs_after_each_change(project: Path, script: Path, change: Callable[[Path], object]) -> None:
    """Also where trust is the same, as with an updated binary of the system; and not without a change."""
    (project / "other.sh").write_text("exit 0\n")
    (project / "link").symlink_to(script)
    for name in ("tool", "new"):
        (project.parent / name).write_bytes(b"\x7fELF")
    hook, fingerprinter = make_hook(f"{project.parent}/tool ./link hooks/x.sh other.sh y.sh"), Fingerprinter()
    before = fingerprinter.program(hook, str(project))
    assert fingerprinter.program(hook, str(project)) == before
    change(project)
    assert fingerprinter.program(hook, str(project)) != before
