import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hookline.errors import HooklineError
from hookline.protocol.constants import ConfigSource, TrustLevel
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.settings.trust.fingerprint import fingerprint
from hookline.settings.trust.store import TrustState, TrustStore, default_trust_path


def make_hook(command: str = "hooks/x.sh", **options: Any) -> HookEntry:
    return HookEntry(
        event=HookEventName.BEFORE_TOOL,
        source=ConfigSource.PROJECT,
        origin=".llxprt/settings.json",
        location="hooks.BeforeTool[0].hooks[0]",
        run=CommandLine(command),
        needs_trust=True,
        **options,
    )


@pytest.fixture(name="script")
def script_fixture(project: Path) -> Path:
    script = project / "hooks" / "x.sh"
    script.parent.mkdir()
    script.write_text("exit 0\n")
    return script


@pytest.fixture(name="path")
def path_fixture(tmp_path: Path) -> Path:
    return tmp_path / "state" / "trust.json"


@pytest.fixture(name="store")
def store_fixture(path: Path) -> TrustStore:
    return TrustStore(path)


def test_the_default_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trust file is below HOOKLINE_STATE_DIR, or in the state directory that is usual on the platform."""
    assert default_trust_path() == tmp_path / "state" / "trust.json"
    monkeypatch.delenv("HOOKLINE_STATE_DIR")
    assert default_trust_path().parts[-2:] == ("hookline", "trust.json")


def test_new_then_trusted_then_forgotten(store: TrustStore, path: Path, project: Path, script: Path) -> None:
    """A hook is new until the user trusts it, and again after trust was withdrawn."""
    hook = make_hook()
    assert (store.state_of(hook, str(project)), path.exists()) == (TrustState.NEW, False)
    store.trust([hook], str(project))
    assert store.state_of(hook, str(project)) is TrustState.TRUSTED
    assert TrustStore(path).state_of(hook, str(project)) is TrustState.TRUSTED
    store.untrust([hook], str(project))
    assert (store.state_of(hook, str(project)), store.records()) == (TrustState.NEW, ())
    assert script.exists()


def test_files_are_private(store: TrustStore, path: Path, project: Path, script: Path) -> None:
    """The trust file and the kept texts are their owner's alone."""
    store.trust([make_hook()], str(project))
    texts = path.with_name("trust-texts")
    modes = [stat.S_IMODE(item.stat().st_mode) for item in (path.parent, path, texts, *texts.iterdir())]
    assert (modes, script.exists()) == ([0o700, 0o600, 0o700, 0o600], True)


@pytest.mark.parametrize(
    "command",
    [
        "hooks/x.sh",
        "python3 hooks/x.sh",
        "bash -c 'hooks/x.sh --flag'",
        '"$CLAUDE_PROJECT_DIR"/hooks/x.sh',
        "~/x.sh",
        "'hooks/my script.sh'",
    ],
)
def test_a_changed_script_is_not_trusted(store: TrustStore, project: Path, own_home: Path, command: str) -> None:
    """However the command names its script, a change of the script is seen at the next look, and so is its undoing."""
    (project / "hooks").mkdir()
    scripts = (project / "hooks" / "x.sh", project / "hooks" / "my script.sh", own_home / "x.sh")
    for script in scripts:
        script.write_text("exit 0\n")
    hook = make_hook(command)
    store.trust([hook], str(project))
    states = [store.state_of(hook, str(project))]
    for text in ("exit 2\n", "exit 0\n"):
        for script in scripts:
            script.write_text(text)
        states.append(store.state_of(hook, str(project)))
    assert states == [TrustState.TRUSTED, TrustState.CHANGED, TrustState.TRUSTED]


@pytest.mark.parametrize(
    ("change", "state"),
    [
        pytest.param({"run": CommandLine("hooks/x.sh --all")}, TrustState.CHANGED, id="command"),
        pytest.param({"matcher": "shell"}, TrustState.CHANGED, id="matcher"),
        pytest.param({"env": {"A": "b"}}, TrustState.CHANGED, id="env"),
        pytest.param({"final": True}, TrustState.CHANGED, id="final"),
        pytest.param({"name": "other"}, TrustState.NEW, id="name"),
        pytest.param({"event": HookEventName.AFTER_TOOL}, TrustState.NEW, id="event"),
        pytest.param({"run": CommandLine("other"), "name": "other"}, TrustState.NEW, id="another-hook"),
    ],
)
def test_a_changed_definition_is_not_trusted(
    store: TrustStore, project: Path, change: dict[str, Any], state: TrustState
) -> None:
    """A hook of the same name has changed; any other one is new."""
    hook = make_hook(name="guard")
    store.trust([hook], str(project))
    assert store.state_of(replace(hook, **change), str(project)) is state


def test_an_imported_hook_is_new(store: TrustStore, project: Path) -> None:
    """`init --from` names a hook that was trusted without a name in another agent's file; nothing of it has changed."""
    in_place = make_hook(dialect="claude", foreign_event="PreToolUse")
    store.trust([in_place], str(project))
    assert store.state_of(replace(in_place, name="x"), str(project)) is TrustState.NEW
    assert store.state_of(replace(in_place, timeout_ms=1.0), str(project)) is TrustState.CHANGED
    store.untrust([replace(in_place, name="x")], str(project))
    assert store.records() == ()


def test_a_link_that_leads_elsewhere_is_not_trusted(store: TrustStore, project: Path, script: Path) -> None:
    """Turning a link to another file with the same content is a change."""
    other = project / "other.sh"
    other.write_bytes(script.read_bytes())
    link = project / "link.sh"
    link.symlink_to(script)
    store.trust([make_hook("./link.sh")], str(project))
    link.unlink()
    link.symlink_to(other)
    assert store.state_of(make_hook("./link.sh"), str(project)) is TrustState.CHANGED


def test_projects_are_known_by_their_real_path(store: TrustStore, project: Path, tmp_path: Path, script: Path) -> None:
    """A project is the same through a link, and another one elsewhere has its own trust."""
    link = tmp_path / "link"
    link.symlink_to(project)
    other = tmp_path / "other"
    (other / "hooks").mkdir(parents=True)
    (other / "hooks" / "x.sh").write_bytes(script.read_bytes())
    store.trust([make_hook()], str(link))
    states = [store.state_of(make_hook(), str(place)) for place in (project, link, other)]
    assert states == [TrustState.TRUSTED, TrustState.TRUSTED, TrustState.NEW]


def test_trusting_the_new_form_ends_trust_in_the_old(store: TrustStore, project: Path, script: Path) -> None:
    """A script that returns to a formerly trusted version must be reviewed again."""
    hook = make_hook()
    store.trust([hook], str(project))
    script.write_text("exit 2\n")
    store.trust([hook], str(project))
    script.write_text("exit 0\n")
    assert (store.state_of(hook, str(project)), len(store.records())) == (TrustState.CHANGED, 1)


def test_the_same_command_twice_is_trusted_twice(store: TrustStore, project: Path) -> None:
    """One command under two matchers is two hooks, and trusting the one does not cost the other."""
    hooks = [make_hook(matcher="write_file"), make_hook(matcher="shell")]
    for hook in hooks:
        store.trust([hook], str(project))
    assert [store.state_of(hook, str(project)) for hook in hooks] == [TrustState.TRUSTED, TrustState.TRUSTED]


def test_records_say_what_was_accepted(store: TrustStore, project: Path, script: Path) -> None:
    """A record holds the digest, the definition and the files as they were."""
    hook = make_hook(name="guard", matcher="shell", env={"A": "b"}, timeout_ms=float("inf"))
    store.trust([hook], str(project))
    taken = fingerprint(hook, str(project))
    (record,) = store.records()
    assert (record.project_dir, record.digest, record.files) == (str(project), taken.digest, taken.hashes)
    assert record.definition == {
        "event": "BeforeTool",
        "type": "command",
        "name": "guard",
        "matcher": "shell",
        "sequential": False,
        "command": "hooks/x.sh",
        "timeout": None,
        "env": {"A": "b"},
        "onError": "allow",
    }
    assert taken.files == (script,)


def test_the_trusted_text_is_kept_for_a_diff(store: TrustStore, project: Path, script: Path) -> None:
    """The script's text as it was trusted can be had after the script has changed or gone."""
    hook = make_hook()
    store.trust([hook], str(project))
    script.write_text("exit 2\n")
    texts = [store.trusted_text(hook, str(project), file) for file in (script, Path("hooks/x.sh"), Path("hooks/y.sh"))]
    script.unlink()
    assert (texts, store.trusted_text(hook, str(project), script)) == (["exit 0\n", "exit 0\n", None], "exit 0\n")


def test_texts_that_nobody_needs_are_dropped(store: TrustStore, path: Path, project: Path, script: Path) -> None:
    """Only texts of what is trusted now are kept."""
    hook = make_hook()
    store.trust([hook], str(project))
    script.write_text("exit 2\n")
    store.trust([hook], str(project))
    texts = path.with_name("trust-texts")
    assert [text.read_text() for text in texts.iterdir()] == ["exit 2\n"]
    store.untrust([hook], str(project))
    assert list(texts.iterdir()) == []


def test_long_and_tampered_texts_are_not_shown(store: TrustStore, path: Path, project: Path, script: Path) -> None:
    """A text that is too long is not kept, and one that is not the trusted one is not given out."""
    big = project / "big.sh"
    big.write_text("#" * (256 * 1024 + 1))
    hook = make_hook("hooks/x.sh big.sh")
    store.trust([hook], str(project))
    (text,) = path.with_name("trust-texts").iterdir()
    text.write_text("exit 2\n")
    assert [store.trusted_text(hook, str(project), file) for file in (script, big)] == [None, None]
    assert store.state_of(hook, str(project)) is TrustState.TRUSTED


def test_what_changed_while_it_was_shown_is_refused(store: TrustStore, project: Path, script: Path) -> None:
    """A person trusts what they have seen, not what has been put there since."""
    hook = make_hook(name="guard")
    shown = fingerprint(hook, str(project)).digest
    script.write_text("exit 2\n")
    with pytest.raises(HooklineError, match="guard has changed while you were looking at it; look again"):
        store.trust([hook], str(project), shown=[shown])
    assert store.records() == ()
    store.trust([hook], str(project), shown=[fingerprint(hook, str(project)).digest])
    assert store.state_of(hook, str(project)) is TrustState.TRUSTED


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_believed(store: TrustStore, path: Path, project: Path, mode: int) -> None:
    """Such a file trusts nothing, is not written to, and the problem names the fix."""
    hook = make_hook()
    store.trust([hook], str(project))
    path.chmod(mode)
    content = path.read_bytes()
    assert (store.state_of(hook, str(project)), store.records()) == (TrustState.NEW, ())
    assert store.problem_in(str(project)) == (
        f"{path} can be written by other users, so nothing is trusted; look through it and run: chmod 600 {path}"
    )
    with pytest.raises(HooklineError, match="chmod 600"):
        store.trust([hook], str(project))
    assert path.read_bytes() == content
    path.chmod(0o600)
    assert store.state_of(hook, str(project)) is TrustState.TRUSTED


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_else_is_not_believed(store: TrustStore, path: Path, project: Path) -> None:
    """A trust file that another user owns trusts nothing."""
    store.trust([make_hook()], str(project))
    os.chown(path, 12345, -1)
    assert store.state_of(make_hook(), str(project)) is TrustState.NEW
    assert store.problem_in(str(project)) == (
        f"{path} belongs to another user (uid 12345), so nothing is trusted; move it away, or run: chown 0 {path}"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_file_that_cannot_be_read_is_not_believed(store: TrustStore, path: Path, project: Path) -> None:
    """A trust file without the right to read it trusts nothing."""
    store.trust([make_hook()], str(project))
    path.chmod(0)
    assert (store.state_of(make_hook(), str(project)), "Permission denied" in str(store.problem_in(str(project)))) == (
        "new",
        True,
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"not json", "is not JSON", id="text"),
        pytest.param(b"\xff\xfe", "is not JSON", id="bytes"),
        pytest.param(b"", "is not JSON", id="empty"),
        pytest.param(b"[]", "is not a trust file of hookline", id="array"),
        pytest.param(b"{}", "is not a trust file of hookline", id="no-version"),
        pytest.param(b'{"version": 1, "projects": []}', "is not a trust file of hookline", id="projects"),
        pytest.param(b'{"version": 1, "projects": {"/p": 1}}', "is not a trust file of hookline", id="project"),
        pytest.param(b'{"version": 1, "projects": {"/p": {"hooks": 1}}}', "is not a trust file", id="hooks"),
        pytest.param(b'{"version": 2, "projects": {}}', "another version of hookline (format 2)", id="newer"),
    ],
)
def test_a_file_that_is_not_ours_is_not_believed_and_not_overwritten(
    store: TrustStore, path: Path, project: Path, content: bytes, problem: str
) -> None:
    """With any content of the file, nothing breaks, nothing is trusted and nothing is lost."""
    path.parent.mkdir()
    path.write_bytes(content)
    path.chmod(0o600)
    assert (store.state_of(make_hook(), str(project)), problem in str(store.problem_in(str(project)))) == (
        TrustState.NEW,
        True,
    )
    with pytest.raises(HooklineError):
        store.untrust([make_hook()], str(project))
    assert path.read_bytes() == content


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_what_is_no_file_is_not_believed(store: TrustStore, path: Path, project: Path, kind: str) -> None:
    """A directory or a pipe in place of the file trusts nothing, and does not block."""
    path.parent.mkdir()
    if kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    assert store.state_of(make_hook(), str(project)) is TrustState.NEW
    what = "cannot be read (Is a directory)" if kind == "directory" else "is not a regular file"
    assert str(store.problem_in(str(project))).startswith(f"{path} {what}, so nothing is trusted; ")


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path, project: Path) -> None:
    """A trust file that can't be created is reported with its path."""
    (tmp_path / "file").write_text("")
    store = TrustStore(tmp_path / "file" / "trust.json")
    assert store.state_of(make_hook(), str(project)) is TrustState.NEW
    with pytest.raises(HooklineError, match=r"file/trust\.json could not be written"):
        store.trust([make_hook()], str(project))


def test_unknown_keys_and_records_survive(store: TrustStore, path: Path, project: Path) -> None:
    """Records of another version are kept, and trust nothing."""
    store.trust([make_hook()], str(project))
    document = json.loads(path.read_text())
    document["note"] = "mine"
    document["projects"][str(project)]["seen"] = 3
    document["projects"][str(project)]["hooks"] += [7, {"digest": 1, "later": True}]
    document["projects"][str(project)]["hooks"][0]["by"] = "me"
    path.write_text(json.dumps(document))
    store.trust([make_hook("other")], str(project))
    written = json.loads(path.read_text())
    added = written["projects"][str(project)]["hooks"].pop()
    assert (written, added["definition"]["command"], len(store.records())) == (document, "other", 2)


_TRUST_TEN = """
import pathlib, sys
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.constants import ConfigSource, TrustLevel
from hookline.settings.trust.store import TrustStore

place = {"event": HookEventName.BEFORE_TOOL, "source": ConfigSource.PROJECT, "origin": "", "location": ""}
store = TrustStore(pathlib.Path(sys.argv[1]))
for number in range(10):
    store.trust([HookEntry(run=CommandLine(f"{sys.argv[3]}-{number}"), **place)], sys.argv[2])
"""


def test_two_processes_trusting_at_once_lose_nothing(store: TrustStore, path: Path, project: Path) -> None:
    """If several processes trust hooks at the same time, all of these hooks are trusted afterwards."""
    arguments = (str(path), str(project))
    workers = [subprocess.Popen([sys.executable, "-c", _TRUST_TEN, *arguments, name]) for name in "abc"]
    assert [worker.wait(45) for worker in workers] == [0, 0, 0]
    trusted = {record.definition["command"] for record in store.records()}
    assert trusted == {f"{name}-{number}" for name in "abc" for number in range(10)}


def test_two_hooks_of_one_name_are_trusted_each(store: TrustStore, project: Path) -> None:
    """To trust the changed one takes nothing from the other, as long as that is still configured."""
    first, second = make_hook("exit 2", name="guard"), make_hook("true", name="guard")
    store.trust([first, second], str(project))
    changed = make_hook("false", name="guard")
    store.trust([changed], str(project), beside=[first, changed])
    states = [store.state_of(hook, str(project)) for hook in (first, changed, second)]
    assert states == [TrustState.TRUSTED, TrustState.TRUSTED, TrustState.CHANGED]


@pytest.mark.parametrize("command", ["/usr/*/*/*/*/*", "cat /proc/self/pagemap", "cat ~\ud800", "cat ~\0x"])
def test_a_stranger_s_command_is_not_looked_into(store: TrustStore, project: Path, command: str) -> None:
    """Where something else is trusted, a command that names endless files, or none, is new, and costs no time."""
    store.trust([make_hook("true")], str(project))
    assert store.state_of(make_hook(command), str(project)) is TrustState.NEW


@pytest.mark.parametrize("command", ["cat ~\ud800", "cat ~\0x"])
def test_a_strange_command_can_be_trusted(store: TrustStore, project: Path, command: str) -> None:
    """An invalid name does not prevent the user from trusting the hook."""
    store.trust([make_hook(command)], str(project))
    assert store.state_of(make_hook(command), str(project)) is TrustState.TRUSTED


def test_a_file_without_an_end_has_a_fingerprint(project: Path) -> None:
    """Its times and its size stand for its content, as with one that cannot be read."""
    taken = fingerprint(make_hook("cat /proc/self/pagemap"), str(project))
    assert [digest.partition(":")[0] for digest in taken.hashes.values()] == ["unreadable"]


@pytest.mark.parametrize(
    ("command", "word"),
    [("hooks/x.sh", None), ('sh "hooks/$X.sh"', "hooks/$X.sh"), ("sh $(echo hooks/x.sh)", "$(echo hooks/x.sh)")],
)
@pytest.mark.usefixtures("script")
def test_strict_trust_wants_every_file_named(store: TrustStore, project: Path, command: str, word: str | None) -> None:
    """With strict trust a trusted command does not run if one of its words can't be resolved to files."""
    hook = make_hook(command)
    store.trust([hook], str(project))
    assert store.why_untrusted(hook, str(project), TrustLevel.STANDARD) is None
    why = store.why_untrusted(hook, str(project), TrustLevel.STRICT)
    assert why is None if word is None else why is not None and word in why
    assert store.why_untrusted(replace(hook, needs_trust=False), str(project), TrustLevel.STRICT) is None
