import pytest

from hookline.shell.python import PythonCommand, launched_python, python_command, shebang_launcher


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("python3 hook.py", (("python3",), "hook.py")),
        ("python hook.py -c x", (("python",), "hook.py")),
        ("/usr/bin/python3.12 -uB -OO ./hook.py --fast", (("/usr/bin/python3.12", "-uB", "-OO"), "./hook.py")),
        ("python3", None),
        ("python3 -", None),
        ("python3 -c pass", None),
        ("python3 -m hook", None),
        ("python3 -X utf8 hook.py", None),
        ("python3 -I hook.py", None),
        ("python3 -uE hook.py", None),
        ("python3 -S hook.py", None),
        ("python3 -W error hook.py", None),
        ("python3 --help", None),
        ("python2 hook.py", None),
        ("pythonx hook.py", None),
        ("pypy3 hook.py", None),
        ("uv run hook.py", None),
        ("node hook.js", None),
    ],
)
def test_commands(words: str, found: tuple[tuple[str, ...], str] | None) -> None:
    """Only an interpreter, harmless options and a file."""
    assert python_command(words.split()) == (None if found is None else PythonCommand(*found))


@pytest.mark.parametrize(
    ("line", "found", "python"),
    [
        (b"#!/usr/bin/python3\n", ("/usr/bin/python3",), "/usr/bin/python3"),
        (b"#! /usr/bin/python3 \t-u \nx", ("/usr/bin/python3", "-u"), "/usr/bin/python3"),
        (b"#!/usr/bin/env python3\n", ("/usr/bin/env", "python3"), "python3"),
        (b"#!/usr/bin/env -S python3 -u\n", ("/usr/bin/env", "-S python3 -u"), "python3"),
        (b"#!/usr/bin/python3 -I\n", None, ""),
        (b"#!/usr/bin/python3 -u -B\n", None, ""),
        (b"#!/usr/bin/env -S python3 -E\n", None, ""),
        (b"#!/usr/bin/env -S A=1 python3\n", None, ""),
        (b"#!/usr/bin/env -i python3\n", None, ""),
        (b"#!/usr/bin/env\n", None, ""),
        (b"#!/bin/sh\n", None, ""),
        (b"#!/usr/bin/python3", None, ""),
        (b"print(1)\n", None, ""),
        (b"#!\n", None, ""),
        (b"", None, ""),
        ("#!/usr/bin/pythön3\n".encode(), None, ""),
    ],
)
def test_first_lines(line: bytes, found: tuple[str, ...] | None, python: str) -> None:
    """As the kernel reads them: everything behind the interpreter is one argument."""
    assert shebang_launcher(line) == found
    assert found is None or launched_python(found) == python
