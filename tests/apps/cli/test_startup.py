"""What the commands that people wait for load: modules are what their start takes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]}}
HTTP = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [{"type": "http", "url": "http://127.0.0.1:9/"}]}]}}

# Beside the name of a command: the most modules of ours, and what it must not load.
SLOW = {"typing_extensions", "ssl", "http", "email", "shutil", "tempfile", "regress", "sqlite3", "multiprocessing"}
OF_LARGE_LOGS = {"hookline.log.read.verify"}
OF_EVENTS = {
    "asyncio",
    "logging",
    "inspect",
    "dataclasses",
    "socket",
    "subprocess",
    "hookline.engine.system",
    "hookline.runners",
}
LIMITS = {
    "log": (71, SLOW | OF_EVENTS | OF_LARGE_LOGS | {"hookline.engine", "hookline.formats"}),
    # With all that it takes to say truly whether a hook can run.
    "list": (110, SLOW | (OF_EVENTS - {"hookline.runners", "subprocess"}) | OF_LARGE_LOGS | {"hookline.engine.run"}),
    "fire BeforeTool": (
        145,
        SLOW | OF_LARGE_LOGS | {"hookline.log.read.reader", "hookline.runners.http.http"},
    ),
}


def loaded(words: str, settings: object, folder: Path) -> set[str]:
    """The modules that are there when a command has ended."""
    file = folder / "settings.json"
    file.write_text(json.dumps(settings))
    program = (
        "import sys; from hookline.apps.cli.main import main\n"
        f"main([*{words.split()!r}, '--settings', {str(file)!r}, '--project', {str(folder)!r}])\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=45)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.req("WARM-042")
@pytest.mark.parametrize("words", LIMITS)
def test_a_command_loads_what_it_needs(words: str, tmp_path: Path) -> None:
    """Each module takes a tenth of a millisecond and more, and some take ten."""
    most, unwanted = LIMITS[words]
    modules = loaded(words, SETTINGS, tmp_path)
    assert unwanted & modules == set()
    assert sum(name.startswith("hookline") for name in modules) <= most


def test_a_request_can_be_made_over_tls(tmp_path: Path) -> None:
    """`fire` leaves ssl out only where no hook could use it."""
    assert "ssl" in loaded("fire BeforeTool", HTTP, tmp_path)


LEFT_OUT = {
    "load_asyncio(with_ssl=False)": (
        "ssl inspect locale logging",
        (
            "import ssl, asyncio, inspect, locale; assert ssl.create_default_context\n"
            "assert inspect.getsource(asyncio.run)\n"
            "async def f(): pass\n"
            "assert asyncio.iscoroutinefunction(f) and not asyncio.iscoroutinefunction(print)\n"
            "assert not asyncio.iscoroutinefunction(lambda: 0)\n"
            "import contextlib, io, logging, concurrent.futures._base as base\n"
            "with contextlib.redirect_stderr(io.StringIO()) as said:\n"
            "    asyncio.new_event_loop().call_exception_handler({'message': 'broken'})\n"
            "    base.LOGGER.error('also broken')\n"
            "assert said.getvalue() == 'broken\\nalso broken\\n', said.getvalue()\n"
            "logging.getLogger('asyncio').setLevel(50); assert not asyncio.log.logger.isEnabledFor(40)\n"
            "assert asyncio.coroutines.inspect.unwrap(f) is f\n"
            "import subprocess; assert subprocess.run(['echo', 'é'], capture_output=True, text=True).stdout == 'é\\n'"
        ),
    ),
    "load_msgspec()": (
        "platform textwrap typing_extensions",
        (
            "import msgspec, uuid, platform\n"
            "class Documented(msgspec.Struct):\n    'A text.'\n"
            "assert msgspec.json.schema(Documented)['$defs']['Documented']['description'] == 'A text.'\n"
            "assert uuid._LINUX == (platform.system() == 'Linux') and uuid.uuid1() and uuid.getnode()"
        ),
    ),
    "load_argparse()": (
        "gettext",
        (
            "import argparse, gettext; assert gettext.gettext('x') == 'x'\n"
            "parser = argparse.ArgumentParser(prog='p'); parser.add_argument('a', nargs=2)\n"
            "assert parser.format_usage() == 'usage: p [-h] a a\\n'\n"
            "try: parser.parse_args(['1'])\n"
            "except SystemExit as error: assert error.code == 2"
        ),
    ),
    "load_pathlib()": (
        "urllib.parse",
        "import pathlib, urllib.parse; assert pathlib.Path('/a b/é').as_uri() == 'file:///a%20b/%C3%A9'",
    ),
}


@pytest.mark.parametrize("call", LEFT_OUT)
def test_what_was_left_out_works_when_it_is_used(call: str, tmp_path: Path) -> None:
    """Neither hiding a module nor putting another in its place outlasts the import."""
    names, use = LEFT_OUT[call]
    program = f"""import sys; from hookline.apps.cli.lazy_imports import *
before = {{name for name in {names.split()} if name in sys.modules}}
{call}
assert before == {{name for name in {names.split()} if name in sys.modules}}, [*sys.modules]
{use}
"""
    subprocess.run([sys.executable, "-X", "utf8", "-c", program], check=True, cwd=tmp_path, timeout=45)


def test_the_end_of_a_short_command_is_complete() -> None:
    """It skips taking the interpreter apart, and nothing else: exit functions run, output and exit code arrive."""
    program = (
        "import atexit, sys, threading, time; from hookline.apps.cli.fast_exit import end_at_once, finish\n"
        "atexit.register(lambda: print('exit function'))\n"
        "threading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()\n"
        "end_at_once(); print('work', end=' '); finish(7); print('never')"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=45)
    assert (done.stdout, done.stderr, done.returncode) == ("work thread\nexit function\n", "", 7)
