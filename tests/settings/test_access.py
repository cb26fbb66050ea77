import grp
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from hookline.settings.read.permissions import access_fault


@pytest.mark.parametrize(
    ("primary", "name", "members", "is_refused"),
    [
        pytest.param(True, "ada", [], False, id="private"),
        pytest.param(True, "ada", ["ada"], False, id="with-the-user-alone"),
        pytest.param(True, "ada", ["ada", "bob"], True, id="with-somebody-else"),
        pytest.param(True, "users", [], True, id="of-another-name"),
        pytest.param(False, "ada", [], True, id="not-the-primary-group"),
    ],
)
def test_a_group_may_write_if_it_is_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, primary: bool, name: str, members: list[str], is_refused: bool
) -> None:
    """With a private group for each user, the umask is often 002: then the group has no other members."""
    file = tmp_path / "settings.json"
    file.touch()
    file.chmod(0o664)
    gid = file.stat().st_gid
    user = SimpleNamespace(pw_name="ada", pw_gid=gid if primary else gid + 1)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name=name, gr_mem=members))
    fault = access_fault(file, file.stat())
    assert (fault is not None) is is_refused
    if fault is not None:
        assert fault == ("can be written by other users", f"look through it and run: chmod go-w {file}")


def test_a_group_that_nobody_knows_is_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an entry for the user or the group nothing is known of its members."""

    def unknown(_number: int) -> None:
        raise KeyError

    monkeypatch.setattr(grp, "getgrgid", unknown)
    file = tmp_path / "settings.json"
    file.touch()
    file.chmod(0o664)
    assert access_fault(file, file.stat()) is not None
    file.chmod(0o644)
    assert access_fault(file, file.stat()) is None
