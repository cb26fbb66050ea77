import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.fleet.company import LATER, Company, agents_off, hook_off, settings

from hookline.adapters.table import ADAPTERS
from hookline.apps.cli.main import main
from hookline.runners.process.features import FEATURES
from hookline.settings.trust.store import default_trust_path


@pytest.fixture(autouse=True)
def in_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test is run from the project's directory."""
    monkeypatch.chdir(project)


def write(folder: Path, *commands: str, **more: Any) -> Path:
    path = folder / ".llxprt" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    hooks = [{"type": "command", "command": command} for command in commands]
    path.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}, **more}))
    return path


def examine(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[tuple[str, str, str]]]:
    """Return the exit code, and every diagnostic with its text."""
    code = main(["doctor", "--json", *options])
    report = json.loads(capsys.readouterr().out)
    assert report["healthy"] is (code == 0)
    return code, [(sign["about"], sign["severity"], sign["message"]) for sign in report["checks"]]


def test_a_healthy_place_is_told_to_be(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Enabled, with a hook that can be run: everything is good, down to the canary."""
    file = write(own_home, "true")
    code, signs = examine(capsys)
    assert code == 0
    assert {about: health for about, health, _ in signs} == dict.fromkeys(
        [
            "project file",
            "user file",
            "system file",
            "enabled",
            "shell",
            "limits",
            "evidence",
            "warm hooks",
            "log",
            "trust",
            "BeforeTool",
            "canary",
        ],
        "ok",
    )
    assert ("user file", "ok", f"{file} sets enableHooks to true") in signs
    assert ("enabled", "ok", f"yes, by {file}") in signs
    assert ("BeforeTool", "ok", "true can be run") in signs


def test_evidence_has_its_three_words_for_programs(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(own_home, "true")
    main(["doctor", "--json"])
    words = [sign["words"] for sign in json.loads(capsys.readouterr().out)["checks"] if sign["about"] == "evidence"]
    assert all(each.keys() >= {"configured", "observed", "enforced"} for each in words)
    assert words


def test_nothing_is_left_behind(own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The canary's settings and log are its own: the user's log gets no record of it."""
    write(own_home, "true")
    examine(capsys)
    assert not (tmp_path / "state").exists()


def test_hooks_are_not_run(own_home: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the canary is."""
    write(own_home, f"touch {project}/ran")
    examine(capsys)
    assert not (project / "ran").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        pytest.param(
            None, 'no: no settings file says "enableHooks": true; hookline init writes one that does', id="none"
        ),
        pytest.param(
            {"enableHooks": None},
            'no: 1 hook configured, all off: no settings file says "enableHooks": true; '
            "add it to the file with your hooks",
            id="unsaid",
        ),
        pytest.param({"enableHooks": False}, "no, by {}, which overrides the other files; change it there", id="false"),
    ],
)
def test_hooks_that_are_not_enabled_are_bad(
    settings: dict[str, Any] | None, said: str, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sign says which file decides, or that none does."""
    file = write(own_home, "true", **settings) if settings else None
    code, signs = examine(capsys)
    assert code == 1
    assert ("enabled", "error", said.format(file)) in signs


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        pytest.param("{x", "hooks are off until {} is fixed", id="unreadable"),
        pytest.param('{"enableHooks": false}', "hooks are off, by {}", id="false"),
        pytest.param("{}", 'hooks are off: no settings file says "enableHooks": true', id="unsaid"),
    ],
)
def test_no_hook_looks_as_if_it_ran_while_hooks_are_off(
    settings: str, why: str, own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the hook's line nor its evidence suggests that the guard runs."""
    system = write(tmp_path, "true", enableHooks=None)
    user = own_home / ".llxprt" / "settings.json"
    user.parent.mkdir()
    user.write_text(settings)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOOKLINE_SYSTEM_SETTINGS", str(system))
        _, signs = examine(capsys)
    assert ("BeforeTool", "warning", f"true does not run: {why.format(user)}") in signs
    assert ("evidence", "ok", "true (BeforeTool): does not run now, never observed, never had to deny") in signs


def test_an_unusable_file_is_bad(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not JSON costs its hooks."""
    file = write(own_home)
    file.write_text("{x}")
    code, signs = examine(capsys)
    assert code == 1
    (said,) = [said for about, health, said in signs if (about, health) == ("user file", "error")]
    assert said.startswith(f"{file}:1:2: is not JSON")


def test_what_an_unusable_file_says_is_unknown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No advice to write a file that exists, and no statement that it has no hooks."""
    file = write(project)
    file.write_text("{x}")
    _, signs = examine(capsys)
    assert ("enabled", "error", f"unknown until {file} is fixed; no hook runs until then") in signs
    assert ("hooks", "warning", f"unknown until {file} is fixed") in signs


def test_another_file_may_enable_hooks_meanwhile(
    project: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unusable file has no say."""
    write(project).write_text("{x}")
    file = write(own_home, "true")
    assert ("enabled", "ok", f"yes, by {file}") in examine(capsys)[1]


def test_hooks_under_an_unknown_event_are_bad(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They do not run, so hooks do not run here."""
    hooks = {"Stop": [], "PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}
    file = write(own_home, hooks=hooks)
    code, signs = examine(capsys)
    assert code == 1
    ((about, said),) = [(about, said) for about, health, said in signs if health == "error"]
    assert about == "problems"
    assert said.startswith(f"2 problems, the first: {file}:1:")
    assert "hooks.PreToolUse is an event of Claude Code" in said


def test_settings_of_a_parent_directory_are_noted(
    project: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below a project's directory, the message names the project whose settings are not used there."""
    write(own_home, "true")
    file = write(project, "true")
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    code, signs = examine(capsys, "--project", str(below))
    assert code == 0
    why = "a search ends at a repository's root and at files of other users, and --project is taken as it is"
    assert [sign for sign in signs if sign[1] == "warning"] == [
        ("project file", "warning", f"{file} is not read: {why}; for its hooks: --project {project}")
    ]
    write(below, "true")
    assert "is not read" not in str(examine(capsys, "--project", str(below)))


def test_the_users_own_file_is_no_parents(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A project in the home directory has the user's settings anyway."""
    write(own_home, "true")
    below = own_home / "site"
    below.mkdir()
    assert "is not read" not in str(examine(capsys, "--project", str(below)))


def test_a_projects_file_that_was_moved_has_no_parents(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a variable moves the file, its usual place is not checked."""
    monkeypatch.setenv("HOOKLINE_PROJECT_SETTINGS", str(tmp_path / "elsewhere.json"))
    write(project, "true")
    below = project / "src"
    below.mkdir()
    assert "is not read" not in str(examine(capsys, "--project", str(below)))


def test_a_hook_whose_file_is_missing_is_bad(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sign says what is missing, and where it is configured."""
    file = write(own_home, "./guard.sh")
    code, signs = examine(capsys)
    assert code == 1
    said = "names ./guard.sh, which does not exist; create the file, or fix the path"
    assert ("BeforeTool", "error", f"./guard.sh {said} ({file}: hooks.BeforeTool[0].hooks[0])") in signs


def test_a_project_hook_needs_trust(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An untrusted hook does not run, so that is bad."""
    write(project, "true")
    code, signs = examine(capsys)
    assert code == 1
    assert (
        "BeforeTool",
        "error",
        "true does not run: hooks of a project need trust; look at it and run: hookline trust",
    ) in signs


def test_a_trusted_hook_is_good_until_its_script_changes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The doctor says of trust what the planner would."""
    write(project, "sh guard.sh")
    (project / "guard.sh").write_text("true")
    assert main(["trust", "--all", "--yes", "--json"]) == 0
    capsys.readouterr()
    code, signs = examine(capsys)
    assert code == 0
    assert ("BeforeTool", "ok", "sh guard.sh can be run, and is trusted") in signs
    assert ("trust", "ok", f"{default_trust_path()}: 1 hook of 1 project trusted") in signs
    (project / "guard.sh").write_text("false")
    said = "sh guard.sh does not run: it changed since it was trusted; look at it and run: hookline trust"
    assert ("BeforeTool", "error", said) in examine(capsys)[1]


def test_a_hook_that_is_left_out_is_bad(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An entry that cannot be used is one that does not run."""
    file = write(own_home, "true", extensions=[3])
    code, signs = examine(capsys)
    assert code == 1
    (said,) = [said for about, health, said in signs if (about, health) == ("problems", "error")]
    assert said.startswith(f"1 problem, the first: {file}:1:")


def test_a_named_file_needs_no_trust(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Naming a file means trusting it."""
    file = write(project, "true")
    assert examine(capsys, "--settings", str(file))[0] == 0


def test_a_trust_file_that_others_can_write_is_bad(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing in it is believed."""
    write(own_home, "true")
    path = default_trust_path()
    path.parent.mkdir(parents=True)
    path.write_text('{"version": 1, "projects": {}}')
    path.chmod(0o666)
    code, signs = examine(capsys)
    assert code == 1
    assert [about for about, health, _ in signs if health == "error"] == ["trust"]


def test_what_is_off_on_purpose_is_only_noted(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A disabled hook and a log that is switched off do not fail the command."""
    file = write(own_home, "./none", hooksConfig={"disabled": ["./none"], "log": {"enabled": False}})
    code, signs = examine(capsys)
    assert code == 0
    assert [(about, said) for about, health, said in signs if health == "warning"] == [
        ("log", "disabled by hooksConfig.log.enabled; hooks run, and nothing is recorded"),
        ("BeforeTool", f"./none is disabled by {file}"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("PYTHONFAULTHANDLER", "1", "PYTHONFAULTHANDLER is set; unset it"),
        ("PYTHONPATH", "", "PYTHONPATH is empty; unset it"),
        ("BASH_ENV", "/dev/null", "BASH_ENV is set, so bash has to start each command; unset it"),
    ],
)
@pytest.mark.parametrize("is_own", [False, True])
def test_a_variable_that_keeps_hooks_cold_is_noted(
    name: str,
    value: str,
    why: str,
    *,
    is_own: bool,
    own_home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the remedy; the same holds for a problem of a single hook."""
    hook = {"type": "command", "name": "guard", "command": "true", "env": {name: value} if is_own else {}}
    write(own_home, hooks={"BeforeTool": [{"hooks": [hook]}]})
    if not is_own:
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(vars(FEATURES), "why_cold", None)
    _, signs = examine(capsys)
    message = f"guard is always cold: in its env, {why}" if is_own else f"every Python hook is cold: {why}"
    assert ("warm hooks", "warning", message) in signs


def test_a_variable_that_hooks_do_not_get_is_not_noted(
    own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`hooksConfig.environment` keeps it from them."""
    write(own_home, "true", hooksConfig={"environment": {"deny": ["PYTHONFAULTHANDLER"]}})
    monkeypatch.setenv("PYTHONFAULTHANDLER", "1")
    monkeypatch.setitem(vars(FEATURES), "why_cold", None)
    _, signs = examine(capsys)
    assert [health for about, health, _ in signs if about == "warm hooks"] == ["ok"]


def test_a_word_that_switches_nothing_off_is_noted(
    own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody wants something else than what happens."""
    write(own_home, "true")
    monkeypatch.setenv("HOOKLINE_CHILD", "colder")
    _, signs = examine(capsys)
    message = "HOOKLINE_CHILD has 'colder', which is not one of threads, shell, cold"
    assert ("warm hooks", "warning", message) in signs


def test_a_log_that_cannot_be_written_is_noted(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hooks run without a log, so it is odd and not bad."""
    (tmp_path / "a-file").write_text("")
    write(own_home, "true", hooksConfig={"log": {"path": str(tmp_path / "a-file" / "hooks.jsonl")}})
    code, signs = examine(capsys)
    assert code == 0
    assert [about for about, health, _ in signs if health == "warning"] == ["log"]


def test_a_canary_that_cannot_sing_is_bad(own_home: Path, project: Path) -> None:
    """Where the shell itself is broken, the doctor has seen it with its own eyes."""
    write(own_home, "true")
    shell = project / "bin" / "bash"
    shell.parent.mkdir()
    shell.write_text("#!/bin/sh\necho out of order >&2\nexit 1\n")
    shell.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "hookline", "doctor", "--json"],
        env={**os.environ, "PATH": f"{shell.parent}:{os.environ['PATH']}"},
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=45,
    )
    assert done.returncode == 1, done.stderr
    signs = {sign["about"]: sign for sign in json.loads(done.stdout)["checks"]}
    assert signs["canary"] == {
        "about": "canary",
        "severity": "error",
        "message": "a hook was fired and did not answer: it exited with code 1 out of order",
    }


def test_plain_sh_is_noted(own_home: Path, project: Path) -> None:
    """Without bash hooks run in sh, which authors of bash scripts need to know."""
    write(own_home, "true")
    done = subprocess.run(
        [sys.executable, "-m", "hookline", "doctor", "--json"],
        env={**os.environ, "PATH": "/no/such/folder"},
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=45,
    )
    assert done.returncode == 0, done.stdout
    signs = {sign["about"]: sign for sign in json.loads(done.stdout)["checks"]}
    assert (signs["shell"]["severity"], signs["shell"]["message"]) == (
        "warning",
        "/bin/sh, because bash is not on PATH",
    )


def test_people_see_it_on_a_terminal(own_home: Path, on_terminal: Callable[..., str]) -> None:
    """Marks are coloured, and long lines are wrapped below their own column."""
    write(own_home, "./none")
    shown = on_terminal("doctor", COLUMNS="70")
    assert "\x1b[31merror    \x1b[0m\x1b[1mBeforeTool" in shown
    assert "1 thing to fix before all hooks run here." in shown


def test_no_text_of_others_reaches_the_terminal_raw(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A repository's settings can't style the report about them."""
    write(project, "true \x1b[2J")
    main(["doctor"])
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert r"true \x1b[2J does not run: hooks of a project need trust" in printed


def test_the_module_answers_with_its_exit_code(own_home: Path, project: Path) -> None:
    """In a script the exit code is enough."""
    write(own_home, "true")
    done = subprocess.run(
        [sys.executable, "-m", "hookline", "doctor"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=45,
    )
    assert done.returncode == 0
    assert done.stdout.endswith("\nHooks run here.\n")


@pytest.mark.parametrize("name", ["~nobody-of-that-name/log", "a\0b", "\ud800"])
@pytest.mark.parametrize("command", ["log", "log --stats", "list", "doctor"])
def test_a_log_that_cannot_be_named_is_told_and_replaced(
    name: str, command: str, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command that reads the log reports it, and reads the usual file."""
    write(own_home, "true", hooksConfig={"log": {"path": name}})
    assert main(command.split()) == 0
    assert "can't name a file; the default log is used" in capsys.readouterr().err


def test_a_log_that_is_a_pipe_is_not_waited_for(
    tmp_path: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such a file can't be a log, so nothing is recorded, and the remedy is printed."""
    os.mkfifo(tmp_path / "pipe")
    write(own_home, "true", hooksConfig={"log": {"path": str(tmp_path / "pipe")}})
    _, signs = examine(capsys)
    ((health, message),) = [(health, message) for about, health, message in signs if about == "log"]
    assert health == "warning"
    assert "it is a FIFO, not a regular file; name a file in hooksConfig.log.path" in message


def test_frameworks_that_are_installed_are_named_with_what_they_cannot_do(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each framework that is installed, doctor says what its adapter can't do; it imports none of them."""
    write(own_home, "true")
    for adapter in ADAPTERS:
        folder = tmp_path / "packages" / f"{adapter.package.replace('-', '_')}-7.8.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {adapter.package}\nVersion: 7.8\n")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    code, signs = examine(capsys)
    assert code == 0
    for adapter in ADAPTERS:
        ((health, message),) = [(health, message) for about, health, message in signs if about == adapter.framework]
        assert message.startswith(f"{adapter.package} 7.8 is installed; hookline.adapters.{adapter.name} ")
        assert (health == "warning") is bool(adapter.cannot)
        assert all(f"{key} ({why})" in message for key, why in adapter.cannot.items())


def test_a_framework_that_is_too_old_is_named(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its adapter would refuse it, because hooks would be left out."""
    write(own_home, "true")
    folder = tmp_path / "packages" / "strands_agents-0.1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: strands-agents\nVersion: 0.1\n")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    _, signs = examine(capsys)
    ((health, message),) = [(health, message) for about, health, message in signs if about == "Strands"]
    assert health == "warning"
    assert message.startswith("strands-agents 0.1 is installed; hookline.adapters.strands needs 1.62 or newer")


def of_policy(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[tuple[str, str]]]:
    """Return the exit code, and the text about the policy."""
    code, signs = examine(capsys)
    assert not any(about == "policy file" for about, _, _ in signs)
    return code, [(health, message) for about, health, message in signs if about == "policy"]


def test_the_policy_in_force_is_shown(own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its version, expiry, team, signer and switches."""
    del own_home
    company = Company(tmp_path, onExpiry="block")
    company.gives_settings({**settings("true"), "hooksConfig": {"managedOnly": True}}, version=7)
    code, ((health, message),) = of_policy(capsys)
    assert (code, health) == (0, "ok")
    assert re.match(r"version 7 is in force until \d{4}-\d\d-\d\d \d\d:\d\d UTC for the team all, signed by", message)
    assert message.endswith(f"{company.key}; when it has expired: block; only its own hooks run (managedOnly)")
    company.gives(company.switches(hook_off("slow", "false alarms"), agents_off("incident 4711")))
    code, (_, *others) = of_policy(capsys)
    assert (code, [health for health, _ in others]) == (1, ["error", "warning"])
    assert "agents are switched off by the company's policy: incident 4711" in others[0][1]
    assert "hook slow is off by the company's policy, which switched it off: false alarms" in others[1][1]


@pytest.mark.req("CLAIM-009")
def test_hooks_do_not_run_while_agents_are_off(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last line says who switched them off, why and until when."""
    write(own_home, "true")
    company = Company(tmp_path)
    company.gives_settings(settings("true"))
    company.gives(company.switches(agents_off("incident 4711")))
    assert main(["doctor"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    start = "No agent may work here: agents are switched off by the company's policy: incident 4711 (until "
    assert last.startswith(start)


@pytest.mark.req("CLAIM-009")
def test_a_hook_that_the_policy_switched_off_is_a_problem(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If it is configured here; with a hook that the settings disable, the text says that not all run."""
    write(own_home, "true", "exit 0")
    company = Company(tmp_path)
    company.gives_settings(settings("true"))
    company.gives(company.switches(hook_off("elsewhere")))
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Hooks run here."
    company.gives(company.switches(hook_off("exit 0"), version=2))
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 thing to fix before all hooks run here."
    company.gives(company.switches(version=3))
    write(own_home, "true", "exit 0", hooksConfig={"disabled": ["exit 0"]})
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Hooks run here, but for 1 that is disabled."


@pytest.mark.parametrize("on_expiry", ["allow", "block"])
@pytest.mark.parametrize("harm", ["none yet", "damaged", "expired"])
def test_a_fault_of_the_policy_is_shown_with_its_remedy(
    harm: str, on_expiry: str, own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad if its guards do not run, or if everything is blocked; with an expired one, events proceed if allowed."""
    del own_home
    company = Company(tmp_path, onExpiry=on_expiry)
    if harm != "none yet":
        company.gives_settings(settings("true"))
    if harm == "damaged":
        company.place().current.write_text("{")
    if harm == "expired":
        later = (datetime.now(UTC) + 2 * LATER).timestamp()
        with patch("time.time", lambda: later):
            code, found = of_policy(capsys)
    else:
        code, found = of_policy(capsys)
    health, message = found[-1]
    is_bad = harm != "expired" or on_expiry == "block"
    assert (code, health) == ((1, "error") if is_bad else (0, "warning"))
    assert {"none yet": "no policy is installed here yet", "damaged": "current.json", "expired": "expired on"}[
        harm
    ] in message
    assert "hookline fleet policy pull" in message
    assert f"onExpiry is {on_expiry}" in message


def test_without_a_policy_or_server_nothing_of_it_is_loaded(own_home: Path) -> None:
    """Neither said nor imported."""
    write(own_home, "true")
    code = "import sys; from hookline.apps.cli.main import main; main(['doctor']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not re.search(r"^\w+ +(policy|record|fleet) ", done.stdout, re.MULTILINE)
    assert "Hooks run here." in done.stdout
    for module in ("hookline.fleet.policy.layer", "hookline.fleet", "nats", "hookline.fleet.nats.connection"):
        assert f"'{module}'" not in done.stdout


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://guard.example/ask", "guard.example is not this machine"),
        ("http://127.0.0.1:99999/ask", "http://127.0.0.1:99999/ask is no URL that can be asked"),
        ("http:///ask", "http:///ask names no host"),
    ],
)
def test_a_url_that_is_never_asked_is_bad(
    url: str, why: str, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hook fails at each event, so it can't be run."""
    file = write(own_home, hooks={"BeforeTool": [{"hooks": [{"type": "http", "url": url}]}]})
    code, signs = examine(capsys)
    ((_, health, message),) = [sign for sign in signs if sign[0] == "BeforeTool"]
    assert (code, health) == (1, "error")
    assert message.startswith(f"{url} fails at each event: its URL is not asked: {why}")
    assert message.endswith(f"({file}: hooks.BeforeTool[0].hooks[0])")


def test_a_url_of_this_machine_is_fine(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(own_home, hooks={"BeforeTool": [{"hooks": [{"type": "http", "url": "http://127.0.0.1:8080/ask"}]}]})
    assert examine(capsys)[0] == 0


@pytest.mark.parametrize("settings", [{"hooks": {"BeforeTool": [{"hooks": [{"type": "http"}]}]}}, {"use": ["shel"]}])
def test_hooks_that_cannot_be_used_are_not_called_none(
    settings: dict[str, Any], own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are configured, and have problems."""
    write(own_home, **{"hooks": {}, **settings})
    code, signs = examine(capsys)
    assert code == 1
    assert [sign for sign in signs if sign[0] == "hooks"] == [
        ("hooks", "warning", "none of those that are configured can be used; hookline check shows why")
    ]
