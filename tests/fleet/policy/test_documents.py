"""Documents and signatures: anything but the exact signed bytes is refused."""

import base64
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.fleet.company import Company, agents_off

from hookline.errors import HooklineError
from hookline.fleet.policy.documents import (
    MOST_BYTES,
    MOST_FILE_BYTES,
    PackedFile,
    PolicyError,
    SignedDocument,
    new_key,
    packed,
    public_key,
    read_signed,
    sign,
    signer_of,
    unsigned,
)


def test_a_document_comes_back_as_it_was_signed(company: Company) -> None:
    """Bytes → document: settings, files, versions, teams and days are all there."""
    bundle = company.bundle(files={"guard.py": "print(1)\n", "lib/rules.txt": "é"}, version=7, teams=("web", "all"))
    envelope = read_signed(company.signed(bundle).to_bytes())
    assert signer_of(envelope, (company.key,)) == company.key
    assert envelope.document == bundle


@pytest.mark.parametrize("part", ["signed", "signature"])
def test_each_changed_byte_breaks_the_signature(company: Company, part: str) -> None:
    """One changed character anywhere makes the signature invalid."""
    envelope = company.signed(company.bundle())
    if part == "signed":
        forged = replace(envelope, signed=envelope.signed.replace('"version":1', '"version":2'))
    else:
        (one,) = envelope.signatures
        raw = bytearray(base64.b64decode(one.signature))
        raw[7] ^= 1
        forged = replace(envelope, signatures=(replace(one, signature=base64.b64encode(raw).decode()),))
    with pytest.raises(PolicyError, match="not signed by a key"):
        signer_of(forged, (company.key,))


def test_another_key_counts_for_nothing(company: Company, tmp_path: Path) -> None:
    """A signature of another key is refused, also one that claims to be the company's."""
    stranger = tmp_path / "stranger.key"
    new_key(stranger)
    own = sign(unsigned(company.bundle()), stranger)
    claimed = replace(own, signatures=(replace(own.signatures[0], key=company.key),))
    for envelope in (own, claimed):
        with pytest.raises(PolicyError, match="not signed by a key"):
            signer_of(envelope, (company.key,))
    with pytest.raises(PolicyError, match="is not signed; run: hookline fleet policy sign"):
        signer_of(unsigned(company.bundle()), (company.key,))


def test_two_keys_can_sign_while_one_replaces_the_other(company: Company, tmp_path: Path) -> None:
    """A document with both signatures is good on machines that know either key."""
    newer = new_key(tmp_path / "newer.key")
    envelope = sign(company.signed(company.bundle()), tmp_path / "newer.key")
    assert [signer_of(envelope, (key,)) for key in (company.key, newer)] == [company.key, newer]
    assert sign(envelope, company.key_file).signatures[-1].key == company.key
    assert len(sign(envelope, company.key_file).signatures) == 2


def test_the_signature_of_switches_is_none_of_a_bundle(company: Company) -> None:
    """A kind is part of what is signed: the text can't be taken for the other kind."""
    switches = company.signed(company.switches(agents_off()))
    forged = replace(switches, signed=switches.signed.replace('"switches"', '"bundle"', 1))
    with pytest.raises(PolicyError):
        signer_of(forged, (company.key,))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{}", id="no-fields"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"format":"hookline-policy/2","signed":"{}"}', id="other-format"),
        pytest.param(b'{"format":"hookline-policy/1","signed":"{}","more":1}', id="more-fields"),
        pytest.param(b'{"format":"hookline-policy/1","signed":"\\ud800"}', id="surrogate"),
        pytest.param(b"\xff\xfe", id="no-utf-8"),
        pytest.param(b" " * (MOST_BYTES + 1), id="too-large"),
    ],
)
def test_what_is_no_document_is_refused(data: bytes) -> None:
    """Any other content is a PolicyError."""
    with pytest.raises(PolicyError):
        read_signed(data)


def test_a_truncated_document_is_refused(company: Company) -> None:
    """Wherever it is cut off."""
    data = company.signed(company.bundle(files={"a.py": "x" * 200})).to_bytes()
    for end in range(0, len(data) - 2, 97):
        with pytest.raises(PolicyError):
            read_signed(data[:end])


def _with_files(company: Company, **files: PackedFile) -> SignedDocument:
    return unsigned(company.bundle(files=dict(files)))


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/passwd", "a/../../x", ".bashrc", "a/.ssh/x", "a//b", "", ".", "a\\b", "a b", "é", "a\nb", "x/" * 20],
)
def test_no_name_leads_elsewhere(company: Company, name: str) -> None:
    """A file of a bundle stands below its own directory, in plain letters."""
    with pytest.raises(PolicyError, match="can't be unpacked"):
        _ = _with_files(company, **{name: packed(b"x", executable=False)}).document


@pytest.mark.parametrize(
    ("names", "words"),
    [(("a", "A"), "differ in capital letters"), (("a", "a/b"), "below another file"), (("B", "b/c"), "below another")],
)
def test_names_do_not_collide(company: Company, names: tuple[str, str], words: str) -> None:
    """No file replaces another one, on any file system."""
    with pytest.raises(PolicyError, match=words):
        _ = _with_files(company, **{name: packed(b"x", executable=False) for name in names}).document


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sha256": "0" * 64}, "does not have its hash"),
        ({"content": "?"}, "not base64"),
        ({"content": base64.b64encode(bytes(MOST_FILE_BYTES + 1)).decode()}, "more than 4 MiB"),
    ],
)
def test_contents_are_what_their_hashes_say(company: Company, change: dict[str, Any], words: str) -> None:
    """Even a signed document with a wrong hash or a huge file is refused."""
    with pytest.raises(PolicyError, match=words):
        _ = _with_files(company, a=replace(packed(b"x", executable=False), **change)).document


@pytest.mark.parametrize(
    "change", [{"version": 0}, {"version": 2**53 + 1}, {"teams": []}, {"expires": "2030-01-01T00:00:00"}]
)
def test_fields_have_bounds(company: Company, change: dict[str, Any]) -> None:
    """Versions are whole numbers from one on, days have a zone, and there is a team."""
    plain = {**json.loads(unsigned(company.bundle()).signed), **change}
    with pytest.raises(PolicyError, match="is not a policy"):
        _ = SignedDocument(signed=json.dumps(plain)).document


def test_the_private_key_is_private(company: Company, tmp_path: Path) -> None:
    """For its owner alone, whatever the umask; never overwritten; never used once others could have read it."""
    before = os.umask(0)
    try:
        new_key(tmp_path / "open.key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "open.key").stat().st_mode) == 0o600
    with pytest.raises(HooklineError, match="never overwritten"):
        new_key(company.key_file)
    assert public_key(company.key_file) == company.key
    company.key_file.chmod(0o640)
    with pytest.raises(HooklineError, match="can be read by other users"):
        sign(unsigned(company.bundle()), company.key_file)


def test_a_link_is_no_place_for_a_key(tmp_path: Path) -> None:
    """A link to somewhere else is not followed."""
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HooklineError):
        new_key(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_that_is_no_key_is_not_shown(tmp_path: Path) -> None:
    """Its content never gets into a message."""
    file = tmp_path / "x"
    file.write_text("hookline-policy-private-key:SECRETSECRET")
    file.chmod(0o600)
    with pytest.raises(HooklineError, match="not a private key") as raised:
        public_key(file)
    assert "SECRET" not in str(raised.value)


def test_moments_have_a_zone(company: Company) -> None:
    """They are written with it, so that every machine means the same one."""
    bundle = company.bundle(expires=datetime(2031, 1, 1, tzinfo=UTC))
    assert '"expires":"2031-01-01T00:00:00Z"' in unsigned(bundle).signed
