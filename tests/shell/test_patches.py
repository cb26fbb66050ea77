"""Patches of `apply_patch`, read as Codex reads them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.shell.patches import FileChange, PatchError, parse_patch, patch_in_command, paths_in_patch

PATCH = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"
# White space in Rust. Python also strips \x1c to \x1f, and breaks lines at most of these.
BLANK = "[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"


def paths(changes: tuple[FileChange, ...]) -> list[str]:
    return [path for change in changes for path in change.paths]


# --- An independent model of the grammar: one regular expression over the kinds of lines. -----------------------------

_KINDS = (
    ("b", rf"{BLANK}*\*\*\* Begin Patch{BLANK}*"),
    ("z", rf"{BLANK}*\*\*\* End Patch{BLANK}*"),
    ("A", rf"{BLANK}*\*\*\* Add File: (?P<path>.*?){BLANK}*"),
    ("D", rf"{BLANK}*\*\*\* Delete File: (?P<path>.*?){BLANK}*"),
    ("U", rf"{BLANK}*\*\*\* Update File: (?P<path>.*?){BLANK}*"),
)
# In an updated file, only a line that begins with the marker is one.
_IN_UPDATE = (
    ("z", rf"\*\*\* End Patch{BLANK}*"),
    ("A", rf"\*\*\* Add File: (?P<path>.*?){BLANK}*"),
    ("D", rf"\*\*\* Delete File: (?P<path>.*?){BLANK}*"),
    ("U", rf"\*\*\* Update File: (?P<path>.*?){BLANK}*"),
    ("m", rf"\*\*\* Move to: (?P<path>.*?){BLANK}*"),
    ("f", rf"\*\*\* End of File{BLANK}*"),
    ("@", rf"@@(?: .*?)?{BLANK}*"),
    ("e", rf"(?: {BLANK}*)?"),
    ("_", rf"{BLANK}+"),
    ("l", r"[ +-].*"),
)


def modelled(lines: list[str]) -> list[str] | None:
    """The paths of a patch, or None for a text that is none; for lines without an environment."""
    word, found, in_update = "", [], False
    for number, line in enumerate(lines):
        is_last = number == len(lines) - 1
        rows = (("z", _KINDS[1][1]), *_IN_UPDATE) if in_update and is_last else _IN_UPDATE if in_update else _KINDS
        if word.endswith("z"):
            return None
        for letter, pattern in rows:
            match = re.fullmatch(pattern, line, re.DOTALL)
            if match is None:
                continue
            path = match.groupdict().get("path")
            if path == "" and letter in "ADUm":
                continue  # without its last blank it is not a marker
            if letter == "m" and not re.search("Uf*$", word):
                continue
            word += letter
            if path is not None:
                found.append(path)
            in_update = letter == "U" or (in_update and letter not in "ADz")
            break
        else:
            if word.endswith(("A", "+")) and line.startswith("+"):
                word += "+"
            else:
                return None
    # Blank lines after the end of a file don't count.
    line, end = "[le]", "f[e_]*"
    update = f"Uf*(?:mf*)?@?{line}+(?:(?:{end})?@{line}+)*(?:{end})?"
    shape = rf"b(?:A\+*|D|{update})*z"
    return found if re.fullmatch(shape, word) else None


_NAMES = st.text(st.sampled_from("ab./ \v\f\x1c\x85\u2028é*+-"), min_size=1, max_size=8)
_PADS = st.sampled_from(["", "", "", " ", "\t", "\u2028", "\x1c", "\v", "\x85"])


@st.composite
def a_line(draw: st.DrawFn) -> str:
    marker = draw(
        st.sampled_from(
            ["*** Begin Patch", "*** End Patch", "*** End of File", "@@", "@@ x", "", "+x", "-x", " x", "x", "+", "***"]
            + ["*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "] * 3
            + ["*** Update File: ", "@@", "+x", "*** End of File", " "] * 3
        )
    )
    name = draw(_NAMES) if marker.endswith(": ") else ""
    body = draw(st.sampled_from(["", "", "", "+", " ", "-"]))
    return f"{body}{draw(_PADS)}{marker}{name}{draw(_PADS)}"


@given(st.lists(a_line(), max_size=8))
def test_the_reader_and_a_model_of_the_grammar_agree(lines: list[str]) -> None:
    """Both take the same texts for patches, and find the same paths in them."""
    lines = ["*** Begin Patch", *lines, "*** End Patch"]
    try:
        read = paths(parse_patch("\n".join(lines)))
    except PatchError:
        read = None
    assert read == modelled(lines)


@st.composite
def patches(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A patch that Codex takes, and its paths; every marker may have blanks around it, every line a carriage return."""
    lines, found = ["*** Begin Patch"], []
    name = _NAMES.map(lambda text: re.sub(rf"^{BLANK}+|{BLANK}+$", "", text)).filter(bool)
    in_update = False
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["Add", "Delete", "Update"]))
        lines.append(f"{'' if in_update else draw(_PADS).strip(chr(0x1C))}*** {kind} File: {(path := draw(name))}")
        found.append(path)
        in_update = kind == "Update"
        if kind == "Add":
            lines += draw(st.lists(st.sampled_from(["+x", "+", "+*** End Patch", "+*** Add File: no"]), max_size=3))
        if in_update:
            if draw(st.booleans()):
                found.append(moved := draw(name))
                lines.append(f"*** Move to: {moved}")
            lines += [
                "@@",
                *draw(st.lists(st.sampled_from(["+y", " y", " *** End Patch", "-*** Add File: no"]), min_size=1)),
            ]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join([*lines, "*** End Patch"]), found


@given(patches(), st.sampled_from(["{}", "\n{}\n", "<<'EOF'\n{}\nEOF", '<<"EOF"\n{}\nEOF\n', "\u2028{}\v"]))
def test_every_path_of_a_patch_is_found(patch: tuple[str, list[str]], form: str) -> None:
    """No marker inside a line of a file adds one, and none is hidden."""
    text, expected = patch
    assert paths(parse_patch(form.format(text))) == expected
    assert set(expected) <= set(paths_in_patch(text))


@pytest.mark.attack("30.F2", "a patch that hides a file: markers in bodies, blanks, decoys, other line ends")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*** Begin Patch\n*** Add File: a\n+*** End Patch\n*** Add File: .env\n+x\n*** End Patch", ["a", ".env"]),
        ("*** Begin Patch\n*** Add File: a\n+x\n  *** Add File: .env\n+x\n*** End Patch", ["a", ".env"]),
        ("*** Begin Patch\n\t*** Delete File: .env\t\n *** End Patch", [".env"]),
        ("*** Begin Patch\n*** Add File: a\u2028b/.env\n+x\n*** End Patch", ["a\u2028b/.env"]),
        ("*** Begin Patch\n*** Add File: \v.env\n+x\n*** End Patch", ["\v.env"]),
        ("*** Begin Patch\n*** Environment ID: r\n*** Add File: .env\n+x\n*** End Patch", [".env"]),
        ("*** Begin Patch\n*** Update File: a\n*** Move to: .env\n@@\n+x\n*** End Patch", ["a", ".env"]),
        ("*** Begin Patch\n*** Update File: a\n@@\n+x\n *** Add File: no\n*** End Patch", ["a"]),
        ("*** Begin Patch\r\r\n*** Add File: .env\r\r\n+x\r\n*** End Patch", [".env"]),
        (f"{PATCH}\n{PATCH}", None),
        (f"{PATCH}\n*** Add File: .env\n+x", None),
        ("*** Begin Patch\n*** Rename File: a\n*** End Patch", None),
        ("*** Begin Patch\n*** Add File:.env\n+x\n*** End Patch", None),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", None),
    ],
)
def test_a_patch_hides_no_file(text: str, expected: list[str] | None) -> None:
    """Each path is found, or the patch is refused."""
    if expected is None:
        with pytest.raises(PatchError):
            parse_patch(text)
    else:
        assert paths(parse_patch(text)) == expected


@pytest.mark.attack("30.F2", "a shell command that applies a patch in a form that only the shell understands")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF\n", ["a.txt"]),
        (f"applypatch <<EOF\n{PATCH}\nEOF", ["a.txt"]),
        (f"cd sub && apply_patch <<'P'\n{PATCH}\nP", ["sub/a.txt"]),
        (f"cd '/etc dir' && apply_patch <<'P'\n{PATCH}\nP", ["/etc dir/a.txt"]),
        (f"apply_patch '{PATCH}'", ["a.txt"]),
        ("ls -la", []),
        ("grep -rn apply_patch src | head -5; make test", []),
        ("git commit -m 'read apply_patch calls'", []),
        ("cat codex-rs/apply-patch/src/apply_patch.rs && cargo test", []),
        ("rg -n apply_patch | head; git log --grep=apply_patch; find . -name '*apply_patch*'", []),
        ("cargo test -p apply_patch && pytest -k apply_patch", []),
        ("git apply $patch && ${EDITOR} a.patch && $x/patch -p1 < $p", []),
        ("a=apply_; ${a}patch < p", None),
        ("p=patch; cd /tmp && apply_$p < p", None),
        ("$'apply\\x5fpatch' < p", None),
        ("rg --hostname-bin=apply_patch --hyperlink-format x", None),
        ("cargo test --config 'target.x.runner=\"apply_patch\"'", None),
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF\napply_patch <<'EOF'\n{PATCH}\nEOF", None),
        (f"echo '{PATCH}' >/dev/null; apply_patch < p", None),
        (f"cat <<'A' >/dev/null\n{PATCH}\nA\napply_patch <<'B'\n{PATCH}\nB", None),
        (f"apply_patch <<EOF\n{PATCH.replace('a.txt', '$X')}\nEOF", None),
        (f"apply_patch <<EOF\n{PATCH.replace('a.txt', '.e`echo nv`')}\nEOF", None),
        (f"cd $HOME && apply_patch <<'P'\n{PATCH}\nP", None),
        (f"cd ~ && apply_patch <<'P'\n{PATCH}\nP", None),
        (f"cd - && apply_patch <<'P'\n{PATCH}\nP", None),
        (f"x=apply; ${{x}}_patch <<'P'\n{PATCH}\nP", None),
        ("cat p | apply_patch", None),
        ("a''pply_patch < p", None),
        ("apply\\\n_patch < p", None),
        ("/opt/x/apply_patch < p", None),
        ("bash -lc 'apply_patch < p'", None),
        ("echo apply_patch | sh", None),
        ("grep x $(apply_patch <p) f", None),
        ("rg --pre apply_patch x", None),
        ("find . -exec apply_patch {} +", None),
        ("codex --codex-run-as-apply-patch x", None),
        ('git -c alias.x="!apply_patch" x', None),
    ],
)
def test_a_command_that_applies_a_patch_is_understood_or_refused(command: str, expected: list[str] | None) -> None:
    """The form that Codex itself reads is understood; a command that merely talks about it is left alone."""
    if expected is None:
        with pytest.raises(PatchError):
            patch_in_command(command)
    else:
        assert paths(patch_in_command(command) or ()) == expected


def test_paths_are_found_in_patches_of_any_format() -> None:
    """Their reader is not known, so what looks like a header counts."""
    diff = 'diff --git a/old b/new\nrename from old\nrename to .env\n--- "a/x y"\t2026\n+++ /dev/null\n'
    assert {"old", "new", ".env", "x y", "a/x y"} <= set(paths_in_patch(diff))
    assert paths_in_patch("  *** Add File: .env") == (".env",)
    assert "caf\u00e9/.env" in paths_in_patch('+++ "b/caf\\303\\251/\\056env"')
