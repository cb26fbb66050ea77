"""The lines between us and a worker: one of JSON for each event, and one for each answer."""

from codecs import BOM_UTF8
from typing import Any

import msgspec

from hookline.protocol.answers import read_stdout, text_of
from hookline.protocol.text.json_text import parse_json, stringify_json
from hookline.protocol.text.near_misses import misspelt_denial, quoted, repeated_field
from hookline.runners.process.job import ChildOutcome

MOST_AT_ONCE = 64
_LARGEST_EXIT_CODE = 255
_SHOWN = 120
# Some languages end a line at these, too, and they may be in any text: NEL, and the separators of lines and paragraphs.
_OTHER_ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


class WrongLineError(Exception):
    """A line that is not an answer; the text describes it, as in "its worker wrote …"."""


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    output: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    exit: int | msgspec.UnsetType = msgspec.UNSET
    stderr: str = ""
    error: str = ""
    """Why the worker could not judge the event."""


_FIELDS = frozenset(_Line.__struct_fields__)
_EXITS = frozenset({"exitcode", "exitstatus", "returncode", "code", "rc", "status"})
_decode = msgspec.json.Decoder(_Line).decode


def request_line(event_id: str, event: str, given: bytes) -> bytes:
    """The line that asks a worker about an event; `given` is the JSON that a command would read from stdin."""
    for end, escaped in _OTHER_ENDS:
        if end in given:
            given = given.replace(end, escaped)
    return b'{"id":"%b","event":"%b","input":%b}\n' % (event_id.encode(), event.encode(), given.strip())


def read_ready(line: bytes) -> int:
    """How many events a new worker takes at the same time, from its first line; raise a WrongLineError for another."""
    fields = _parsed(line.removeprefix(BOM_UTF8))  # which some runtimes write first
    at_once = fields.get("concurrency", 1)
    if fields.get("ready") is not True:
        raise WrongLineError(f'began with {shown(line)}; its first line is to be {{"ready": true}}')
    if type(at_once) is not int or at_once < 1:
        raise WrongLineError(f"gave a concurrency that is not a whole number of at least 1: {shown(line)}")
    return min(at_once, MOST_AT_ONCE)


def read_answer(line: bytes) -> tuple[str, ChildOutcome]:
    """Which event a line answers, and the answer as a process's outcome; raise a WrongLineError for any other line."""
    try:
        fields = _decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # A lone surrogate or a wrong byte in a text must not lose a deny.
        fields = _lenient(line)
    if fields.output is msgspec.UNSET and fields.exit is msgspec.UNSET and not fields.error:
        raise WrongLineError(f"answered with neither output nor exit: {shown(line)}")
    code = 0 if fields.exit is msgspec.UNSET else fields.exit
    if not 0 <= code <= _LARGEST_EXIT_CODE:
        raise WrongLineError(f"gave an exit that is not an exit code: {shown(line)}")
    stdout = b"" if fields.output is msgspec.UNSET else _stdout(bytes(fields.output), line, code)
    outcome = ChildOutcome(exit_code=code, stdout=stdout, stderr=fields.stderr.encode("utf-8", "replace"))
    return fields.id, _checked(outcome, fields.error.strip(), line)


def shown(line: bytes) -> str:
    """The beginning of a line, for a message."""
    return repr(line[:_SHOWN].decode("utf-8", "replace")) + ("…" if len(line) > _SHOWN else "")


def _checked(outcome: ChildOutcome, error: str, line: bytes) -> ChildOutcome:
    """Return the outcome. If the worker reports an error or repeats a field, only a refusal is honored."""
    repeated = repeated_field(line.decode("utf-8", "replace"), _FIELDS)
    if (not error and repeated is None) or outcome.exit_code:
        return outcome if not error else _with_error(outcome, error)
    answer = read_stdout(outcome.stdout.decode("utf-8", "replace"))
    if answer is not None and (answer.blocks or answer.stops or answer.asks):
        return _with_error(outcome, error)
    if repeated is not None:
        raise WrongLineError(f"wrote a line that can be read in two ways: {repeated}")
    return _with_error(ChildOutcome(exit_code=1, stderr=outcome.stderr), error)


def _with_error(outcome: ChildOutcome, error: str) -> ChildOutcome:
    texts = (outcome.stderr, error.encode("utf-8", "replace"))
    return msgspec.structs.replace(outcome, stderr=b"\n".join(filter(None, texts)))


def _stdout(output: bytes, line: bytes, code: int) -> bytes:
    """Return the stdout of an equivalent command: the object, or the text. A failure ignores it."""
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
    fields = _parsed(line)
    code = fields.get("exit")
    if not isinstance(fields.get("id"), str):
        raise WrongLineError(f"wrote a line without the id of an event: {shown(line)}")
    if code is not None and type(code) is not int:
        raise WrongLineError(f"gave an exit that is not a number: {shown(line)}")
    output = msgspec.Raw(stringify_json(fields["output"])) if "output" in fields else msgspec.UNSET
    exit_code = msgspec.UNSET if code is None else code
    unread = {name: value for name, value in fields.items() if name not in _FIELDS}
    denial = misspelt_denial(unread) or _misspelt_exit(unread)
    if denial is not None and not code:
        raise WrongLineError(f"wrote a line with a field that is not read: {denial}: {shown(line)}")
    texts = {name: text_of(fields.get(name)) or "" for name in ("stderr", "error")}
    return _Line(id=fields["id"], output=output, exit=exit_code, **texts)


def _misspelt_exit(unread: dict[str, Any]) -> str | None:
    for name, value in unread.items():
        if value and name.lower().replace("_", "") in _EXITS:
            return f'{name} is {quoted(value)}, which is not read; write "exit"'
    return None


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        fields = parse_json(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        advice = "only answers belong on stdout"
        raise WrongLineError(f"wrote a line that is no JSON object: {shown(line)}; {advice}")
    return fields
