"""`hookline fleet policy` with files alone: from a key to a guard in force, without any server."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.company import Company, Machine, agents_off, hook_off

from hookline.apps.cli.main import main
from hookline.fleet.policy.documents import Bundle, Switches, new_key, read_signed, sign, unsigned

GUARD = "#!/bin/sh\necho no >&2\nexit 2\n"


@pytest.fixture
def company(own_home: Path, tmp_path: Path) -> Company:
    """The company; its machine has no policy yet."""
    del own_home
    return Company(tmp_path)


@pytest.fixture
def guards(tmp_path: Path) -> Path:
    """A directory to pack."""
    place = tmp_path / "guards"
    (place / "lib").mkdir(parents=True)
    write(place, {"type": "command", "name": "guard", "command": "$HOOKLINE_POLICY_DIR/lib/guard.sh"})
    (place / "lib" / "guard.sh").write_text(GUARD)
    (place / "lib" / "guard.sh").chmod(0o755)
    return place


def write(place: Path, *hooks: Any) -> None:
    """The settings of a policy."""
    (place / "settings.json").write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": list(hooks)}]}}))


def hookline(*words: object) -> int:
    """Runs the command."""
    return main(["fleet", "policy", *map(str, words)])


def report(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    """Return the command's output with --json."""
    capsys.readouterr()
    hookline(*words, "--json")
    return json.loads(capsys.readouterr().out)


def test_from_a_key_to_a_guard_in_force(
    own_home: Path, tmp_path: Path, project: Path, guards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every step as the page about fleets has it."""
    del own_home
    key, bundle = tmp_path / "policy.key", tmp_path / "policy.json"
    public = report(capsys, "keygen", key)["publicKey"]
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    system = Path(os.environ["HOOKLINE_SYSTEM_SETTINGS"])
    system.parent.mkdir(exist_ok=True)
    options = {"publicKeys": [public], "directory": str(tmp_path / "policy")}
    system.write_text(json.dumps({"hooksConfig": {"policy": options}}))
    assert hookline("pack", guards, "--version", 1, "-o", bundle) == 0
    assert hookline("verify", bundle) == 1
    assert "is not signed" in capsys.readouterr().err
    assert hookline("sign", bundle, "--key", key) == 0
    assert hookline("verify", bundle) == 0
    assert hookline("status") == 1
    assert hookline("pull", bundle) == 0
    assert hookline("status") == 0
    assert Machine(project).fires().reason == "no"
    shown = capsys.readouterr().out
    assert "bundle version 1 for all is in force" in shown
    assert key.read_text().strip().partition(":")[2] not in shown


def test_the_same_content_packs_to_the_same_text(guards: Path, tmp_path: Path) -> None:
    """Apart from the day: two people can check that they sign the same."""
    texts = []
    for name in ("a", "b"):
        hookline("pack", guards, "--version", 1, "--expires", "2033-01-01", "-o", tmp_path / name)
        document = read_signed((tmp_path / name).read_bytes()).document
        assert isinstance(document, Bundle)
        texts.append((document.settings, document.files, document.expires))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ({"type": "command", "command": "$HOOKLINE_POLICY_DIR/nothing.py"}, "which is not in the directory"),
        ({"type": "command", "command": "sh lib/guard.sh"}, "write $HOOKLINE_POLICY_DIR/lib/guard.sh"),
        ({"type": "command", "command": "./lib/guard.sh"}, "write $HOOKLINE_POLICY_DIR/lib/guard.sh"),
        ({"type": "command", "command": ""}, "empty command"),
    ],
)
def test_a_policy_that_would_not_run_is_not_packed(
    guards: Path, tmp_path: Path, hook: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five thousand machines would find out otherwise."""
    write(guards, {"name": "x", **hook})
    assert hookline("pack", guards, "--version", 1, "-o", tmp_path / "x") == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_matcher_that_matches_nothing_is_not_packed(
    guards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be compared as plain text, on every machine; where matchers are plain text it may be any."""
    guard = {"hooks": [{"type": "command", "name": "x", "command": "true"}], "matcher": "write("}
    for event, code in (("SessionStart", 0), ("BeforeTool", 1)):
        (guards / "settings.json").write_text(json.dumps({"hooks": {event: [guard]}}))
        assert hookline("pack", guards, "--version", 1, "-o", tmp_path / event) == code
    assert "x has the matcher 'write(', which is not a regular expression" in capsys.readouterr().err


def test_a_path_of_this_machine_alone_is_said(guards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The guard would not be there on any other machine; programs of the system are."""
    commands = ["python3 /home/ann/guards/guard.py", "sh ~/guard.sh", "/usr/bin/env true >/dev/null", "cat | /bin/cat"]
    write(guards, *({"type": "command", "name": f"g{n}", "command": text} for n, text in enumerate(commands)))
    (guards / "lib" / "guard.sh").unlink()
    warnings = report(capsys, "pack", guards, "--version", 1, "-o", tmp_path / "x")["warnings"]
    outside = [line.partition(",")[0] for line in warnings if "not in the bundle" in line]
    assert outside == ["g0 names /home/ann/guards/guard.py", "g1 names ~/guard.sh"]


def test_a_bundle_that_no_machine_takes_is_not_packed(
    guards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Already by `pack`, and not only by `sign`."""
    for number in range(4):
        (guards / f"data{number}").write_bytes(bytes(3_500_000))
    assert hookline("pack", guards, "--version", 1, "-o", tmp_path / "x") == 1
    assert "the bundle would have 18 MiB" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_whose_signature_counts_has_to_be_said(own_home: Path, tmp_path: Path, guards: Path) -> None:
    """On a machine that has no policy itself, by an option."""
    del own_home
    key, bundle = tmp_path / "policy.key", tmp_path / "policy.json"
    public = new_key(key)
    hookline("pack", guards, "--version", 1, "-o", bundle)
    hookline("sign", bundle, "--key", key)
    assert hookline("verify", bundle) == 1
    assert hookline("verify", bundle, "--public-key", public) == 0


@pytest.mark.parametrize("kind", ["link", "fifo", "name", "huge"])
def test_what_is_no_plain_file_is_not_packed(
    guards: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link would bring a file of the user who packs."""
    odd = guards / ("odd" if kind != "name" else "odd name")
    match kind:
        case "link":
            odd.symlink_to("/etc/passwd")
        case "fifo":
            os.mkfifo(odd)
        case "name":
            odd.touch()
        case _:
            with odd.open("wb") as file:
                file.truncate(1 << 30)
    assert hookline("pack", guards, "--version", 1, "-o", tmp_path / "x") == 1
    assert "odd" in capsys.readouterr().err


def test_hidden_files_and_compiled_modules_are_left_out(guards: Path, tmp_path: Path) -> None:
    """Hidden files and compiled modules are not scripts."""
    for name in (".git/config", "__pycache__/x.pyc", ".env"):
        (guards / name).parent.mkdir(exist_ok=True)
        (guards / name).write_text("x")
    assert hookline("pack", guards, "--version", 1, "-o", tmp_path / "x") == 0
    document = read_signed((tmp_path / "x").read_bytes()).document
    assert isinstance(document, Bundle)
    assert list(document.files) == ["lib/guard.sh"]


def test_a_document_that_must_not_be_in_force_changes_nothing(
    company: Company, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the reason and exit code 1: forged, older, for another team, or none at all."""
    company.gives_settings(version=3)
    new_key(tmp_path / "other.key")
    odd = {
        "older": company.signed(company.bundle(version=2)),
        "forged": sign(unsigned(company.bundle(version=4)), tmp_path / "other.key"),
        "team": company.signed(company.bundle(version=4, teams=("web",))),
    }
    for name, envelope in odd.items():
        (tmp_path / name).write_bytes(envelope.to_bytes())
        assert hookline("pull", tmp_path / name) == 1
        assert "nothing was changed" in capsys.readouterr().err
    assert hookline("pull", tmp_path / "nothing") == 1
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 30)
    for place, words in ((tmp_path, "can't be read (it is a directory"), (tmp_path / "huge", "has more than 16 MiB")):
        assert hookline("pull", place) == 1
        assert f"{place} {words}" in capsys.readouterr().err
    assert report(capsys, "status")["version"] == 3


def test_switches_by_a_file(
    company: Company, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Off with a reason, the next one beside it, and on again: each with a higher version."""
    file = tmp_path / "switches.json"
    key = ("--key", company.key_file, "--file", file)
    assert hookline("switch", "agents", "off", *key) == 1
    assert "give a --reason" in capsys.readouterr().err
    assert hookline("switch", "agents", "off", "--reason", "incident", "--expires", "2h", *key) == 0
    assert hookline("switch", "hook", "x", "off", "--reason", "noise", *key) == 0
    assert hookline("pull", file) == 0
    assert "incident" in (Machine(project).fires().reason or "")
    before = read_signed(file.read_bytes()).document.version
    assert hookline("switch", "agents", "on", *key) == 0
    assert hookline("pull", file) == 0
    document = read_signed(file.read_bytes()).document
    assert isinstance(document, Switches)
    assert (document.version > before, [each.shown for each in document.switches]) == (True, ["hook x"])
    assert not Machine(project).fires().blocked
    shown = report(capsys, "status")
    assert (shown["agentsOff"], list(shown["hooksOff"])) == (None, ["x"])


@pytest.mark.req("CLAIM-008")
def test_a_new_file_of_switches_is_newer_than_all_before(company: Company, project: Path, tmp_path: Path) -> None:
    """Without the previous file, agents can still be switched off."""
    for reason in ("first", "second"):
        file = tmp_path / f"{reason}.json"
        assert hookline("switch", "agents", "off", "--reason", reason, "--key", company.key_file, "--file", file) == 0
        assert hookline("pull", file) == 0
        assert reason in (Machine(project).fires().reason or "")


@pytest.mark.req("CLAIM-008")
def test_a_file_of_switches_is_newer_than_what_was_published(
    company: Company, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the clock is behind."""
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "state").mkdir(mode=0o700)
    late = 2**50
    (tmp_path / "state" / "published.json").write_text(json.dumps({"nats://a": {"switches.all": [late, "x"]}}))
    file = tmp_path / "new.json"
    assert hookline("switch", "agents", "off", "--reason", "r", "--key", company.key_file, "--file", file) == 0
    assert read_signed(file.read_bytes()).document.version == late + 1


def test_nobody_elses_words_are_signed_again(
    company: Company, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A forged file is not used as the base of new switches, nor as content to go back to."""
    new_key(tmp_path / "other.key")
    (tmp_path / "s").write_bytes(sign(unsigned(company.switches(agents_off())), tmp_path / "other.key").to_bytes())
    (tmp_path / "b").write_bytes(sign(unsigned(company.bundle()), tmp_path / "other.key").to_bytes())
    key = ("--key", company.key_file)
    assert hookline("switch", "hook", "x", "off", "--reason", "noise", *key, "--file", tmp_path / "s") == 1
    assert hookline("rollback", tmp_path / "b", "--version", 9, *key, "-o", tmp_path / "out") == 1
    assert capsys.readouterr().err.count("is not signed by a key") == 2
    assert not (tmp_path / "out").exists()


def test_rollback_brings_old_content_under_a_new_version(company: Company, tmp_path: Path) -> None:
    """Machines refuse the old bundle, and take its content."""
    old = company.signed(company.bundle(version=1, files={"a.sh": "exit 1"}))
    company.place().take(old.to_bytes())
    company.gives_settings({"hooks": {}}, version=2)
    (tmp_path / "old").write_bytes(old.to_bytes())
    key = ("--key", company.key_file, "-o", tmp_path / "new")
    assert hookline("rollback", tmp_path / "old", *key) == 1
    assert hookline("rollback", tmp_path / "old", "--version", 3, *key) == 0
    assert hookline("pull", tmp_path / "old") == 1
    assert hookline("pull", tmp_path / "new") == 0
    found, first = read_signed((tmp_path / "new").read_bytes()).document, old.document
    assert isinstance(found, Bundle)
    assert isinstance(first, Bundle)
    assert (found.version, found.files, found.settings) == (3, first.files, first.settings)


def test_list_and_explain_name_the_policy(
    company: Company, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a hook is from, its version, and who switched it off."""
    monkeypatch.chdir(project)
    hook = {"type": "command", "name": "guard", "command": "true", "required": True}
    company.gives_settings({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}, version=7)
    main(["list"])
    main(["fire", "--plan", "BeforeTool", "--tool", "x"])
    shown = capsys.readouterr().out
    assert shown.count("of the company's policy, version 7; it is required") == 2
    company.gives(company.switches(hook_off("guard")))
    main(["list"])
    assert "off by the company's policy, which switched it off: false alarms" in capsys.readouterr().out


def test_nobody_disables_a_policys_hook(
    company: Company, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`hookline disable` says who can."""
    monkeypatch.chdir(project)
    company.gives_settings()
    assert main(["disable", "guard", "--yes"]) == 1
    assert "only the company's policy can" in capsys.readouterr().err


def test_a_machine_without_a_policy_is_told_how_to_get_one(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which file, and what to write."""
    del own_home
    assert hookline("status") == 1
    assert '"publicKeys"' in capsys.readouterr().err
