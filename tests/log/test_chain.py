import hashlib
import os
from pathlib import Path

import pytest

from hookline.log.write.chain import LINK_BYTES, START, Head, Link, Tail, link_lines, read_tail

LINES = [b'{"kind":"event","n":%d}\n' % number for number in range(3)]


def tail_of(path: Path, data: bytes) -> Tail:
    path.write_bytes(data)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return read_tail(descriptor, len(data))
    finally:
        os.close(descriptor)


def test_each_hash_is_that_of_the_hash_before_and_of_the_line_itself() -> None:
    """A few lines of shell can check it: sha256 of the previous hash and of everything before `,"hash"`."""
    linked, head = link_lines([b'{"a":1}\n', b'{"b":2}\n'], START, names_prev=True)
    first = hashlib.sha256(b'{"a":1,"seq":1').hexdigest()
    second = hashlib.sha256(first.encode() + b'{"b":2,"seq":2').hexdigest()
    assert linked.decode() == f'{{"a":1,"seq":1,"hash":"{first}"}}\n{{"b":2,"seq":2,"hash":"{second}"}}\n'
    assert head == (2, second)


def test_a_line_names_the_one_before_only_in_another_file() -> None:
    """Within a file it stands right above."""
    linked, head = link_lines(LINES, Head(6, "a" * 64), names_prev=True)
    links = [Link.read(line) for line in linked.splitlines()]
    assert [link and (link.seq, link.prev) for link in links] == [(7, "a" * 64), (8, None), (9, None)]
    assert links[2] is not None
    assert (links[2].seq, links[2].hash) == head
    assert all(link is not None for link in links)


@pytest.mark.parametrize("length", [10, 3_000])
def test_short_and_long_lines_have_the_same_kind_of_hash(length: int) -> None:
    """Python's own SHA-256 and that of OpenSSL are one function."""
    linked, _ = link_lines([b'{"a":"%b"}\n' % (b"x" * length)], START, names_prev=False)
    link = Link.read(linked[:-1])
    assert link is not None
    assert (link.follows(""), link.follows("b" * 64)) == (True, False)


def test_a_link_takes_no_more_room_than_is_planned_for() -> None:
    """Files stay below their limit."""
    linked, _ = link_lines([b"{}\n"], Head(10**18 - 2, "a" * 64), names_prev=False)
    assert len(linked) - len(b"{}\n") <= LINK_BYTES


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b'{"seq":1,"hash":"abc"}',
        b'{"a":1,"seq":0,"hash":"%b"}' % (b"a" * 64),
        b'{"a":1,"seq":1,"hash":"%b"} ' % (b"a" * 64),
        b'{"a":1,"seq":1,"hash":"%b","b":1}' % (b"a" * 64),
        b'{"a":",\\"seq\\":1,\\"hash\\":\\"%b\\"}' % (b"a" * 64),
    ],
)
def test_a_line_without_a_link_at_its_end_has_none(line: bytes) -> None:
    """Texts of hooks can't look like a link, because their quotes are escaped."""
    assert Link.read(line) is None


@pytest.mark.parametrize(
    ("end", "is_torn"),
    [
        pytest.param(b"", False, id="whole"),
        pytest.param(b'{"kind":"ev', True, id="torn"),
        pytest.param(b'{"kind":"event"}\n', False, id="a-line-without-hash"),
        pytest.param(b"x" * 3_000_000, True, id="long-and-torn"),
        pytest.param(b"x" * 1_048_500, True, id="across-the-border-of-a-block"),
    ],
)
def test_the_last_hash_is_found(tmp_path: Path, end: bytes, *, is_torn: bool) -> None:
    """With any text after it."""
    linked, head = link_lines(LINES, START, names_prev=False)
    assert tail_of(tmp_path / "log", linked + end) == Tail(head, is_torn)


def test_a_line_that_lacks_only_its_newline_is_whole(tmp_path: Path) -> None:
    """Its hash counts, and the next line begins with a newline."""
    linked, head = link_lines(LINES, START, names_prev=False)
    assert tail_of(tmp_path / "log", linked[:-1]) == Tail(head, is_torn=True)


def test_a_log_of_an_older_version_has_no_head(tmp_path: Path) -> None:
    """The chain begins after it."""
    assert tail_of(tmp_path / "log", b"".join(LINES)) == Tail(None, is_torn=False)
    assert tail_of(tmp_path / "log", b"") == Tail(None, is_torn=False)


@pytest.mark.parametrize("text", ["7:" + "a" * 64, "a" * 64])
def test_a_head_is_read_as_it_was_printed(text: str) -> None:
    """With its number, or the hash alone."""
    assert str(Head.parse(text)) == text


@pytest.mark.parametrize("text", ["", "7", "x:" + "a" * 64, "A" * 64, "a" * 63, "7:" + "a" * 64 + "\n"])
def test_what_is_no_head_is_none(text: str) -> None:
    """Anything else is a file's name, perhaps."""
    assert Head.parse(text) is None
