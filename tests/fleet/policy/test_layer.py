"""The policy as the layer above all others: what it says holds, whatever local files say."""

import asyncio
import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.fleet.company import DENY, Company, Machine, agents_off, hook_off, settings
from tests.patience import until

from hookline import Hooks
from hookline.apps.cli.main import main
from hookline.client.triggers.tools import execute_tool_with_hooks
from hookline.engine.system import policy_version
from hookline.fleet.policy.documents import now
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.settings.canary import new_canary, write_canary
from hookline.settings.read.paths import default_paths

ALLOW = "exit 0"


def local(home: Path, content: dict[str, Any], **options: Any) -> None:
    """The user's settings, which enable hooks unless they say otherwise."""
    file = home / ".llxprt" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"enableHooks": True, **content, **({"hooksConfig": options} if options else {})}))


def test_its_hooks_run_without_trust_and_without_enable_hooks(company: Company, project: Path) -> None:
    """The public key in the system's file is all that a machine needs."""
    company.gives_settings()
    verdict = Machine(project).fires()
    assert (verdict.blocked, verdict.reason) == (True, "no")
    (run,) = verdict.runs
    assert run.hook.policy is not None
    assert (run.hook.source, run.hook.policy.version, run.hook.rank) == (ConfigSource.POLICY, 1, 4)


def test_a_script_runs_where_it_was_unpacked(company: Company, project: Path) -> None:
    """`$HOOKLINE_POLICY_DIR` leads there, and is one word even with a space in it."""
    company.directory = company.root / "a policy"
    company.write_system()
    script = "#!/bin/sh\ncat >/dev/null\necho from $0 >&2\nexit 2\n"
    company.gives_settings(settings("$HOOKLINE_POLICY_DIR/guard.sh"), files={"guard.sh": script})
    assert "a policy/versions/" in (Machine(project).fires().reason or "")


@pytest.mark.parametrize("enable", [False, None])
def test_local_settings_do_not_switch_it_off(company: Company, project: Path, own_home: Path, *, enable: bool) -> None:
    """Neither enableHooks nor `disabled`; hooks of the user's own stay as the user wants them."""
    company.gives_settings()
    local(own_home, {**settings(ALLOW), "enableHooks": enable}, disabled=["guard"])
    machine = Machine(project)
    verdict = machine.fires()
    assert [run.hook.source for run in verdict.runs] == [ConfigSource.POLICY]
    own = next(hook for hook in machine.config.get_settings().hooks if hook.source is ConfigSource.USER)
    assert "enableHooks" in (own.disabled_by or "")


def test_local_guards_are_added(company: Company, project: Path, own_home: Path) -> None:
    """A user's own guard denies beside the policy's that allows."""
    company.gives_settings(settings(ALLOW))
    local(own_home, settings("echo mine >&2; exit 2"))
    verdict = Machine(project).fires()
    assert (verdict.blocked, verdict.reason) == (True, "mine")
    assert [run.hook.source for run in verdict.runs] == [ConfigSource.USER, ConfigSource.POLICY]


@pytest.mark.parametrize("event", ["BeforeTool", "BeforeModel"])
def test_a_later_allow_undoes_nothing(company: Company, project: Path, own_home: Path, event: str) -> None:
    """On every event a local hook, even a final one, can't turn the policy's no into a yes."""
    company.gives_settings(settings(event=event))
    yes = """printf '{"decision":"allow","continue":true}'"""
    local(own_home, settings(yes, event, final=True))
    assert Machine(project).fires(event).blocked


def test_options_that_weaken_its_hooks_are_not_the_users(company: Company, project: Path, own_home: Path) -> None:
    """One byte of output would cut a deny in half; a warning names the file whose option is ignored."""
    deny = json.dumps({"decision": "deny", "reason": "from JSON"})
    company.gives_settings(settings(f"printf '%s' '{deny}'"))
    local(own_home, {}, outputLimit=1, maxConcurrent=1, environment={"deny": ["HOOKLINE_*"]}, teams=["none"])
    machine = Machine(project)
    assert machine.fires().reason == "from JSON"
    said = [str(problem) for problem in machine.config.get_settings().problems]
    assert sum("is not used, because beside the company's policy" in words for words in said) == 4


@pytest.mark.parametrize("option", ["onFault", "lifecycle"])
def test_its_options_win(company: Company, project: Path, own_home: Path, option: str) -> None:
    """The policy's onFault and lifecycle win."""
    theirs = {"onFault": "block", "lifecycle": "apply"}[option]
    company.gives_settings({**settings(), "hooksConfig": {option: theirs}})
    local(own_home, {}, **{option: {"onFault": "allow", "lifecycle": "watch"}[option]})
    machine = Machine(project)
    options = machine.config.get_settings().options
    assert (options.on_fault if option == "onFault" else options.lifecycle) == theirs
    assert machine.config.blocks_on_fault() is (option == "onFault")


def test_it_holds_for_settings_in_code_and_for_named_files(company: Company, project: Path, tmp_path: Path) -> None:
    """The policy also applies to a program with its own settings, and to --settings."""
    company.gives_settings()
    named = tmp_path / "named.json"
    named.write_text(json.dumps({"enableHooks": True}))
    assert Machine(project, settings={"enableHooks": False}).fires().blocked
    assert Machine(project, settings_files=[named]).fires().blocked


def test_a_project_can_name_no_policy(company: Company, project: Path, own_home: Path) -> None:
    """Only the system's file may name a policy, and a warning names any other file that does."""
    Path(os.environ["HOOKLINE_SYSTEM_SETTINGS"]).unlink()
    company.gives_settings()
    local(own_home, {}, policy={"publicKeys": [company.key], "directory": str(company.directory)}, managedOnly=True)
    machine = Machine(project)
    assert not machine.fires().blocked
    said = " ".join(str(problem) for problem in machine.config.get_settings().problems)
    assert "hooksConfig.policy is only used in the system's settings" in said
    assert "hooksConfig.managedOnly is only used in a signed policy" in said


def test_a_new_version_is_in_force_at_the_next_event(company: Company, project: Path) -> None:
    """The swap is one rename; a running engine sees it without a restart."""
    company.gives_settings(settings(ALLOW))
    machine = Machine(project)
    assert not machine.fires().blocked
    company.gives_settings(settings(), version=2)
    until(lambda: machine.fires().blocked)
    assert machine.config.get_settings().policy is not None


def _two_hours_later() -> Any:
    """Set the clock of the machine ahead for a block, so that a test need not wait for an expiry."""
    now_s = time.time
    return patch("time.time", lambda: now_s() + 7200)


def test_a_damaged_or_deleted_file_leaves_the_last_good_one(company: Company, project: Path) -> None:
    """In a running engine, with a warning."""
    company.gives_settings()
    machine = Machine(project)
    assert machine.fires().blocked
    for harm in ("damaged", "deleted"):
        if harm == "damaged":
            company.place().current.write_text("{")
        else:
            company.place().current.unlink()
        machine.fires()
        until(lambda: "stays in force" in " ".join(_said(machine)))
        assert machine.fires().reason == "no"


def _said(machine: Machine) -> list[str]:
    system = machine.config.get_hook_system()
    assert system is not None
    return [str(problem) for problem in system.get_settings().problems]


@pytest.mark.parametrize("on_expiry", ["allow", "block"])
@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("none", "no policy is installed here yet"),
        ("forged", "not signed by a key"),
        ("truncated", "was cut off"),
        ("unreadable", "can't be read"),
        ("others can write", "can be written by other users"),
        ("wrong team", "is for web, and the team"),
    ],
)
def test_without_a_valid_policy_the_choice_holds(
    company: Company, project: Path, on_expiry: str, state: str, words: str
) -> None:
    """Go on with a warning, or block whatever can be blocked, with the reason."""
    company.write_system(onExpiry=on_expiry)
    if state != "none":
        company.gives_settings(settings(ALLOW))
    file = company.place().current
    if state == "forged":
        file.write_bytes(file.read_bytes().replace(b"exit 0", b"exit 1"))
    elif state == "truncated":
        file.write_bytes(file.read_bytes()[:-40])
    elif state == "unreadable":
        file.unlink()
        file.mkdir()
        words = "directory"
    elif state == "others can write":
        file.chmod(0o666)
    elif state == "wrong team":
        file.write_bytes(company.signed(company.bundle(teams=("web",))).to_bytes())
    machine = Machine(project)
    verdict = machine.fires()
    assert (verdict.blocked, machine.fires("BeforeModel").blocked) == (on_expiry == "block",) * 2
    assert not machine.fires("AfterTool", tool_response={}).blocked
    said = [str(problem) for problem in machine.config.get_problems()]
    assert any(words in each and "onExpiry" in each for each in said), said
    if on_expiry == "block":
        assert words in (verdict.reason or "")


@pytest.mark.parametrize("on_expiry", ["allow", "block"])
def test_when_it_has_expired_the_choice_holds(company: Company, project: Path, on_expiry: str) -> None:
    """With allow its guards still run, with a warning; it need not be read again for that."""
    company.write_system(onExpiry=on_expiry)
    company.gives_settings(settings("echo guard >&2; exit 2"), expires=now() + timedelta(hours=1))
    machine = Machine(project)
    assert machine.fires().reason == "guard"
    with _two_hours_later():
        if on_expiry == "block":
            until(lambda: "expired on" in (machine.fires().reason or ""))
            assert machine.fires("BeforeModel").blocked
        else:
            until(lambda: machine.fires() is not None and "expired on" in " ".join(_said(machine)))
            assert machine.fires().reason == "guard"


@pytest.mark.attack("30.F18", "the clock is set back after the policy has expired")
@pytest.mark.parametrize(
    ("place", "seen_by"),
    [
        *((place, seen_by) for place in ("directory", "state") for seen_by in ("goes on", "has ended", "status")),
        ("memory", "goes on"),
    ],
)
def test_a_clock_that_was_set_back_revives_nothing(
    company: Company, project: Path, monkeypatch: pytest.MonkeyPatch, place: str, seen_by: str
) -> None:
    """An expired policy stays expired until a newer bundle is there, for every observer and writable directory."""
    company.write_system(onExpiry="block")
    document = company.signed(company.bundle(settings(ALLOW), expires=now() + timedelta(hours=1))).to_bytes()
    company.place().take(document)
    machine = Machine(project)
    assert not machine.fires().blocked
    if place != "directory":
        (company.directory / "clock.json").mkdir()
    if place == "memory":
        monkeypatch.setenv("HOOKLINE_STATE_DIR", "/dev/null/none")
    with _two_hours_later():
        if seen_by == "status":
            assert main(["fleet", "policy", "status"]) == 1
        else:
            assert "expired on" in (machine.fires().reason or "")
    if seen_by != "goes on":
        machine = Machine(project)
    assert "expired on" in (machine.fires().reason or "")
    assert main(["fleet", "policy", "status"]) == 1 or place == "memory"
    company.place().take(document)  # the same one again
    assert machine.fires().blocked
    company.gives_settings(settings(ALLOW), version=2, expires=now() + timedelta(hours=1))
    until(lambda: not machine.fires().blocked)


@pytest.mark.attack("30.F18", "the clock is set back after a switch that keeps a hook off has expired")
def test_a_clock_that_was_set_back_switches_no_hook_off_again(company: Company, project: Path) -> None:
    """The hook runs, also after a newer bundle; newer switches count again."""
    company.gives_settings(settings())
    company.gives(company.switches(hook_off("guard", expires=now() + timedelta(hours=1))))
    machine = Machine(project)
    assert not machine.fires().blocked
    with _two_hours_later():
        until(lambda: machine.fires().blocked)
    assert machine.fires().blocked
    assert Machine(project).fires().blocked
    company.gives_settings(settings(), version=2)
    assert Machine(project).fires().blocked
    until(lambda: machine.fires().blocked and policy_version(machine.config.get_settings()) == 2)
    assert machine.fires().blocked
    company.gives(company.switches(hook_off("guard", expires=now() + timedelta(hours=1)), version=2))
    assert not Machine(project).fires().blocked
    until(lambda: not machine.fires().blocked)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({}, id="no-key"),
        pytest.param({"publicKeys": "ed25519:x"}, id="no-list"),
        pytest.param({"publicKeys": []}, id="no-keys"),
        pytest.param({"publicKeys": ["x"]}, id="wrong-key"),
        pytest.param({"publicKeys": ["x"], "onExpiri": "allow"}, id="typo"),
        pytest.param([], id="no-object"),
    ],
)
def test_a_typo_in_the_systems_file_blocks(company: Company, project: Path, policy: Any) -> None:
    """Nothing that is meant to be a policy is silently none."""
    del company
    Path(os.environ["HOOKLINE_SYSTEM_SETTINGS"]).write_text(json.dumps({"hooksConfig": {"policy": policy}}))
    verdict = Machine(project).fires()
    assert verdict.blocked
    assert "fix it" in (verdict.reason or "")


def test_without_the_extra_it_is_unreadable_and_says_how_to_mend_it(company: Company, project: Path) -> None:
    """PyNaCl is not there: no signature can be checked, so nothing is believed."""
    company.write_system(onExpiry="block")
    company.gives_settings(settings(ALLOW))
    with patch.dict(sys.modules, {"nacl.signing": None, "nacl.exceptions": None}):
        verdict = Machine(project).fires()
    assert verdict.blocked
    assert "can't be verified: this needs the package pynacl" in (verdict.reason or "")
    assert "[fleet]'" in (verdict.reason or "")


def test_a_changed_script_does_not_run(company: Company, project: Path) -> None:
    """Asked before each event; the hook fails then, and its onError decides."""
    script = "#!/bin/sh\ntouch ran\nexit 0\n"
    for version, on_error in enumerate(("allow", "block"), start=1):
        hook = settings("$HOOKLINE_POLICY_DIR/guard.sh", onError=on_error)
        taken = company.gives_settings(hook, version, files={"guard.sh": script})
        machine = Machine(project)
        assert not machine.fires().blocked
        assert (project / "ran").exists()
        (project / "ran").unlink()
        file = Path(company.place().mark(taken.verified).directory) / "guard.sh"
        file.chmod(0o755)
        file.write_text(script.replace("0", "0 "))
        verdict = machine.fires()
        assert verdict.blocked is (on_error == "block")
        assert "guard.sh is not the one that was signed" in (verdict.runs[0].error or "")
        assert not (project / "ran").exists()
        company.gives(taken.verified.document)
        assert not machine.fires().blocked


def test_python_leaves_nothing_beside_its_scripts(company: Company, project: Path) -> None:
    """A compiled module would be an unsigned file, and the next event would refuse the hook."""
    files = {"guard.py": "import rules, sys\nsys.exit(rules.CODE)\n", "rules.py": "CODE = 2\n"}
    taken = company.gives_settings(settings(f"{sys.executable} $HOOKLINE_POLICY_DIR/guard.py"), files=files)
    machine = Machine(project)
    with patch.dict(os.environ):
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        assert [machine.fires().runs[0].exit_code for _ in range(2)] == [2, 2]
    directory = Path(company.place().mark(taken.verified).directory)
    assert sorted(path.name for path in directory.iterdir()) == ["guard.py", "rules.py"]


def test_agents_off(company: Company, project: Path) -> None:
    """Every tool and every model call is denied with the reason; the other events go on, and so does the rest later."""
    company.gives_settings(settings(ALLOW))
    machine = Machine(project)
    assert not machine.fires().blocked
    company.gives(company.switches(agents_off("incident 4711")))
    until(lambda: machine.fires().blocked)
    for event in ("BeforeTool", "BeforeModel"):
        verdict = machine.fires(event)
        assert verdict.blocked
        assert "switched off by the company's policy: incident 4711 (until " in (verdict.reason or "")
    assert not machine.fires("AfterTool", tool_response={}).blocked
    company.gives(company.switches(version=2))
    until(lambda: not machine.fires().blocked)


def test_agents_off_expires(company: Company, project: Path) -> None:
    """By itself, without any new file."""
    company.gives(company.switches(agents_off(expires=now() + timedelta(hours=1))))
    machine = Machine(project)
    assert machine.fires().blocked
    with _two_hours_later():
        until(lambda: not machine.fires().blocked)


@pytest.mark.parametrize("harm", ["forge", "roll back", "delete"])
def test_switches_can_not_be_undone_locally(company: Company, project: Path, harm: str) -> None:
    """Agents that are off in a running engine stay off while the file of the switches is damaged, older or missing."""
    old = company.signed(company.switches()).to_bytes()
    company.gives(company.switches(agents_off(), version=2))
    machine = Machine(project)
    assert machine.fires().blocked
    file = company.place().switches_of("all")
    if harm == "delete":
        file.unlink()
    else:
        file.write_bytes(old if harm == "roll back" else file.read_bytes().replace(b"agents", b"nobody"))
    assert machine.fires().blocked
    company.write_system()  # has everything read again
    assert machine.fires().blocked


@pytest.mark.parametrize("on_expiry", ["allow", "block"])
@pytest.mark.parametrize("harm", ["forge", "roll back", "delete"])
def test_switches_that_are_gone_are_not_forgotten(company: Company, project: Path, harm: str, on_expiry: str) -> None:
    """An engine that starts afterwards warns, and blocks where the settings require a valid policy."""
    company.write_system(onExpiry=on_expiry)
    company.gives_settings(settings(ALLOW))
    old = company.signed(company.switches()).to_bytes()
    company.gives(company.switches(agents_off(), version=2))
    file = company.place().switches_of("all")
    if harm == "delete":
        file.unlink()
    else:
        file.write_bytes(old if harm == "roll back" else file.read_bytes().replace(b"agents", b"nobody"))
    machine = Machine(project)
    assert any("switches of the policy are not used" in str(problem) for problem in machine.config.get_problems())
    assert machine.fires().blocked is (on_expiry == "block")


@pytest.mark.parametrize("harm", ["delete", "damage"])
@pytest.mark.parametrize("on_expiry", ["allow", "block"])
def test_switches_that_are_gone_with_their_memory_are_missed(
    company: Company, project: Path, harm: str, on_expiry: str
) -> None:
    """With onExpiry block, removing the switches and seen.json does not switch agents on."""
    company.write_system(onExpiry=on_expiry)
    bundle = company.bundle(settings(ALLOW))
    company.gives(bundle)
    company.gives(company.switches(agents_off()))
    place = company.place()
    place.switches_of("all").unlink()
    if harm == "delete":
        place.seen_file.unlink()
    else:
        place.seen_file.write_text("{")
    machine = Machine(project)
    assert machine.fires().blocked is (on_expiry == "block")
    assert any("seen.json" in str(problem) for problem in machine.config.get_settings().problems)
    company.gives(bundle)
    assert not Machine(project).fires().blocked


def test_a_forged_switch_stops_nobody(company: Company, project: Path) -> None:
    """With a warning."""
    company.directory.mkdir()
    forged = company.signed(company.switches(agents_off())).to_bytes().replace(b"4711", b"4712")
    company.place().switches_of("all").write_bytes(forged)
    machine = Machine(project)
    assert not machine.fires().blocked
    assert any("switches of the policy are not used" in str(problem) for problem in machine.config.get_problems())


@pytest.mark.parametrize("where", ["policy", "user", "program"])
def test_a_hook_is_switched_off_wherever_it_is(company: Company, project: Path, own_home: Path, where: str) -> None:
    """Only the policy can switch it on again; a message says why."""
    if where == "policy":
        company.gives_settings(settings(required=True))
    if where == "user":
        local(own_home, settings())
    machine = Machine(project)
    if where == "program":
        machine.config.add_hook("BeforeTool", lambda _event: {"decision": "deny"}, name="guard")
    assert machine.fires().blocked
    company.gives(company.switches(hook_off("guard")))
    until(lambda: not machine.fires().blocked)
    system = machine.config.get_hook_system()
    assert system is not None
    (skip,) = system.explain(HookEventName.BEFORE_TOOL, "x").skips
    assert "switched it off: false alarms (until " in skip.detail
    company.gives(company.switches(version=2))
    until(lambda: machine.fires().blocked)


def test_a_program_does_not_switch_a_policys_hook_off(company: Company, project: Path) -> None:
    """`set_hook_enabled` is what an agent's /hooks uses."""
    company.gives_settings()
    machine = Machine(project)
    assert machine.fires().blocked
    system = machine.config.get_hook_system()
    assert system is not None
    assert not system.set_hook_enabled("guard", enabled=False)
    assert machine.fires().blocked
    machine.config.add_hook("BeforeTool", lambda _event: None, name="guard")
    assert system.set_hook_enabled("guard", enabled=False)
    assert [run.hook.source for run in machine.fires().runs] == [ConfigSource.POLICY]


def test_managed_only(company: Company, project: Path, own_home: Path) -> None:
    """Only the policy's hooks run, and every other one is listed as off; functions are the program itself."""
    company.gives_settings({**settings(ALLOW), "hooksConfig": {"managedOnly": True}})
    local(own_home, {**settings(DENY), "use": ["hookline:shell"]})
    (project / ".llxprt").mkdir()
    (project / ".llxprt" / "settings.json").write_text(json.dumps(settings(DENY)))
    machine = Machine(project)
    machine.config.add_hook("BeforeTool", lambda _event: None, name="of the program")
    verdict = machine.fires()
    assert not verdict.blocked
    assert [run.hook.label for run in verdict.runs] == ["of the program", "guard"]
    others = [hook for hook in machine.config.get_settings().hooks if hook.policy is None]
    assert len(others) > 2
    assert {"managedOnly" in (hook.disabled_by or "") for hook in others} == {True}


def test_the_canary_of_prove_runs_beside_managed_hooks(company: Company, project: Path) -> None:
    """It denies one secret text and nothing else, so that it is proved that hooks are asked at all."""
    company.gives_settings({**settings(ALLOW), "hooksConfig": {"managedOnly": True}})
    canary = new_canary(60)
    write_canary(default_paths(project).canary, canary)
    verdict = Machine(project).fires(tool_input={"command": canary.text})
    assert canary.word in (verdict.reason or "")


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        pytest.param({"command": "/does/not/exist"}, "exit", id="missing-script"),
        pytest.param({"command": "exit 1"}, "", id="crash"),
        pytest.param({"command": "sleep 9", "timeout": 50}, "timed out", id="timeout"),
        pytest.param({"command": " "}, "empty command", id="no-command"),
        pytest.param({"type": "prompt", "command": None}, "", id="unknown-way"),
        pytest.param({"type": "nonsense"}, "type", id="unknown-type"),
        pytest.param({"type": "plugin", "command": None, "plugin": "no-such:guard"}, "", id="plugin-not-installed"),
        pytest.param({"type": "plugin", "command": None}, "", id="plugin-without-name"),
        pytest.param({"type": "http", "command": None, "url": "http://127.0.0.1:9/"}, "", id="no-server"),
        pytest.param({"command": "true", "dialect": "nonsense"}, "dialect", id="unknown-dialect"),
        pytest.param({"command": "true", "worker": {"x": 1}}, "", id="worker"),
    ],
)
@pytest.mark.parametrize("event", ["BeforeTool", "BeforeModel"])
def test_a_required_hook_that_can_not_run_blocks(
    company: Company, project: Path, event: str, hook: dict[str, Any], words: str
) -> None:
    """With a reason that names it; whatever onError says."""
    company.gives_settings(settings(event=event, **{"required": True, "onError": "allow", **hook}))
    verdict = Machine(project).fires(event)
    assert verdict.blocked
    assert "guard" in (verdict.reason or "")
    assert words in (verdict.reason or "")


def test_a_required_hook_of_a_project_that_nobody_trusts_blocks(project: Path) -> None:
    """Its command is not run, its variables are not believed, and the reason says what to do."""
    (project / ".llxprt").mkdir()
    content = {"enableHooks": True, **settings("touch ran", required=True, env={"X": "y"})}
    (project / ".llxprt" / "settings.json").write_text(json.dumps(content))
    verdict = Machine(project).fires()
    assert verdict.blocked
    assert "guard" in (verdict.reason or "")
    assert "hookline trust" in (verdict.reason or "")
    assert not (project / "ran").exists()


@pytest.mark.parametrize(("required", "runs"), [(True, True), (False, False)])
def test_a_required_hook_whose_matcher_nobody_can_read_runs_for_every_tool(
    company: Company, project: Path, *, required: bool, runs: bool
) -> None:
    """Of others the specification says that such a matcher is compared as text, which no tool's name is."""
    content = settings(required=required)
    content["hooks"]["BeforeTool"][0]["matcher"] = "write_file|("
    company.gives_settings(content)
    assert Machine(project).fires().blocked is runs


def test_a_required_hook_that_blocks_nothing_is_reported(company: Company, project: Path) -> None:
    """A required hook in shadow mode would be mistaken for a guard."""
    company.gives_settings(settings("/does/not/exist", required=True, mode="shadow"))
    machine = Machine(project)
    assert not machine.fires().blocked
    (problem,) = machine.config.get_settings().problems
    assert "required has no effect while mode is shadow" in str(problem)


def test_a_users_server_is_not_asked_for_the_companys_remote_hooks(
    company: Company, project: Path, own_home: Path
) -> None:
    """A worker at a user's server could let everything pass; only the user's own remote hooks ask it."""
    hook = {"type": "remote", "subject": "dlp", "onError": "block"}
    company.gives_settings({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    own = {"hooks": {"BeforeTool": [{"hooks": [{**hook, "name": "own"}]}]}}
    local(own_home, own, fleet={"servers": ["nats://127.0.0.1:9"]})
    users, companys = Machine(project).config.get_settings().hooks
    assert (users.name, users.refusal) == ("own", None)
    assert "the system's settings name no server" in (companys.refusal or "")
    assert "a user's don't count" in (Machine(project).fires().reason or "")


def test_a_remote_hook_of_a_policy_has_no_variables_to_complain_about(company: Company, project: Path) -> None:
    """The variables that every hook of a policy gets are not part of its definition."""
    company.write_system(fleet={"servers": ["nats://127.0.0.1:9"]})
    hook = {"type": "remote", "subject": "dlp"}
    company.gives_settings({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    assert Machine(project).config.get_settings().problems == ()


def test_required_is_not_weakened_by_a_typo(company: Company, project: Path) -> None:
    """`"required": "yes"` is read as true."""
    company.gives_settings(settings("exit 1", required="yes"))
    assert Machine(project).fires().blocked


def test_every_way_in_is_closed_while_agents_are_off(company: Company, project: Path) -> None:
    """Triggers, and sessions of a program that brings its own settings."""
    company.gives(company.switches(agents_off()))
    ran: list[str] = []

    async def tool(_arguments: Any) -> str:
        ran.append("ran")
        return "done"

    async def go() -> tuple[str, bool]:
        result = await execute_tool_with_hooks(Machine(project).config, "write_file", {}, tool)
        async with Hooks(project, settings={"enableHooks": True}) as hooks, hooks.session() as session:
            assert not session.passes(HookEventName.BEFORE_TOOL, "write_file")
            call = await session.before_tool("write_file", {})
        return str(result.llm_content), call.blocked

    reason, is_blocked = asyncio.run(go())
    assert "incident 4711" in reason
    assert (is_blocked, ran) == (True, [])


@pytest.mark.parametrize(("team", "runs"), [("payments", True), ("web", False)])
def test_a_rollout_knows_the_machines_team(company: Company, project: Path, team: str, *, runs: bool) -> None:
    """The team of the system's file, whatever teams a user claims to be in."""
    company.write_system(team=team)
    hook = settings(rollout={"teams": ["payments"]})
    company.gives(company.bundle(hook, teams=("payments", "web")), team)
    assert Machine(project).fires().blocked is runs


def test_a_refusal_is_in_the_log(company: Company, project: Path) -> None:
    """With its event, as a block, so that the company sees why an agent stopped."""
    company.gives(company.switches(agents_off()))
    machine = Machine(project)
    machine.fires()
    machine.close()
    log = Path(os.environ["HOOKLINE_STATE_DIR"], "hooks.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in log]
    blocked = [(record["event"], record["message"]) for record in records if record.get("blocked")]
    assert len(blocked) == 1
    assert blocked[0][0] == "BeforeTool"
    assert "incident 4711" in blocked[0][1]


@pytest.mark.parametrize("named", [False, True], ids=["usual", "settings-in-code"])
def test_the_environment_does_not_move_it_away(
    company: Company, project: Path, monkeypatch: pytest.MonkeyPatch, *, named: bool
) -> None:
    """A variable that names another system file has no effect, and a warning reports it."""
    company.gives_settings()
    monkeypatch.setattr("hookline.settings.read.paths.SYSTEM_FILE", Path(os.environ["HOOKLINE_SYSTEM_SETTINGS"]))
    monkeypatch.setenv("HOOKLINE_SYSTEM_SETTINGS", str(project / "nothing.json"))
    machine = Machine(project, **({"settings": {"enableHooks": True}} if named else {}))
    assert machine.fires().blocked
    said = [str(problem) for problem in machine.config.get_problems()]
    assert any("HOOKLINE_SYSTEM_SETTINGS" in line and "is not used" in line for line in said)
    machine.close()
