import asyncio
import os
import re
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from hookline.protocol.hook_entry import ResourceLimits
from hookline.runners.process import command as commands
from hookline.runners.process.batch import run_children
from hookline.runners.process.command import direct_invocation, shell_invocation
from hookline.runners.process.features import FEATURES

if TYPE_CHECKING:
    from tests.runners.conftest import MakeJob

SHOW = """#!/usr/bin/env python3
import os, sys
print(sys.argv, os.getcwd(), sorted(os.environ.items()), sys.stdin.read())
print("to stderr", file=sys.stderr)
sys.exit(5)
"""

DIRECT = [
    "./show",
    "  ./show   a\tb  ",
    "./show a-b_c+d=e,f:g/h.i@j%k^l",
    "./show 'single $HOME \"quoted\" *'",
    './show "double quoted; | & text"',
    './show "it\'s" a"b"c \'d\'"e"',
    "./show '' \"\"",
    r"./show a\ b \$HOME \\ \* \"",
    r'./show "a\"b \$HOME \\ \x" "$"',
    "./show a \\\n b",
    "./show $LLXPRT_PROJECT_DIR ${GEMINI_PROJECT_DIR}/x",
    "./show \"$CLAUDE_PROJECT_DIR/${LLXPRT_PROJECT_DIR}\" '$LLXPRT_PROJECT_DIR'",
    "$LLXPRT_PROJECT_DIR/show a",
    '"$LLXPRT_PROJECT_DIR"/show a',
    "~/show ~/x",
    "show from-path",
    "no-shebang a b",
    "./no-shebang a b",
    "./missing",
    "./not-executable",
    "./folder",
    "./bad-shebang",
    "./foreign-binary",
    "./empty",
    "./killed",
    "/bin/sh -c 'exit 9'",
    "cat",
]
BY_BASH = [
    "",
    "   ",
    "# only a comment",
    "missing-from-path a",
    "not-executable",
    "folder",
    "echo builtin",
    "exit 4",
    "true",
    "[ a = a ]",
    "./show a; ./show b",
    "./show a && ./show b",
    "./show | cat",
    "./show > out; cat out",
    "./show a # comment",
    "./show *",
    "./show {a,b}",
    "./show $HOME",
    "./show $LLXPRT_PROJECT_DIR_OLD",
    './show "$HOME" "`echo x`" "$(echo y)" "\\""',
    "./show a~ ~root/x --x=~/y",
    "A=b ./show",
    "./show\n./show",
    "! ./show",
    "time -p true 2>/dev/null",
    "%1",
    "~/missing",
    "./show ü",
    "./show !x",
    "./show (",
    "./show '",
    "exec ./show",
    "./show $'a\\tb'",
    "relative-on-path",
    "-x; exit 2",
    "--version",
    "+x",
    "-",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Programs of every kind, a directory on PATH, and names that need quoting."""
    where = tmp_path / "pro ject $(id) 'quoted'"
    on_path = where / "bin"
    on_path.mkdir(parents=True)
    (where / "folder").mkdir()
    (on_path / "folder").mkdir()
    _program(where / "show", SHOW)
    _program(on_path / "show", SHOW)
    for place in (where, on_path):
        _program(place / "no-shebang", 'echo "run by $0" "$@"; cat\n')
        _program(place / "not-executable", SHOW).chmod(0o644)
    _program(where / "bad-shebang", "#!/no/such/interpreter\n")
    _program(where / "killed", "#!/bin/sh\necho before\nkill -SEGV $$\n")
    _program(where / "empty", "")
    _program(where / "foreign-binary", "").write_bytes(
        b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\0\xf3\0" + b"\0" * 44
    )
    (tmp_path / "link").symlink_to(where)
    (where / "relative").mkdir()
    _program(where / "relative" / "relative-on-path", SHOW)
    return where


def _program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def _variables(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    return {
        "PATH": f"{folder}/bin:{os.environ['PATH']}:relative",
        "HOME": str(folder),
        "LLXPRT_PROJECT_DIR": str(folder),
        "GEMINI_PROJECT_DIR": "with  space",
        "CLAUDE_PROJECT_DIR": "*",
        **{name: value.replace("{LINK}", str(folder.parent / "link")) for name, value in more.items()},
    }


def _both_ways(
    job: "MakeJob",
    command: str,
    folder: Path,
    more: Mapping[str, str],
    *,
    ways: Sequence[tuple[bool, ResourceLimits | None]] = ((True, None), (False, None)),
) -> list[object]:
    seen: list[object] = []
    for direct, limits in ways:
        with patch.multiple(FEATURES, direct=direct):
            given = job(command, stdin=b"input", cwd=str(folder), env=_variables(folder, more), limits=limits)
            (outcome,) = asyncio.run(run_children([given]))
        # Each run has a unique mark.
        stdout = re.sub(rb"[0-9a-f]{16}-\d+/", b"MARK", outcome.stdout)
        seen.append((outcome.exit_code, outcome.signal, stdout, outcome.stderr, outcome.error))
    return seen


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="plain"),
        pytest.param({"LC_CTYPE": "C"}, id="a locale that Python would change"),
        pytest.param({"LC_ALL": "C.UTF-8", "LC_CTYPE": ""}, id="an empty locale"),
        pytest.param({"PYTHONHOME": "/x", "PYTHONPATH": "/y", "A.B": "1", "IFS": "x"}, id="variables of others"),
    ],
)
@pytest.mark.parametrize(
    "command", ["env; grep Sig[A-Z][a-z][a-z]*: /proc/self/status; umask; pwd", "no-such-program", "killed"]
)
def test_a_command_within_limits_finds_everything_as_without(
    job: "MakeJob", folder: Path, command: str, more: Mapping[str, str]
) -> None:
    """The program that sets the limits leaves no trace: not in signals, not in the environment, not in messages."""
    ways = ((False, None), (False, ResourceLimits(cpu_s=1000, files=1000)))
    without, within = _both_ways(job, command, folder, more, ways=ways)
    assert within == without


@pytest.mark.req("HOOK-188")
@pytest.mark.parametrize("command", [*DIRECT, *BY_BASH])
def test_executing_directly_is_invisible(job: "MakeJob", folder: Path, command: str) -> None:
    """Arguments, environment, output, exit code and messages are those of bash."""
    directly, by_bash = _both_ways(job, command, folder, {})
    assert directly == by_bash


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"PWD": "{LINK}", "OLDPWD": "/usr"}, id="inherited directories"),
        pytest.param({"PWD": "/", "OLDPWD": "/no/such"}, id="wrong directories"),
        pytest.param({"SHLVL": "7", "_": "old", "PS1": "$ ", "PS2": "> "}, id="variables of a shell"),
        pytest.param({"SHLVL": "many"}, id="strange level"),
        pytest.param({"SHLVL": "999"}, id="deepest level"),
        pytest.param({"SHLVL": ""}, id="empty level"),
        pytest.param({"IFS": "x", "OPTIND": "4", "PS4": "- "}, id="variables that bash rewrites"),
        pytest.param({"BASH_FUNC_show%%": "() { echo function; }"}, id="exported function"),
        pytest.param({"SHELLOPTS": "xtrace"}, id="shell options"),
        pytest.param({"POSIXLY_CORRECT": "1"}, id="posix mode"),
        pytest.param({"A-B": "1", "LC_ALL": "C", "ÄÖ": "ü"}, id="strange names"),
        pytest.param({"HOME": ""}, id="no home"),
    ],
)
@pytest.mark.parametrize("command", ["./show", "show ~/x", "./missing"])
def test_executing_directly_is_invisible_in_any_environment(
    job: "MakeJob", folder: Path, command: str, more: Mapping[str, str]
) -> None:
    """The variables that bash sets, drops, obeys or rewrites are as bash would have them."""
    directly, by_bash = _both_ways(job, command, folder, more)
    assert directly == by_bash


def test_a_startup_file_of_bash_is_obeyed(job: "MakeJob", folder: Path) -> None:
    """BASH_ENV may change everything, so bash decides."""
    (folder / "startup").write_text("echo started; show() { echo function; }\n")
    directly, by_bash = _both_ways(job, "show", folder, {"BASH_ENV": "./startup"})
    assert directly == by_bash == (0, None, b"started\nfunction\n", b"", None)


def test_a_home_directory_on_the_path_is_searched(job: "MakeJob", folder: Path) -> None:
    """Bash finds programs in `~/bin`, and before those that come later."""
    _program(folder / "bin" / "cat", "#!/bin/sh\necho mine\n")
    directly, by_bash = _both_ways(job, "cat", folder, {"PATH": "~/bin:/usr/bin:/bin"})
    assert directly == by_bash == (0, None, b"mine\n", b"", None)


@pytest.mark.parametrize("command", DIRECT)
def test_a_simple_command_needs_no_shell(folder: Path, command: str) -> None:
    """Plain words, quoted text, project variables and the home directory are understood without bash."""
    assert direct_invocation(command, str(folder), _variables(folder, {})) is not None


@pytest.mark.parametrize("command", [command for command in BY_BASH if command != "~/missing"])
def test_everything_else_is_left_to_bash(folder: Path, command: str) -> None:
    """Text that only a shell can read, find or refuse is run by the shell."""
    assert direct_invocation(command, str(folder), _variables(folder, {})) is None


@pytest.mark.req("HOOK-188")
@pytest.mark.parametrize(
    "value",
    ["/a b", "/it's!here", "/p$(touch pwned)`touch pwned`;id&&id|id>x*?[a]{b}~#", "/p\ntouch pwned", '/"double"', "/ü"],
)
@pytest.mark.parametrize(
    "command",
    [
        "printf %s $LLXPRT_PROJECT_DIR",
        "printf %s ${LLXPRT_PROJECT_DIR}; :",
        '/usr/bin/printf %s "$LLXPRT_PROJECT_DIR"',
        "/usr/bin/printf %s $LLXPRT_PROJECT_DIR",
        'x=$(printf "%s." $LLXPRT_PROJECT_DIR); printf %s "${x%.}"',
    ],
)
def test_values_never_become_part_of_the_command(job: "MakeJob", tmp_path: Path, command: str, value: str) -> None:
    """A project directory with any name is one word, and nothing in it is executed."""
    (outcome,) = asyncio.run(run_children([job(command, env={"LLXPRT_PROJECT_DIR": value})]))
    assert (outcome.exit_code, outcome.stdout.decode(), outcome.stderr) == (0, value, b"")
    assert not (tmp_path / "pwned").exists()


def test_the_shell_is_bash_under_its_own_name(folder: Path) -> None:
    """Messages then start with `bash: line 1:`."""
    invocation = shell_invocation("a | b", str(folder), _variables(folder, {}))
    assert Path(os.fsdecode(invocation.executable)).name == "bash"
    assert invocation.argv == ("bash", "-c", "a | b")


@pytest.mark.attack("30.F1", "a program named bash in the project, and a relative directory in PATH")
@pytest.mark.parametrize("first", [".", "", "bin"])
def test_the_shell_is_none_of_the_project(folder: Path, monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """It would run in place of the user's guards, and let everything pass."""
    planted = folder / first / "bash"
    planted.parent.mkdir(exist_ok=True)
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{first}:{os.environ['PATH']}")
    commands._shell.cache_clear()
    try:
        invocation = shell_invocation("a | b", str(folder), _variables(folder, {}))
    finally:
        commands._shell.cache_clear()
    assert Path(os.fsdecode(invocation.executable)).is_absolute()


@pytest.mark.parametrize("option", ["-x; exit 2", "--version", "+x", "-e -c"])
def test_a_command_is_never_an_option_of_the_shell(
    job: "MakeJob", monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """A dash or a plus in front is part of the name of a program that does not exist, for bash and plain sh alike."""
    for shell in (("bash", "bash"), ("/bin/sh", "sh")):
        path = shutil.which(shell[0])
        assert path
        monkeypatch.setattr(commands, "_shell", lambda path=path, name=shell[1]: (path, name))
        (outcome,) = asyncio.run(run_children([job(f"{option}; exit 5")]))
        name = option.partition(" ")[0].rstrip(";")
        assert (outcome.stdout, f"{name}: " in outcome.stderr.decode()) == (b"", True)
        assert outcome.stderr.decode().startswith(f"{shell[1]}: ")
