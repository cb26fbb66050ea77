"""The chain of hashes in the log: each line ends with its sequence number and a hash that covers the line before it.

The hash is the SHA-256 of the previous line's hash (of nothing, for the first line of all) and all bytes of the line
that stand before `,"hash"`. A line whose predecessor is not in the same file names its hash as `prev`.
"""

import hashlib
import os
import re
from typing import NamedTuple

from hookline.protocol.text.patterns import lazy_pattern

LINK_BYTES = 100
"""How much longer a line gets, at most; `prev` comes on top, once or twice in a file."""

_HASH = b',"hash":"'
_LINK = re.compile(rb',"seq":([1-9]\d{0,17})(?:,"prev":"([0-9a-f]{64})")?,"hash":"([0-9a-f]{64})"\}')
_LONGEST_LINK = 256
_HEAD = lazy_pattern(r"(?:([1-9]\d{0,17}):)?([0-9a-f]{64})")
_BLOCK = 1024 * 1024


class Head(NamedTuple):
    """The last line of a chain."""

    seq: int
    """0 where only the hash was kept."""
    hash: str

    def __str__(self) -> str:
        """As `hookline log --verify --save FILE` prints it."""
        return f"{self.seq}:{self.hash}" if self.seq else self.hash

    @classmethod
    def parse(cls, text: str) -> "Head | None":
        """The head that `hookline log --verify --save FILE` printed, or its hash alone; None for any other text."""
        found = _HEAD.fullmatch(text)
        return None if found is None else cls(int(found[1] or 0), found[2])


START = Head(0, "")


class Link(NamedTuple):
    """The position of a line in the chain, as its end states it."""

    seq: int
    prev: str | None
    hash: str
    body: bytes
    """The bytes that the hash covers, beside the hash of the line before."""

    @classmethod
    def read(cls, line: bytes) -> "Link | None":
        """The link of a line without its newline; None for a line that has none."""
        found = _LINK.search(line, max(0, len(line) - _LONGEST_LINK))
        if found is None or found.end() != len(line):
            return None
        prev = None if found[2] is None else found[2].decode()
        return cls(int(found[1]), prev, found[3].decode(), line[: found.start(3) - len(_HASH)])

    def follows(self, prev: str) -> bool:
        """Whether the hash is the right one after a line with this hash."""
        return self.hash == self.hash_after(prev)

    def hash_after(self, prev: str) -> str:
        """The right hash after a line with this hash."""
        return _digest(prev, self.body)


class Tail(NamedTuple):
    """How a file of the log ends."""

    head: Head | None
    """Its last line with a hash, or None."""
    is_torn: bool
    """Whether the file ends inside a line."""


def link_lines(lines: list[bytes], head: Head, *, names_prev: bool) -> tuple[bytes, Head]:
    """The lines with their links, the first of them to the line `head`; and the new head."""
    seq, prev = head
    named = b',"prev":"%b"' % prev.encode() if names_prev and prev else b""
    linked = []
    for line in lines:
        seq += 1
        body = b'%b,"seq":%d%b' % (line[:-2], seq, named)
        prev = _digest(prev, body)
        linked.append(b'%b,"hash":"%b"}\n' % (body, prev.encode()))
        named = b""
    return b"".join(linked), Head(seq, prev)


def read_tail(descriptor: int, size: int) -> Tail:
    """How a file of this size ends. Reads the last bytes alone, unless they are lines without hashes."""
    end = os.pread(descriptor, _LONGEST_LINK, max(0, size - _LONGEST_LINK))
    is_torn = bool(end) and not end.endswith(b"\n")
    # A line that lacks only its newline is whole.
    link = Link.read(end.removesuffix(b"\n").rpartition(b"\n")[2])
    return Tail(Head(link.seq, link.hash) if link else _last_head(descriptor, size), is_torn)


def _last_head(descriptor: int, size: int) -> Head | None:
    end = size
    while end > 0:
        start = max(0, end - _BLOCK)
        block = os.pread(descriptor, end - start, start)
        for found in reversed(list(_LINK.finditer(block))):
            if block[found.end() : found.end() + 1] == b"\n":
                return Head(int(found[1]), found[3].decode())
        # A link may stand across the border of two blocks.
        end = start + _LONGEST_LINK if start else 0
    return None


def _digest(prev: str, body: bytes) -> str:
    return hashlib.sha256(prev.encode() + body).hexdigest()
