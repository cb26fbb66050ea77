"""Whether the Python script of a hook can be compiled, by the interpreter that would run it. Nothing of it is run."""

import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

from hookline.inspect.view import Setup
from hookline.protocol.constants import PROJECT_DIR_VARIABLES, HookType, OnError
from hookline.protocol.hook_entry import HookEntry
from hookline.runners.process.command import direct_invocation
from hookline.settings.read.files import Problem, open_without_waiting
from hookline.shell.python import launched_python, python_command, shebang_launcher

_LARGEST_BYTES = 1024 * 1024
_LONGEST_SHEBANG = 256
_PATIENCE_S = 10
_COMPILE = "import sys; compile(sys.stdin.buffer.read(), 'script', 'exec')"


def script_syntax(setup: Setup) -> Iterator[Problem]:
    """The hooks whose script has a syntax error: Python then exits with 1, which blocks nothing."""
    for hook in setup.active():
        if hook.type is HookType.COMMAND and hook.command is not None and hook.args is None:
            try:
                fault = _fault(hook, setup.project_dir, setup.environ)
            except (OSError, ValueError, subprocess.TimeoutExpired):
                continue  # what can't be read or started is found by another check
            if fault is not None:
                yield setup.at(hook, fault, "command")


def _fault(hook: HookEntry, project_dir: str, environ: Mapping[str, str]) -> str | None:
    env = {**environ, **dict.fromkeys(PROJECT_DIR_VARIABLES, project_dir)}
    invocation = direct_invocation(hook.command or "", project_dir, env)
    if invocation is None:
        return None
    command = python_command(invocation.argv)
    name = invocation.argv[0] if command is None else command.script
    source = _read(Path(project_dir, name), is_python=command is not None)
    launcher = (os.fsdecode(invocation.executable),) if command is not None else shebang_launcher(source)
    error = None if launcher is None else _syntax_error(source)
    if launcher is None or error is None:
        return None
    # Another version of Python may know more words than ours, or fewer.
    python = shutil.which(launched_python(launcher), path=environ.get("PATH"))
    if python is None or not _is_refused_by(python, source, environ):
        return None
    place = f"line {error.lineno}: {error.msg}" if error.lineno else error.msg
    effect = "blocks" if hook.on_error is OnError.BLOCK else "blocks nothing"
    return (
        f"names {name}, which is not valid Python ({place}), so it fails at each event, which {effect}; fix that line"
    )


def _read(path: Path, *, is_python: bool) -> bytes:
    """The script; empty for what is none, or is too long to be read here."""
    if not path.is_file():
        return b""
    with open_without_waiting(path) as file:
        start = file.read(_LONGEST_SHEBANG)
        if not is_python and shebang_launcher(start) is None:
            return b""
        source = start + file.read(_LARGEST_BYTES)
    return source if len(source) < _LARGEST_BYTES else b""


def _syntax_error(source: bytes) -> SyntaxError | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "script", "exec", dont_inherit=True)
        except SyntaxError as error:
            return error
    return None


def _is_refused_by(python: str, source: bytes, environ: Mapping[str, str]) -> bool:
    done = subprocess.run(
        (python, "-I", "-S", "-c", _COMPILE),
        input=source,
        env=environ,
        cwd="/",
        capture_output=True,
        check=False,
        timeout=_PATIENCE_S,
    )
    return done.returncode != 0 and b"Error" in done.stderr
