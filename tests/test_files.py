import contextlib
import fcntl
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from platformdirs import user_state_path

from hookline.errors import HooklineError
from hookline.files import NotRegularError, locked, make_private_directory, open_regular, state_path, write_atomically


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def run_python(*lines: str, arguments: list[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", "\n".join(lines), *arguments], check=False, timeout=45)


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Only the user can read a file that was not there before."""
    file = tmp_path / "new.json"
    write_atomically(file, b"{}")
    assert (file.read_bytes(), mode_of(file)) == (b"{}", 0o600)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_permissions_are_kept(tmp_path: Path, mode: int) -> None:
    """A file that is replaced keeps its permissions."""
    file = tmp_path / "old.json"
    file.write_bytes(b"old")
    file.chmod(mode)
    write_atomically(file, b"new")
    assert (file.read_bytes(), mode_of(file)) == (b"new", mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    """A file that is replaced stays its owner's."""
    file = tmp_path / "theirs.json"
    file.write_bytes(b"old")
    os.chown(file, 12345, 54321)
    write_atomically(file, b"new")
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 54321)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_rights_of_a_group_do_not_pass_to_another() -> None:
    """Where the group cannot be kept, what it was allowed is not given to the writer's group."""
    # Not below tmp_path, which is closed to others.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        file = folder / "theirs.json"
        file.write_bytes(b"old")
        file.chmod(0o664)
        os.chown(file, 12345, 54321)
        run_python(
            "import os, sys, pathlib",
            "from hookline.files import write_atomically",
            "os.setgroups([]), os.setgid(11111), os.setuid(11111)",
            "write_atomically(pathlib.Path(sys.argv[1]), b'new')",
            arguments=[str(file)],
        ).check_returncode()
        assert (file.read_bytes(), file.stat().st_gid, mode_of(file)) == (b"new", 11111, 0o604)


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    """Settings that are kept elsewhere and linked to stay linked."""
    target = tmp_path / "dotfiles" / "settings.json"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link = tmp_path / "settings.json"
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert (link.readlink(), target.read_bytes()) == (target, b"new")


def test_a_dangling_link_gets_its_target(tmp_path: Path) -> None:
    """A link to a file that does not exist yet leads to the new file."""
    link = tmp_path / "settings.json"
    link.symlink_to(tmp_path / "real.json")
    write_atomically(link, b"new")
    assert (link.is_symlink(), (tmp_path / "real.json").read_bytes()) == (True, b"new")


def test_a_failed_write_leaves_everything_as_it_was(project: Path) -> None:
    """When the file cannot be replaced, nothing is left behind."""
    folder = project / "settings.json"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_atomically(folder, b"new")
    assert sorted(project.rglob("*")) == [folder, folder / "inside"]


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    """Directories are made on purpose, not by writing into them."""
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "settings.json", b"new")


def test_private_directories(tmp_path: Path) -> None:
    """Every directory that was missing is made for the owner alone, those that were there are left alone."""
    tmp_path.chmod(0o755)
    make_private_directory(tmp_path / "a" / "b")
    make_private_directory(tmp_path / "a" / "b")
    modes = {path.name: mode_of(path) for path in (tmp_path / "a", tmp_path / "a" / "b")}
    assert (mode_of(tmp_path), modes) == (0o755, {"a": 0o700, "b": 0o700})


def test_a_lock_that_stays_taken_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    """The second writer waits for a bounded time and then says which file it is about."""
    file = tmp_path / "trust.json"
    with locked(file), pytest.raises(HooklineError) as caught, locked(file, wait_s=0.05):
        pass
    assert str(caught.value) == (
        f"{file} is being changed by another process, which holds {file}.lock; try again later"
    )


def test_a_lock_leaves_nothing_behind(project: Path) -> None:
    """After the work there is no lock file, also when the work has failed."""
    file = project / "trust.json"
    with pytest.raises(ZeroDivisionError), locked(file):
        _ = 1 / 0
    with locked(file):
        assert (project / "trust.json.lock").exists()
    assert list(project.iterdir()) == []


def test_a_lock_is_the_same_through_a_link(tmp_path: Path) -> None:
    """Two names of one file have one lock."""
    file = tmp_path / "trust.json"
    file.write_bytes(b"{}")
    link = tmp_path / "link.json"
    link.symlink_to(file)
    with locked(link), pytest.raises(HooklineError), locked(file, wait_s=0.05):
        pass


def test_a_lock_that_was_left_behind_is_taken(tmp_path: Path) -> None:
    """The lock file of a process that was killed blocks no other process."""
    file = tmp_path / "trust.json"
    descriptor = os.open(tmp_path / "trust.json.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.close(descriptor)
    with locked(file, wait_s=0.05):
        file.write_bytes(b"{}")
    assert file.read_bytes() == b"{}"


_COUNT_UP = """
import pathlib, sys
from hookline.files import locked, write_atomically

file = pathlib.Path(sys.argv[1])
for _ in range(40):
    with locked(file, wait_s=15):
        write_atomically(file, str(int(file.read_bytes()) + 1).encode())
"""


def test_writers_of_several_processes_lose_nothing(tmp_path: Path) -> None:
    """Reading, changing and writing under the lock is one step for everybody else."""
    file = tmp_path / "counter"
    file.write_bytes(b"0")
    workers = [subprocess.Popen([sys.executable, "-c", _COUNT_UP, str(file)]) for _ in range(3)]
    assert ([worker.wait(45) for worker in workers], file.read_bytes()) == ([0, 0, 0], b"120")


@pytest.mark.parametrize("kind", ["FIFO", "directory", "socket", "device"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    """The message names what is there instead, and the lock is not waited for."""
    path = Path("/dev/null") if kind == "device" else tmp_path / kind
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "socket":
        with contextlib.chdir(tmp_path), socket.socket(socket.AF_UNIX) as listening:
            listening.bind(kind)
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_APPEND | os.O_CREAT, os.O_RDWR):
        with pytest.raises(NotRegularError) as caught:
            open_regular(path, flags)
        assert (caught.value.strerror, caught.value.filename) == (f"it is a {kind}, not a regular file", str(path))


def test_a_regular_file_is_opened_through_a_link(tmp_path: Path) -> None:
    """A new one is its owner's alone."""
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.close(open_regular(tmp_path / "link", os.O_WRONLY | os.O_CREAT))
    assert mode_of(tmp_path / "target") == 0o600


@pytest.fixture
def dead_pid() -> int:
    """The id of a process that is gone."""
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def leave(path: Path, *, age_s: float = 7200.0) -> Path:
    path.write_bytes(b"left behind")
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def test_temporary_files_of_processes_that_are_gone_are_removed(tmp_path: Path, dead_pid: int) -> None:
    """A program that was killed while it wrote left one; the next write to the same file removes it."""
    left = leave(tmp_path / f".trust.json.{dead_pid}.0123abcd.tmp")
    huge = leave(tmp_path / ".trust.json.9999999999.0123abcd.tmp")
    write_atomically(tmp_path / "trust.json", b"{}")
    assert (left.exists(), huge.exists()) == (False, False)


@pytest.mark.parametrize(
    ("name", "age_s"),
    [
        pytest.param(".trust.json.{alive}.0123abcd.tmp", 7200, id="its-process-runs"),
        pytest.param(".other.json.{dead}.0123abcd.tmp", 7200, id="of-another-file"),
        pytest.param(".trust.json.{dead}.0123abcde.tmp", 7200, id="no-name-of-ours"),
        pytest.param("trust.json.{dead}.0123abcd.tmp", 7200, id="no-dot"),
        pytest.param(".trust.json.0.0123abcd.tmp", 7200, id="no-process"),
        pytest.param(".trust_json.{dead}.0123abcd.tmp", 7200, id="a-dot-is-a-dot"),
    ],
)
def test_other_files_are_left_alone(tmp_path: Path, dead_pid: int, name: str, age_s: float) -> None:
    """Only files that hookline certainly wrote, and that no process writes to, are removed."""
    file = leave(tmp_path / name.format(dead=dead_pid, alive=os.getpid()), age_s=age_s)
    write_atomically(tmp_path / "trust.json", b"{}")
    assert file.exists()


KILLED = """
import os, signal, sys, hookline.files as files
from pathlib import Path
def end(*words, **more):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "writing":
    os.replace = end
path = Path(sys.argv[1])
with files.locked(path):
    files.write_atomically(path, b"new")
    end()
"""


@pytest.mark.attack("30.F11", "a process that is killed while it writes a file, or holds a lock")
@pytest.mark.req("DELTA-FILE-001")
@pytest.mark.parametrize("at", ["writing", "holding"])
def test_what_a_killed_process_leaves_is_gone_after_the_next_write(project: Path, at: str) -> None:
    """Also if it was killed a moment ago; its lock is not waited for, and another file of the directory is enough."""
    file = project / "trust.json"
    run_python(KILLED, arguments=[str(file), at])
    assert (project / "trust.json.lock").exists()
    assert len([*project.glob("*.tmp")]) == (at == "writing")
    write_atomically(project / "other.json", b"{}")
    assert not (project / "trust.json.lock").exists()
    run_python(KILLED, arguments=[str(file), at])
    with locked(file, wait_s=0):
        write_atomically(file, b"{}")
    assert sorted(path.name for path in project.iterdir()) == ["other.json", "trust.json"]


@pytest.mark.req("DELTA-FILE-001")
def test_what_another_process_holds_is_left_alone(project: Path, dead_pid: int) -> None:
    """A process of another container may have any id, so its file is locked; so is a lock. Other locks stay."""
    for name, content in (
        (f".trust.json.{dead_pid}.0123abcd.tmp", b"new"),
        ("held.json.lock", b"hookline\n"),
        ("uv.lock", b"version = 1"),
        ("empty.lock", b""),
    ):
        (project / name).write_bytes(content)
    before = {path.name for path in project.iterdir()}
    with contextlib.ExitStack() as stack:
        for name in (f".trust.json.{dead_pid}.0123abcd.tmp", "held.json.lock"):
            fcntl.flock(stack.enter_context((project / name).open("rb")), fcntl.LOCK_EX)
        write_atomically(project / "trust.json", b"{}")
        assert {path.name for path in project.iterdir()} == {*before, "trust.json"}
    write_atomically(project / "trust.json", b"{}")
    assert {path.name for path in project.iterdir()} == {"uv.lock", "empty.lock", "trust.json"}


def test_what_is_no_file_of_ours_is_left_alone(tmp_path: Path, dead_pid: int) -> None:
    """A link or a directory of that name is not hookline's, and neither is another user's file."""
    link, folder = (tmp_path / f".trust.json.{dead_pid}.{number}.tmp" for number in ("00000001", "00000002"))
    link.symlink_to(leave(tmp_path / "precious"))
    folder.mkdir()
    os.utime(folder, (0, 0))
    os.utime(link, (0, 0), follow_symlinks=False)
    theirs = leave(tmp_path / f".trust.json.{dead_pid}.00000003.tmp")
    if os.geteuid() == 0:
        os.chown(theirs, 12345, 12345)
        os.utime(theirs, (0, 0))
    write_atomically(tmp_path / "trust.json", b"{}")
    assert (link.is_symlink(), folder.is_dir(), (tmp_path / "precious").exists()) == (True, True, True)
    assert theirs.exists() == (os.geteuid() == 0)


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/home/someone"},
        {"HOME": "/home/some one/"},
        {"HOME": "/home/someone", "XDG_STATE_HOME": "/elsewhere"},
        {"HOME": "/home/someone", "XDG_STATE_HOME": "/else where/x/"},
        {"HOME": "/home/someone", "XDG_STATE_HOME": "relative"},
        {"HOME": "/home/someone", "XDG_STATE_HOME": "~/state"},
        {"HOME": "/home/someone", "XDG_STATE_HOME": ""},
        {"HOME": "/home/someone", "XDG_STATE_HOME": " "},
        {"HOME": "/home/someone", "XDG_STATE_HOME": "/elsewhere "},
        {"HOME": "relative"},
        {"HOME": ""},
        {},
        {"HOME": "/", "ANDROID_ROOT": "/system", "ANDROID_DATA": "/data", "SHELL": "/bin/sh"},
    ],
    ids=str,
)
def test_the_state_directory_is_that_of_platformdirs(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is found without loading that library."""
    for name in ("HOOKLINE_STATE_DIR", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert state_path("x") == user_state_path("hookline") / "x"


def test_the_usual_state_directory_needs_no_library() -> None:
    """Loading it takes half as long as Python needs to start."""
    program = "import sys; from hookline.files import state_path; state_path('x'); print('platformdirs' in sys.modules)"
    env = {"HOME": "/home/someone"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == f"{sys.platform != 'linux'}\n"
