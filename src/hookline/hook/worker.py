"""A script of `hookline.hook` as a worker: one event after another, each answered as a separate process would."""

import json
import os
import sys

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

EXIT_FAILED = 1
_LARGEST_EXIT_CODE = 255


def work(
    call: "Callable[[Any], dict[str, Any] | None]", exit_code: "Callable[[BaseException], int | None]"
) -> "NoReturn":
    """Answers one line of stdin after another until there are no more, because the engine has ended.

    `call` gets the input of an event and returns its answer; `exit_code` says which of its exceptions are meant for
    people, without a traceback.
    """
    events, answers = os.fdopen(os.dup(0), "rb"), os.dup(1)
    # Neither a debugging print nor a child process must write an answer or take an event.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # Made once: `json.loads` and `json.dumps` look at their options each time.
    decode, encode = json.JSONDecoder().decode, json.JSONEncoder(default=str).encode
    _send(answers, '{"ready": true}')
    for line in events:
        request = decode(line.decode("utf-8", "surrogatepass"))
        output, code, stderr = _answer(call, exit_code, request["input"], encode)
        _send(answers, f'{{"id": "{request["id"]}", "output": {output}, "exit": {code}, "stderr": {encode(stderr)}}}')
    sys.exit(0)


def _answer(
    call: "Callable[[Any], dict[str, Any] | None]",
    exit_code: "Callable[[BaseException], int | None]",
    given: object,
    encode: "Callable[[object], str]",
) -> "tuple[str, int, str]":
    """The output as JSON, the exit code, and what was written to stderr."""
    usual, heard = sys.stderr, _Stderr()
    sys.stderr = heard  # as much of a text file as scripts use
    output, code = "null", 0
    try:
        output = encode(call(given))
    except SystemExit as ended:
        code = _code_of(ended.code, heard)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - also asyncio.CancelledError, which would end a script
        code = _failed(error, exit_code(error), heard)
    finally:
        sys.stderr = usual
    _flush_stdout()
    return output, code, "".join(heard.texts)


def _flush_stdout() -> None:
    """Has what was printed in the log now: a script that ends would flush it."""
    try:  # noqa: SIM105 - contextlib takes long to load
        sys.stdout.flush()
    except (AttributeError, OSError, ValueError):
        pass  # it was closed, or replaced


def _code_of(given: object, heard: "_Stderr") -> int:
    """The exit code of `sys.exit(given)`, as Python has it."""
    if given is None or isinstance(given, int):
        return (given or 0) & _LARGEST_EXIT_CODE
    heard.write(f"{given}\n")
    return EXIT_FAILED


def _failed(error: BaseException, code: int | None, heard: "_Stderr") -> int:
    if code is not None:
        heard.write(f"{error}\n")
        return code
    import traceback  # noqa: PLC0415 - only where something is wrong

    heard.write("".join(traceback.format_exception(error)))
    return EXIT_FAILED


def _send(to: int, answer: str) -> None:
    left = answer.encode() + b"\n"
    while left:
        left = left[os.write(to, left) :]


class _Stderr:
    """Keeps what a hook writes to stderr: with exit code 2 it is the reason of a deny."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, text: str) -> int:
        """Keeps the text."""
        self.texts.append(text)
        return len(text)

    def writelines(self, lines: "list[str]") -> None:
        """Keeps the lines."""
        self.texts += lines

    def flush(self) -> None:
        """Does nothing."""

    def isatty(self) -> bool:
        """Never a terminal."""
        return False

    def fileno(self) -> int:
        """For child processes; what they write goes to the log."""
        return 2
