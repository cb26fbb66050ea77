"""Reads the answer of a server: its status, and a body whose end is known. Whatever is unclear is an error."""

import re
import socket
from http import HTTPStatus
from http.client import BadStatusLine, HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected
from ssl import SSLEOFError
from typing import NamedTuple, cast

from hookline.runners.http.connections import Connection

_CLOSED_EARLY = "the connection was closed before the answer was complete"
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LENGTH = re.compile(r"[0-9]{1,18}")
_LONGEST_SHOWN = 60


class BadAnswerError(Exception):
    """Why an answer can't be used; the text says what the server did."""


class HttpAnswer(NamedTuple):
    """The body of a good answer."""

    body: bytes
    is_cut: bool
    can_be_used_again: bool
    """Whether the server keeps the connection open, and nothing more is on it."""


def read_answer(connection: Connection, most_bytes: int) -> HttpAnswer:
    """Return the next answer on a connection; raise a BadAnswerError or an OSError for one that is not good."""
    response = HTTPResponse(cast("socket.socket", connection), method="POST")
    try:
        return _read(response, connection, most_bytes)
    except (EOFError, IncompleteRead, RemoteDisconnected, SSLEOFError) as error:
        raise BadAnswerError(f"gave no usable answer: {_CLOSED_EARLY}") from error
    except BadStatusLine as error:
        raise BadAnswerError("did not answer with HTTP") from error
    except (HTTPException, ValueError) as error:
        raise BadAnswerError(f"gave no usable answer: {str(error) or type(error).__name__}") from error


def _read(response: HTTPResponse, connection: Connection, most_bytes: int) -> HttpAnswer:
    response.begin()
    code = response.status
    if not HTTPStatus.OK <= code < HTTPStatus.MULTIPLE_CHOICES:
        moved = " (redirects are not followed)" if HTTPStatus.MULTIPLE_CHOICES <= code < HTTPStatus.BAD_REQUEST else ""
        raise BadAnswerError(f"answered with status {code}{moved}")
    length = _checked_length(response)
    # A body where none may be could be a deny.
    if code in (HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT):
        if response.chunked or length or connection.has_more():
            raise BadAnswerError(f"answered with a body behind status {code}, which has none; use status 200 for it")
        return HttpAnswer(b"", is_cut=False, can_be_used_again=False)
    if length == 0 and not response.chunked and connection.has_more():
        raise BadAnswerError("answered with a body behind the length 0")
    has_end = length is not None or response.chunked
    is_too_long = length is not None and not response.chunked and length > most_bytes
    try:
        body = response.read(most_bytes if is_too_long else most_bytes + 1)
    except SSLEOFError as error:
        if has_end:
            raise
        advice = "the server should send a Content-Length"
        raise BadAnswerError(f"gave no usable answer: {_CLOSED_EARLY} ({advice})") from error
    is_cut = is_too_long or len(body) > most_bytes
    if response.length and len(body) < most_bytes:
        raise IncompleteRead(body)
    if not body and not has_end:  # a server that fails right behind the head looks the same
        raise BadAnswerError("ended its answer behind the head; use Content-Length: 0 or status 204 for an empty one")
    is_clear = not response.will_close and response.chunked is not (length is not None)
    return HttpAnswer(body[:most_bytes], is_cut, is_clear and not is_cut and not connection.has_more())


def _checked_length(response: HTTPResponse) -> int | None:
    """Return the Content-Length, if there is one; raise an error for headers that can be read in two ways."""
    headers = response.headers
    if headers.defects or headers.get_payload() or not all(map(_FIELD_NAME.fullmatch, headers)):
        raise ValueError("the answer has a header line that is not `name: value`")
    if (encoding := headers.get("content-encoding", "identity")).lower() != "identity":
        raise BadAnswerError(f"answered in a content encoding that was not asked for: {_shown(encoding)}")
    codings = headers.get_all("transfer-encoding", [])
    if codings and [each.lower() for each in codings] != ["chunked"]:
        raise BadAnswerError(f"answered in an unknown transfer encoding: {_shown(', '.join(codings))}")
    lengths = set(headers.get_all("content-length") or ())
    if len(lengths) > 1:
        raise ValueError("the answer has two lengths")
    if lengths and not _LENGTH.fullmatch(length := lengths.pop().strip()):
        raise ValueError(f"the answer has the length {_shown(length)}")
    return int(length) if "content-length" in headers else None


def _shown(text: str) -> str:
    return repr(text[:_LONGEST_SHOWN])
