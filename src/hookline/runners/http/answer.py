"""Reads the answer of a server: its status, and a body whose end is known. Whatever is unclear is an error."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

from hookline.runners.http.streams import Stream

_LONGEST_HEAD = 64 * 1024
_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: |$)")
# Without white space before the colon; a line break or NUL in a value may end the line for another program.
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\x00\r\n]*)")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_LONGEST_SHOWN = 60
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
# Answers that only announce another one.
_MOST_INTERIM = 8


class BadAnswerError(Exception):
    """Why an answer can't be used; the text says what the server did."""


class HttpAnswer(NamedTuple):
    """The body of a good answer."""

    body: bytes
    is_cut: bool
    can_be_used_again: bool
    """Whether the server keeps the connection open, and nothing more is on it."""


async def read_answer(stream: Stream, most_bytes: int) -> HttpAnswer:
    """The next answer on a connection; raise a BadAnswerError, ValueError or EOFError for one that is not good."""
    for _ in range(_MOST_INTERIM):
        version, code, lines = await _head(stream)
        if not HTTPStatus.CONTINUE <= code < HTTPStatus.OK or code == HTTPStatus.SWITCHING_PROTOCOLS:
            break
    if not HTTPStatus.OK <= code < HTTPStatus.MULTIPLE_CHOICES:
        moved = " (redirects are not followed)" if HTTPStatus.MULTIPLE_CHOICES <= code < HTTPStatus.BAD_REQUEST else ""
        raise BadAnswerError(f"answered with status {code}{moved}")
    fields = _fields(lines)
    keeps = version == b"1" and b"close" not in fields.get(b"connection", b"").lower()
    if fields.get(b"content-encoding", b"identity").lower() != b"identity":
        raise BadAnswerError(
            f"answered in a content encoding that was not asked for: {_shown(fields[b'content-encoding'])}"
        )
    if code in (HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT):
        # It could be a deny.
        if b"transfer-encoding" in fields or fields.get(b"content-length", b"0") != b"0" or not stream.is_drained():
            raise BadAnswerError(f"answered with a body behind status {code}, which has none; use status 200 for it")
        return HttpAnswer(b"", is_cut=False, can_be_used_again=keeps)
    body, is_cut = await _body(stream, fields, most_bytes)
    if not body and not is_cut and not stream.is_drained():
        raise BadAnswerError("answered with a body behind the length 0")
    has_one_end = (b"transfer-encoding" in fields) is not (b"content-length" in fields)
    return HttpAnswer(body, is_cut, can_be_used_again=keeps and has_one_end and not is_cut and stream.is_drained())


async def _body(stream: Stream, fields: Mapping[bytes, bytes], most_bytes: int) -> tuple[bytes, bool]:
    """The body, and whether it was cut."""
    if (coding := fields.get(b"transfer-encoding")) is not None:
        if coding.lower() != b"chunked":
            raise BadAnswerError(f"answered in an unknown transfer encoding: {_shown(coding)}")
        return await _chunks(stream, most_bytes)
    if (length := fields.get(b"content-length")) is not None:
        size = _length(length)
        return await stream.read_exactly(min(size, most_bytes)), size > most_bytes
    body, is_cut = await stream.read_rest(most_bytes)
    if not body:  # a server that fails right behind the head looks the same
        raise BadAnswerError("ended its answer behind the head; use Content-Length: 0 or status 204 for an empty one")
    return body, is_cut


async def _head(stream: Stream) -> tuple[bytes, int, list[bytes]]:
    """The minor version, the status and the fields of the next answer."""
    first, *lines = (await stream.read_until(b"\r\n\r\n", _LONGEST_HEAD)).split(b"\r\n")
    status = _STATUS.match(first)
    if status is None:
        raise BadAnswerError("did not answer with HTTP")
    return status[1], int(status[2]), lines


def _fields(lines: list[bytes]) -> dict[bytes, bytes]:
    fields: dict[bytes, bytes] = {}
    for line in lines:
        name, value = _field(line)
        if name != b"content-length":
            # Several lines of one name are a list.
            fields[name] = fields[name] + b", " + value if name in fields else value
        elif fields.setdefault(name, value) != value:
            raise ValueError("the answer has two lengths")
    return fields


def _field(line: bytes) -> tuple[bytes, bytes]:
    """The name in small letters, and the value."""
    if line.startswith((b" ", b"\t")):
        # A continued line: others read it as part of the value before it.
        raise ValueError(f"the answer has a header line that begins with white space: {_shown(line)}")
    if (field := _FIELD.fullmatch(line)) is None:
        raise ValueError(f"the answer has a header line that is not `name: value`: {_shown(line)}")
    return field[1].lower(), field[2].strip(b" \t")


def _length(text: bytes) -> int:
    if not _LENGTH.fullmatch(text):
        raise ValueError(f"the answer has the length {_shown(text)}")
    return int(text)


def _shown(text: bytes) -> str:
    return repr(text[:_LONGEST_SHOWN].decode("latin-1"))


async def _chunks(stream: Stream, most_bytes: int) -> tuple[bytes, bool]:
    body = bytearray()
    while True:
        line = (await stream.read_until(b"\r\n", _LONGEST_HEAD)).partition(b";")[0].strip()
        if not _SIZE.fullmatch(line):
            raise ValueError("the answer has a chunk without a size")
        size = int(line, 16)
        if size == 0:
            break
        if len(body) + size > most_bytes:
            return bytes(body + await stream.read_exactly(most_bytes - len(body))), True
        body += await stream.read_exactly(size)
        if await stream.read_exactly(2) != b"\r\n":
            raise ValueError("the answer has a chunk of another size than it says")
    await _skip_trailers(stream)
    return bytes(body), False


async def _skip_trailers(stream: Stream) -> None:
    """Reads the fields behind the last chunk, and the empty line that ends them."""
    left = _LONGEST_HEAD
    while line := await stream.read_until(b"\r\n", left):
        left -= len(line)
        if left <= 0:
            raise ValueError("the answer has too long a head")
