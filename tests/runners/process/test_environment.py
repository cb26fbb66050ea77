import pytest

from hookline.runners.process.environment import prepare


def test_the_environment_is_encoded_with_the_directory() -> None:
    """PWD names where the child runs; the rest is handed on, but for what bash sets or drops."""
    prepared = prepare({"A": "ä", "PWD": "/old", "OLDPWD": "/older", "SHLVL": "3", "_": "x", "PS1": "$"}, "/here")
    assert prepared.encoded == (b"PWD=/here", "A=ä".encode(), b"SHLVL=3", b"_=x", b"PS1=$")
    assert prepared.handed_on == (b"PWD=/here", "A=ä".encode(), b"SHLVL=3")
    assert not prepared.needs_bash


def test_the_marks_of_outer_runs_stay() -> None:
    """A run inside another one ends with both, so its own mark is added to the ones that it inherits."""
    prepared = prepare({"HOOKLINE_RUN": "outer-1/"}, "/")
    assert (prepared.encoded, prepared.marks) == ((b"PWD=/",), b"HOOKLINE_RUN=outer-1/")
    assert prepare({}, "/").marks == b"HOOKLINE_RUN="


@pytest.mark.parametrize("name", ["BASH_ENV", "BASH_FUNC_x%%", "SHELLOPTS", "IFS", "POSIXLY_CORRECT", "RANDOM"])
def test_what_bash_obeys_needs_bash(name: str) -> None:
    """With such a variable only bash knows what a command sees."""
    assert prepare({name: "1"}, "/").needs_bash


@pytest.mark.parametrize(
    ("level", "needs_bash"), [("0", False), ("998", False), ("999", True), ("-1", True), ("x", True)]
)
def test_a_strange_shell_level_needs_bash(level: str, needs_bash: bool) -> None:
    """Bash warns about a high level and repairs a wrong one."""
    assert prepare({"SHLVL": level}, "/").needs_bash == needs_bash


def test_undecodable_bytes_stay_as_they_are() -> None:
    """Bytes that os.environ could not decode reach the child unchanged."""
    assert prepare({"A": "\udcff"}, "/").encoded == (b"PWD=/", b"A=\xff")


@pytest.mark.parametrize("name", ["", "A=B"])
def test_a_name_must_be_a_name(name: str) -> None:
    """The kernel would read another variable out of it."""
    with pytest.raises(ValueError, match="is not a name of an environment variable"):
        prepare({name: "x"}, "/")
