"""The lines between us and a worker: one of JSON for each event, and one for each answer."""

from codecs import BOM_UTF8
from typing import Any

import msgspec

from hookline.child.job import ChildOutcome
from hookline.contract.wire import parse_json, stringify_json

MOST_AT_ONCE = 64
_LARGEST_EXIT_CODE = 255
_SHOWN = 120
# Some languages end a line at these, too, and they may be in any text: NEL, and the separators of lines and paragraphs.
_OTHER_ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


class WrongLineError(Exception):
    """A line that is no answer; the text says what the worker did, as in "its worker wrote …"."""


class _Line(msgspec.Struct):
    id: str
    output: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    exit: int | msgspec.UnsetType = msgspec.UNSET
    stderr: str = ""


_decode = msgspec.json.Decoder(_Line).decode


def request_line(event_id: str, event: str, given: bytes) -> bytes:
    """The line that asks a worker about an event; `given` is the JSON that a command would read from stdin."""
    for end, escaped in _OTHER_ENDS:
        if end in given:
            given = given.replace(end, escaped)
    return b'{"id":"%b","event":"%b","input":%b}\n' % (event_id.encode(), event.encode(), given.strip())


def read_ready(line: bytes) -> int:
    """How many events a new worker takes at the same time, from its first line; raise a WrongLineError for another."""
    said = _parsed(line.removeprefix(BOM_UTF8))  # which some runtimes write first
    at_once = said.get("concurrency", 1)
    if said.get("ready") is not True:
        raise WrongLineError(f'began with {shown(line)}; its first line is to be {{"ready": true}}')
    if type(at_once) is not int or at_once < 1:
        raise WrongLineError(f"gave a concurrency that is not a whole number of at least 1: {shown(line)}")
    return min(at_once, MOST_AT_ONCE)


def read_answer(line: bytes) -> tuple[str, ChildOutcome]:
    """Which event a line answers, and the answer as a process's outcome; raise a WrongLineError for any other line."""
    try:
        said = _decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # A lone surrogate or a wrong byte in a text is no reason to lose a deny.
        said = _lenient(line)
    if said.output is msgspec.UNSET and said.exit is msgspec.UNSET:
        raise WrongLineError(f"answered with neither output nor exit: {shown(line)}")
    code = 0 if said.exit is msgspec.UNSET else said.exit
    if not 0 <= code <= _LARGEST_EXIT_CODE:
        raise WrongLineError(f"gave an exit that is no exit code: {shown(line)}")
    stdout = b"" if said.output is msgspec.UNSET else _stdout(bytes(said.output), line, code)
    return said.id, ChildOutcome(exit_code=code, stdout=stdout, stderr=said.stderr.encode("utf-8", "replace"))


def shown(line: bytes) -> str:
    """The beginning of a line, for a message."""
    return repr(line[:_SHOWN].decode("utf-8", "replace")) + ("…" if len(line) > _SHOWN else "")


def _stdout(output: bytes, line: bytes, code: int) -> bytes:
    """What a command would have printed: an object as it is, or the text itself. A failure does not depend on it."""
    match output[:1]:
        case b"{":
            return output
        case b'"':
            text = parse_json(output.decode("utf-8", "replace"))
            return str(text).encode("utf-8", "replace")
        case b"n":
            return b""
    if code:
        return b""
    raise WrongLineError(f"gave an output that is neither an object nor a text: {shown(line)}")


def _lenient(line: bytes) -> _Line:
    said = _parsed(line)
    code = said.get("exit")
    if not isinstance(said.get("id"), str):
        raise WrongLineError(f"wrote a line without the id of an event: {shown(line)}")
    if code is not None and type(code) is not int:
        raise WrongLineError(f"gave an exit that is no number: {shown(line)}")
    output = msgspec.Raw(stringify_json(said["output"])) if "output" in said else msgspec.UNSET
    exit_code = msgspec.UNSET if code is None else code
    return _Line(id=said["id"], output=output, exit=exit_code, stderr=_text(said.get("stderr")))


def _text(value: Any) -> str:
    """A text as it is, and anything else as JSON: the type of a reason is no reason to lose a deny."""
    if value is None:
        return ""
    return value if isinstance(value, str) else stringify_json(value).decode("utf-8", "replace")


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        said = parse_json(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        advice = "only answers belong on stdout"
        raise WrongLineError(f"wrote a line that is no JSON object: {shown(line)}; {advice}")
    return said
