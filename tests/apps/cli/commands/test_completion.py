import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.apps.cli.main import COMMANDS, main

BIN = Path(sys.executable).parent
EVENTS = ["BeforeTool", "BeforeModel", "BeforeToolSelection", "BeforeAgent"]


def words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *typed: str) -> list[str]:
    """Return the completions of the last of these words."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{word}\0" for word in typed)))
    assert main(["completion", "--words", "--json"]) == 0
    return list(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize(
    ("typed", "fitting"),
    [
        pytest.param(["comp"], ["completion"], id="command"),
        pytest.param(["--v"], ["--version"], id="option-of-all"),
        pytest.param(["fire", "Before"], EVENTS, id="event"),
        pytest.param(["fire", "--input", "{}", "Before"], EVENTS, id="event-behind-an-option"),
        pytest.param(["fire", "--json", "Before"], EVENTS, id="event-behind-a-flag"),
        pytest.param(["fire", "--project=x", "Before"], EVENTS, id="event-behind-a-joined-value"),
        pytest.param(["fire", "--project", "=", "x", "Before"], EVENTS, id="as-bash-splits-it"),
        pytest.param(["fire", "BeforeTool", "--in"], ["--input"], id="option"),
        pytest.param(["fire", "BeforeTool", "--settings", ""], [], id="file"),
        pytest.param(["check", "--tool", "re"], ["read_file", "replace"], id="tool"),
        pytest.param(["init", "--language", ""], ["python", "sh"], id="choice"),
        pytest.param(["schema", "input", "AfterT"], ["AfterTool"], id="second-argument"),
        pytest.param(["completion", ""], ["bash", "zsh", "fish"], id="shell"),
        pytest.param(["nonsense", ""], [], id="unknown-command"),
    ],
)
def test_the_words_that_fit(
    typed: list[str], fitting: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands, options and values come from the parsers themselves."""
    assert words(monkeypatch, capsys, *typed) == fitting


def test_every_command_is_offered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A new command needs no change here."""
    assert words(monkeypatch, capsys, "") == [*COMMANDS, "--help", "--version"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_options(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of them tells at least its help."""
    assert "--help" in words(monkeypatch, capsys, command, "--")


def test_hooks_of_the_named_settings_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--settings` that was typed before decides which hooks there are."""
    file = tmp_path / "given.json"
    hooks = [{"type": "command", "command": "true", "name": name} for name in ("guard", "other")]
    file.write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": hooks}]}}))
    assert words(monkeypatch, capsys, "log", "--settings", str(file), "--hook", "gu") == ["guard"]


def test_the_shell_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody's shell is guessed."""
    assert main(["completion"]) == 1
    assert capsys.readouterr().err == "hookline: which shell? hookline completion bash|zsh|fish\n"


def test_json_holds_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    """The same script, as a value."""
    main(["completion", "bash"])
    script = capsys.readouterr().out
    main(["completion", "bash", "--json"])
    assert json.loads(capsys.readouterr().out) == {"shell": "bash", "script": script}


def in_shell(shell: str, code: str, cwd: Path) -> list[str]:
    """Return the output of a real shell with the command on its PATH."""
    done = subprocess.run(
        [shell, "-c", code],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=45,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def bash_completes(cwd: Path, *typed: str) -> list[str]:
    """Return bash's completions of these words."""
    quoted = " ".join(f"'{word}'" for word in ("hookline", *typed))
    code = f"""
        eval "$(hookline completion bash)"
        complete -p hookline >/dev/null || exit 1
        COMP_WORDS=({quoted}); COMP_CWORD={len(typed)}
        _hookline
        ((${{#COMPREPLY[@]}})) && printf '%s\\n' "${{COMPREPLY[@]}}" || :
    """
    return in_shell("bash", code, cwd)


def test_bash_completes_commands_events_and_options(project: Path) -> None:
    """The script works in a real bash, down to an option that has been begun with two dashes."""
    assert bash_completes(project, "doc") == ["doctor"]
    assert bash_completes(project, "fire", "Before") == EVENTS
    assert bash_completes(project, "schema", "--") == ["--help", "--json", "--color"]
    assert bash_completes(project, "check", "--settings", "") == []


def test_bash_is_given_names_as_one_word(project: Path, own_home: Path) -> None:
    """A hook's name with a space in it is quoted, and hooks of all layers are known."""
    file = own_home / ".llxprt" / "settings.json"
    file.parent.mkdir()
    hooks = [{"type": "command", "command": "true", "name": name} for name in ("my guard", "other")]
    file.write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": hooks}]}}))
    assert bash_completes(project, "disable", "my") == [r"my\ guard"]


def zsh_code(*typed: str) -> str:
    listed = " ".join(f"'{word}'" for word in ("hookline", *typed))
    return f"""
        compdef() {{ : }}
        compadd() {{ shift; print -l -- "${{(@P)1}}" }}
        _files() {{ print files }}
        eval "$(hookline completion zsh)"
        words=({listed}); CURRENT={len(typed) + 1}
        _hookline
    """


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes(project: Path) -> None:
    """The script works in a real zsh."""
    assert in_shell("zsh", zsh_code("fire", "Before"), project) == EVENTS
    assert in_shell("zsh", zsh_code("check", "--settings", ""), project) == ["files"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(project: Path) -> None:
    """The script works in a real fish."""
    code = "hookline completion fish | source; complete -C 'hookline fire Before'"
    assert sorted(in_shell("fish", code, project)) == sorted(EVENTS)
