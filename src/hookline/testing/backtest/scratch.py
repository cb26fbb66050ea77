"""A copy of a project, as it is now or as a revision of git has it, in a directory that is removed again."""

import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hookline.errors import UsageError

_GIT_S = 120.0
_LONGEST_LINE = 4096
_SUBMODULE = "160000"
# Files that git reads in a git directory and in a work tree.
_READ_FILES = (
    "HEAD",
    "config",
    "config.worktree",
    "index",
    "packed-refs",
    "shallow",
    "info/exclude",
    "info/attributes",
)
_LOOK_S = 20.0
_READ_FOLDERS = ("refs", "objects", "reftable")
_READ_IN_TREE = frozenset({".gitignore", ".gitattributes", ".gitmodules"})
# Neither the system's nor the user's configuration or attributes, only local transport, no questions.
_ISOLATED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
}


class NoCopyError(UsageError):
    """Git does not have the project, or not at that state."""


@contextmanager
def project_at(project: str, revision: str | None = None) -> Iterator[Path]:
    """A copy of the project at a revision, or as it is now with what is not committed. Raises NoCopyError.

    The copy is a separate repository, so that hooks can ask git there. Ignored files, such as an environment
    with installed packages, are linked and not copied.
    """
    with TemporaryDirectory(prefix="hookline-backtest-") as folder:
        top, repository = _without_config(project, Path(os.path.realpath(folder), "repository"))
        wanted = f"{revision or 'HEAD'}^{{commit}}"
        commit = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted)
        if not commit:
            raise _no_copy(project, revision)
        copy = repository.with_name("copies") / top.name
        _git(
            repository, "clone", "--quiet", "--shared", "--no-checkout", "--template=", "--", str(repository), str(copy)
        )
        _git(copy / ".git", "checkout", "--quiet", "--detach", commit, top=copy)
        inside = copy / Path(os.path.realpath(project)).relative_to(top)
        if not inside.is_dir():
            raise NoCopyError(f"git can't copy {project} at {revision or 'its present state'}")
        if revision is None:
            _take_over(repository, top, copy)
        yield inside


def _no_copy(project: str, revision: str | None) -> NoCopyError:
    return NoCopyError(f"{revision or project} is neither a file nor a revision of the git repository of {project}")


def _without_config(project: str, repository: Path) -> tuple[Path, Path]:
    """The root of the project's work tree, and a git directory with its objects and refs, but not its configuration.

    Filters, hooks, fsmonitor, remotes and everything else that makes git start a program are named in the
    configuration, which an untrusted project brings along; git has no option to ignore it where it is.
    """
    top = Path(os.path.realpath(project))
    while not os.path.lexists(top / ".git"):
        if top == top.parent:
            raise _no_copy(project, None)
        top = top.parent
    own, common = _checked(top / ".git")
    repository.mkdir()
    (repository / "info").mkdir()
    for name in ("objects", "refs", "packed-refs", "reftable", "info/exclude"):
        if (common / name).exists():
            (repository / name).symlink_to(common / name)
    for file in (own / "HEAD", own / "index", *own.glob("sharedindex.*")):
        if file.is_file():
            # With its time: by that git knows which files may have changed in the second in which it was written.
            shutil.copy2(file, repository / file.name)
    (repository / "config").write_text(_format_of(common / "config"))
    return top, repository


def _checked(git: Path) -> tuple[Path, Path]:
    """The git directory of a work tree, and the one that it shares with others. NoCopyError for a FIFO or device there.

    Git opens what it expects to be a file, and would wait forever for a writer of a FIFO.
    """
    _need_file(git)
    own = _followed(git)
    _need_file(own / "commondir")
    common = (own / _line(own / "commondir")).resolve() if (own / "commondir").is_file() else own
    for folder in {own, common}:
        for name in _READ_FILES:
            _need_file(folder / name)
    waiting, seen = [common / name for name in _READ_FOLDERS], set[tuple[int, int]]()
    until = time.monotonic() + _LOOK_S
    while waiting:
        folder = waiting.pop()
        if time.monotonic() > until:  # a link can lead to the whole file system
            raise NoCopyError(f"{common} has too many files for a copy: {folder} was not reached in {_LOOK_S:g} s")
        with suppress(OSError), os.scandir(folder) as entries:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in seen:  # links can form a circle
                continue
            seen.add((status.st_dev, status.st_ino))
            for entry in entries:
                if entry.is_dir():
                    waiting.append(Path(entry.path))
                elif not entry.is_file():
                    _need_file(Path(entry.path))
    return own, common


def _check_tree(top: Path) -> None:
    """Raises NoCopyError for a FIFO or device where git reads a file, also in nested repositories."""
    for folder, folders, files in os.walk(top):
        for name in _READ_IN_TREE.intersection(files):
            _need_file(Path(folder, name))
        if ".git" in (*folders, *files) and Path(folder) != top:
            _checked(Path(folder, ".git"))
        folders[:] = [name for name in folders if name != ".git"]


def _need_file(path: Path, *, follow_symlinks: bool = True) -> None:
    with suppress(OSError):  # what is not there is not opened
        mode = path.stat(follow_symlinks=follow_symlinks).st_mode
        if stat.S_IFMT(mode) not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            raise NoCopyError(f"{path} is not a file, so git can't read it; remove it, and try again")


def _followed(git: Path) -> Path:
    """The git directory that a file `.git` names, as in a worktree or a submodule, or the directory itself."""
    return (git.parent / _line(git).removeprefix("gitdir:").strip()).resolve() if git.is_file() else git


def _line(file: Path) -> str:
    try:
        return os.fsdecode(file.read_bytes()[:_LONGEST_LINE]).partition("\n")[0]
    except OSError as error:
        raise NoCopyError(f"{file} can't be read: {error.strerror}") from error


def _format_of(config: Path) -> str:
    """A configuration that says only how the objects and refs of a repository are stored."""
    lines = ["[core]", "repositoryformatversion = 1", "bare = false", "[extensions]"]
    for name in ("objectFormat", "refStorage"):
        found = _git(None, "config", "--file", str(config), "--no-includes", "--get", f"extensions.{name}")
        if found.isalnum():
            lines.append(f"{name} = {found}")
    return "\n".join(lines) + "\n"


def moved(value: Any, old: str, new: str) -> Any:
    """A JSON value whose texts name the copy where they name the project."""
    if isinstance(value, str):
        return re.sub(rf"{re.escape(old)}(?=[/\s'\":;,)]|$)", lambda _: new, value) if old in value else value
    if isinstance(value, list):
        return [moved(each, old, new) for each in value]
    return {key: moved(each, old, new) for key, each in value.items()} if isinstance(value, dict) else value


def _take_over(repository: Path, top: Path, copy: Path) -> None:
    """Brings what is not committed into the copy, and links what git does not keep."""

    def listed(*options: str) -> list[str]:
        output = _git(repository, "ls-files", "-z", *options, top=top)
        return [_safe(name, top) for name in output.split("\0") if name]

    _check_tree(top)
    changed = listed("--modified", "--deleted", "--others", "--exclude-standard")
    for name in changed:
        _make_real(copy, Path(name).parent)
        if (copy / name).is_symlink() or not (copy / name).is_dir():
            (copy / name).unlink(missing_ok=True)
    for name in changed:
        if os.path.lexists(top / name) and not (top / name).is_dir():
            if (copy / name).is_dir():  # whose files are gone by now
                shutil.rmtree(copy / name)
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            _need_file(top / name, follow_symlinks=False)
            shutil.copy2(top / name, copy / name, follow_symlinks=False)
    staged = _git(repository, "ls-files", "-z", "--stage", top=top).split("\0")
    submodules = [_safe(line.split("\t", 1)[1], top) for line in staged if line.startswith(_SUBMODULE)]
    for name in (*listed("--others", "--ignored", "--exclude-standard", "--directory"), *submodules):
        target = copy / name.rstrip("/")
        _make_real(copy, Path(name).parent)
        if target.is_dir() and not any(target.iterdir()):
            target.rmdir()
        if not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(top / name.rstrip("/"))


def _safe(name: str, top: Path) -> str:
    """The name of a file as git lists it; NoCopyError if it leads out of the copy or into its git directory.

    Git lists what the project's index says, and does not check it.
    """
    if name.startswith("/") or {part.casefold() for part in name.split("/")} & {"..", ".git"}:
        raise NoCopyError(f"{top / '.git' / 'index'} has a path that no checkout would write: {name}")
    return name


def _make_real(copy: Path, folder: Path) -> None:
    """Removes links of the copy that stand where the project has directories: they may lead anywhere."""
    for part in (*reversed(folder.parents), folder):
        if (copy / part).is_symlink():
            (copy / part).unlink()


def _git(repository: Path | None, *words: str, top: Path | None = None) -> str:
    """The output of git in hookline's own git directory; empty if it failed."""
    program = shutil.which("git", path=os.pathsep.join(filter(os.path.isabs, os.get_exec_path())))
    if program is None:
        raise NoCopyError("git can't be used here: it is not installed")
    directory = {} if repository is None else {"GIT_DIR": str(repository)}
    tree = {} if top is None else {"GIT_WORK_TREE": str(top)}
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [program, "-c", f"core.excludesFile={_ignored_everywhere(program)}", *words]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=_GIT_S,
            check=False,
            env={**environ, **_ISOLATED, **directory, **tree},
            # Where it lists files, git takes their names relative to here.
            cwd=top or "/",
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoCopyError(f"git can't be used here: {error}") from error
    return os.fsdecode(done.stdout).strip("\n") if done.returncode == 0 else ""


def _ignored_everywhere(program: str) -> str:
    """The user's own list of ignored files: all that is used of the user's configuration."""
    command = [program, "config", "--global", "--type=path", "--get", "core.excludesFile"]
    usual = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", "git", "ignore")
    with suppress(OSError, subprocess.TimeoutExpired):
        found = subprocess.run(command, capture_output=True, timeout=_GIT_S, check=False, cwd="/")
        return os.fsdecode(found.stdout).strip() or str(usual)
    return str(usual)
