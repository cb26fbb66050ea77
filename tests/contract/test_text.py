import io

import pytest

from hookline.contract.text import tell


def test_a_person_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, with our name before it."""
    tell("all is well")
    assert capsys.readouterr().err == "hookline: all is well\n"


@pytest.mark.parametrize("stderr", [None, io.BytesIO()], ids=["none", "broken"])
def test_without_a_stderr_nothing_fails(stderr: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon has no stderr, and a broken pipe is not worth an event."""
    monkeypatch.setattr("sys.stderr", stderr)
    tell("all is well")
