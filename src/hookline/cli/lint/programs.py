"""Whether the program of a command exists and can be started, found in the way that the runner finds it."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hookline.child.command import direct_invocation, shell_invocation
from hookline.contract.hooks import PROJECT_DIR_VARIABLES, HookEntry, HookType

_INTERPRETER = re.compile(r"(?:bash|dash|node|perl|php|python|ruby|sh|zsh)[\d.]*")
# After these the next word is not a script.
_PROGRAM_OPTIONS = ("-c", "-e", "-m", "--eval")
_LONGEST_SHEBANG = 256
_PATIENCE_S = 10
_CREATE = "create the file, or fix the path"


def program_fault(hook: HookEntry, project_dir: str, environ: Mapping[str, str]) -> str | None:
    """What keeps a hook's command from being started and what to do about it, or None."""
    if hook.type is not HookType.COMMAND or hook.command is None:
        return 'is of type "plugin", which cannot be run; write "type": "command"'
    env = {**environ, **hook.env, **dict.fromkeys(PROJECT_DIR_VARIABLES, project_dir)}
    try:
        return _fault(hook.command, project_dir, env)
    except (OSError, ValueError) as error:
        # A null character, a variable without a name, no shell: the runner would fail in the same way.
        return f"cannot be started: {error}; fix it"
    except subprocess.TimeoutExpired:
        return None


def _fault(command: str, project_dir: str, env: Mapping[str, str]) -> str | None:
    words = _words(command, project_dir, env)
    if words is None:
        return _syntax_fault(command, project_dir, env)
    if not words:
        return None
    return _lookup_fault(words[0], project_dir, env) or _script_fault(words, project_dir)


def _words(command: str, project_dir: str, env: Mapping[str, str]) -> Sequence[str] | None:
    """The words of a simple command without the assignments before it, or None if only a shell can parse it."""
    needed = ("PATH", "HOME", *PROJECT_DIR_VARIABLES)
    known = {name: env[name] for name in needed if name in env}
    # With `env` before it, the runner's own parser accepts any simple command, even of a missing program or a builtin.
    invocation = direct_invocation(f"env {command}", project_dir, known)
    if invocation is None:
        return None
    words = list(invocation.argv[1:])
    while words and "=" in words[0].partition("/")[0]:
        words.pop(0)
    return words


def _syntax_fault(command: str, project_dir: str, env: Mapping[str, str]) -> str | None:
    shell = shell_invocation(command, project_dir, env)
    option, text = shell.argv[1:]
    done = subprocess.run(  # noqa: S603 - reads the command without running it
        [shell.executable, "-n", option, text], env=env, capture_output=True, check=False, timeout=_PATIENCE_S
    )
    if done.returncode == 0:
        return None
    errors = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["syntax error"]
    return f"cannot be parsed by {shell.argv[0]} ({errors[0]}); fix its quoting"


def _lookup_fault(program: str, project_dir: str, env: Mapping[str, str]) -> str | None:
    if "/" in program:
        return _file_fault(program, project_dir, env)
    shell = shell_invocation("", project_dir, env)
    done = subprocess.run(  # noqa: S603 - asks what the word means, and runs nothing
        [shell.executable, "-c", 'command -v -- "$1"', shell.argv[0], program],
        env=env,
        cwd=project_dir,
        capture_output=True,
        check=False,
        timeout=_PATIENCE_S,
    )
    if done.returncode == 0:
        return None
    if (Path(project_dir) / program).is_file():
        return f"names {program}, which is not on PATH; for the file in the project write ./{program}"
    return f"names {program}, which is neither on PATH nor a builtin of {shell.argv[0]}; install it or write its path"


def _file_fault(name: str, project_dir: str, env: Mapping[str, str]) -> str | None:
    path = Path(project_dir, name)
    if path.is_dir():
        return f"names {name}, which is a directory; name a program"
    if not path.is_file():
        return f"names {name}, which does not exist; {_CREATE}"
    if not os.access(path, os.X_OK):
        return f"names {name}, which is not executable; run: chmod +x {name}"
    return _shebang_fault(name, path, env)


def _shebang_fault(name: str, path: Path, env: Mapping[str, str]) -> str | None:
    try:
        with path.open("rb") as file:
            line = file.readline(_LONGEST_SHEBANG)
    except OSError:
        return None  # a program that cannot be read may still be executable
    if not line.startswith(b"#!"):
        return None
    if line.endswith(b"\r\n"):
        return (
            f"names {name}, which has Windows line ends, so its interpreter is not found; save it with Unix line ends"
        )
    interpreter, *rest = line[2:].decode("utf-8", "replace").split() or [""]
    if interpreter.endswith("/env") and rest and not rest[0].startswith("-"):
        return None if shutil.which(rest[0], path=env.get("PATH")) else _no_interpreter(name, rest[0])
    return None if Path(interpreter).exists() else _no_interpreter(name, interpreter)


def _no_interpreter(name: str, interpreter: str) -> str:
    return f"names {name}, whose first line asks for {interpreter}, which does not exist; install it or fix that line"


def _script_fault(words: Sequence[str], project_dir: str) -> str | None:
    """What is wrong with the script that an interpreter runs."""
    if not _INTERPRETER.fullmatch(Path(words[0]).name):
        return None
    for word in words[1:]:
        if word in _PROGRAM_OPTIONS:
            return None
        if not word.startswith("-"):
            # Python then exits with code 2, which denies.
            also = ", so everything is blocked" if Path(words[0]).name.startswith("python") else ""
            return None if Path(project_dir, word).exists() else f"names {word}, which does not exist{also}; {_CREATE}"
    return None
