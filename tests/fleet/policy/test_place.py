"""The directory of a machine's policy: nothing gets in that leads back, elsewhere or to another team."""

import json
import os
import stat
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec.structs import replace
from tests.fleet.company import Company, agents_off

import hookline.fleet.policy.store as place_module
from hookline.errors import HooklineError
from hookline.fleet.policy.documents import LessSpecificError, PolicyError, now
from hookline.fleet.policy.scripts import scripts_fault, unpack
from hookline.protocol.hook_entry import PolicyMark


def version_in(company: Company, team: str = "all") -> int | None:
    """The version in force."""
    found = company.place(team).read(company.place(team).current)
    return None if found is None else found.document.version


def test_scripts_are_there_before_the_bundle_is(company: Company) -> None:
    """Everybody may read them, their owner alone write, and only those that were executable are."""
    taken = company.gives_settings(files={"a/guard.py": "print(1)\n"})
    mark = company.place().mark(taken.verified)
    script = Path(mark.directory) / "a" / "guard.py"
    assert script.read_text() == "print(1)\n"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (script, script.parent, company.place().current)] == [
        0o555,
        0o755,
        0o644,
    ]
    assert scripts_fault(mark) is None


@pytest.mark.parametrize(("version", "words"), [(2, "not newer than 2"), (1, "not newer than 2")])
def test_nothing_leads_back(company: Company, version: int, words: str) -> None:
    """An older bundle, and another one with the same version, are refused although they are signed."""
    company.gives_settings(version=2)
    with pytest.raises(PolicyError, match=words):
        company.gives_settings({"hooks": {}}, version=version)
    assert version_in(company) == 2


def test_the_highest_version_is_remembered(company: Company) -> None:
    """A bundle that was deleted does not open the way back, and an older one put in its place is not read."""
    company.gives_settings(version=5)
    old = company.signed(company.bundle(version=4)).to_bytes()
    company.place().current.unlink()
    with pytest.raises(PolicyError, match="not newer than 5"):
        company.place().take(old)
    company.place().current.write_bytes(old)
    with pytest.raises(PolicyError, match="version 5 was in force here before"):
        company.place().read(company.place().current)


@pytest.mark.parametrize("harm", ["delete", "damage"])
@pytest.mark.parametrize("kind", ["bundle", "switches"])
def test_what_was_deleted_or_damaged_can_be_brought_back(company: Company, harm: str, kind: str) -> None:
    """By the same document; otherwise a machine would be without it until the company publishes another."""
    document = company.bundle(version=7) if kind == "bundle" else company.switches(agents_off(), version=7)
    company.gives(document)
    place = company.place()
    file = place.current if kind == "bundle" else place.switches_of("all")
    if harm == "delete":
        file.unlink()
    else:
        file.write_text("{")
    assert not place.is_whole()
    with pytest.raises(PolicyError, match="version 7 was in force here before" if harm == "delete" else "cut off"):
        place.read(file)
    assert company.gives(document).is_new
    assert place.is_whole()


def test_switches_of_a_team_are_not_those_for_all(company: Company) -> None:
    """A file with fewer switches can't be copied over the one that keeps agents off."""
    place = company.place("payments")
    company.gives(company.switches(agents_off()), "payments")
    company.gives(company.switches(version=9, teams=["payments"]), "payments")
    place.switches_of("all").write_bytes(place.switches_of("payments").read_bytes())
    with pytest.raises(PolicyError, match="belong into another file"):
        place.read(place.switches_of("all"))


def test_the_same_bundle_again_mends_its_scripts(company: Company) -> None:
    """It is not new, but changed scripts are restored."""
    taken = company.gives_settings(files={"guard.py": "print(1)\n"})
    mark = company.place().mark(taken.verified)
    script = Path(mark.directory) / "guard.py"
    script.chmod(0o755)
    script.write_text("print(2)\n")
    assert scripts_fault(mark) == "its script guard.py is not the one that was signed"
    assert not company.gives(taken.verified.document).is_new
    assert scripts_fault(mark) is None


def test_an_expired_bundle_is_not_taken(company: Company) -> None:
    """The one in force stays."""
    company.gives_settings(version=1)
    with pytest.raises(PolicyError, match="version 2 expired on"):
        company.gives_settings(version=2, expires=now() - timedelta(seconds=1))
    assert version_in(company) == 1


def test_another_teams_bundle_is_not_taken(company: Company) -> None:
    """Even if it is stored under this team's key."""
    with pytest.raises(PolicyError, match="is for web, and the team of this machine is payments"):
        company.gives(company.bundle(teams=("web",)), "payments")


def test_a_teams_own_bundle_is_never_replaced_by_the_one_for_all(company: Company) -> None:
    """In either order; each team has its own sequence of versions."""
    company.gives(company.bundle(version=6), "payments")
    company.gives(company.bundle(version=3, teams=("payments",)), "payments")
    with pytest.raises(LessSpecificError, match="has one for its team payments"):
        company.gives(company.bundle(version=9), "payments")
    assert version_in(company, "payments") == 3
    company.gives(company.bundle(version=10, teams=("payments", "all")), "payments")
    assert version_in(company, "payments") == 10


@pytest.mark.parametrize("data", [b"", b"{", b"not json", b"\xff"])
def test_a_damaged_file_does_not_keep_the_next_bundle_out(company: Company, data: bytes) -> None:
    """A valid, newer document replaces it."""
    company.gives_settings(version=1)
    company.place().current.write_bytes(data)
    company.place().seen_file.write_bytes(data)
    company.gives_settings(version=2)
    assert version_in(company) == 2
    assert json.loads(company.place().seen_file.read_text()) == {"bundle": {"all": 2}}


def test_a_crash_in_the_middle_leaves_the_last_one(company: Company) -> None:
    """Whichever step fails: the old bundle is whole, and the new one can be taken later."""
    company.gives_settings(version=1, files={"a.sh": "exit 1"})
    newer = company.bundle(version=2, files={"a.sh": "exit 2"})
    for owner, step in ((Path, "rename"), (os, "replace")):
        with (
            patch.object(owner, step, side_effect=OSError(28, "No space left on device")),
            pytest.raises(HooklineError),
        ):
            company.gives(newer)
        assert version_in(company) == 1
    assert company.gives(newer).is_new
    assert [path.name for path in company.directory.rglob("*.tmp")] == []


def test_old_scripts_are_removed_after_a_while(company: Company) -> None:
    """Events under way may still use those of the version before."""
    for version in range(1, 7):
        company.gives_settings(version=version, files={"a.sh": f"exit {version}"})
    assert len(list((company.directory / "versions").iterdir())) == 3


def test_switches_for_all_and_for_a_team_stand_side_by_side(company: Company) -> None:
    """Neither replaces the other, and each counts its own versions."""
    company.gives(company.switches(agents_off(), version=4), "payments")
    company.gives(company.switches(version=1, teams=("payments",)), "payments")
    with pytest.raises(PolicyError, match="not newer than 4"):
        company.gives(company.switches(version=4), "payments")
    assert len([file for file in company.place("payments").switch_files if file.exists()]) == 2


def test_unpacking_follows_no_link(company: Company, tmp_path: Path) -> None:
    """A file or link at the scripts' place is replaced, and nothing is written through it."""
    taken = company.gives_settings(files={"a.sh": "exit 1"})
    mark = company.place().mark(taken.verified)
    script, target = Path(mark.directory) / "a.sh", tmp_path / "target"
    target.write_text("mine")
    script.unlink()
    script.symlink_to(target)
    assert scripts_fault(mark) == "its script a.sh is not the one that was signed"
    company.gives(taken.verified.document)
    assert (target.read_text(), script.is_symlink()) == ("mine", False)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        pytest.param(lambda root: (root / "json.py").write_text("x"), "has json.py, which is not", id="added"),
        pytest.param(lambda root: (root / "__pycache__").mkdir(), None, id="empty-folder"),
        pytest.param(lambda root: (root / "a.sh").unlink(), "its script a.sh is not in", id="removed"),
        pytest.param(lambda root: os.mkfifo(root / "pipe"), "has pipe, which is not", id="fifo"),
    ],
)
def test_a_tree_is_exactly_what_was_signed(company: Company, harm: object, words: str | None) -> None:
    """A file too many could be imported in place of another one."""
    mark = company.place().mark(company.gives_settings(files={"a.sh": "exit 1"}).verified)
    assert callable(harm)
    harm(Path(mark.directory))
    found = scripts_fault(mark)
    assert found is None if words is None else words in (found or "")


def test_a_huge_file_in_place_of_a_script_is_not_read_whole(company: Company) -> None:
    """A hole of a terabyte costs nothing."""
    mark = company.place().mark(company.gives_settings(files={"a.sh": "exit 1"}).verified)
    script = Path(mark.directory) / "a.sh"
    script.chmod(0o755)
    with script.open("r+b") as file:
        file.truncate(1 << 40)
    assert scripts_fault(mark) == "its script a.sh is not the one that was signed"


def test_a_directory_that_is_gone_is_said(tmp_path: Path) -> None:
    """With where it should be."""
    mark = PolicyMark(version=1, directory=str(tmp_path / "x"), files={"a": "0"})
    assert "can't be read" in (scripts_fault(mark) or "")


def test_unpacking_replaces_what_was_there(company: Company, tmp_path: Path) -> None:
    """The directory is new from end to end."""
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "old").write_text("x")
    unpack(company.bundle(files={"a.sh": "exit 1"}), tmp_path / "v")
    assert [path.name for path in (tmp_path / "v").iterdir()] == ["a.sh"]


def test_signatures_are_checked_in_the_directory_too(company: Company) -> None:
    """Where a file is proves nothing."""
    envelope = company.signed(company.bundle())
    company.gives_settings()
    forged = replace(envelope, signed=envelope.signed.replace("exit 2", "exit 0"))
    company.place().current.write_bytes(forged.to_bytes())
    with pytest.raises(PolicyError, match="not signed by a key"):
        company.place().read(company.place().current)


def test_a_reader_meets_a_whole_policy_at_any_moment(company: Company) -> None:
    """A reader gets the old or the new version while one replaces the other, and no warning."""
    company.gives_settings(version=1)
    place = company.place()
    whole = place_module.read_data

    def read_late(file: Path) -> bytes | None:
        data = whole(file)
        if file == place.current and version_now[0] == 1:
            version_now[0] = 2
            company.gives_settings(version=2)
        return data

    version_now = [1]
    with patch.object(place_module, "read_data", read_late):
        found = place.read(place.current)
    assert found is not None
    assert found.document.version == 1
