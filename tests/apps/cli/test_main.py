import subprocess
import sys
from pathlib import Path

import pytest

from hookline.apps.cli.main import COMMANDS, main
from hookline.errors import install_command


def run_module(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hookline", *arguments], capture_output=True, text=True, check=False, timeout=45
    )


def test_help_names_every_command() -> None:
    """`hookline --help` lists what can be done."""
    done = run_module("--help")
    assert done.returncode == 0
    assert "fire" in done.stdout


def test_help_loads_nothing_heavy() -> None:
    """Asking for help does not wait for the engine, or for any library."""
    code = (
        "import sys, contextlib, io\n"
        "from hookline.apps.cli.main import COMMANDS, main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): main(['--help'])\n"
        "print(sorted({'msgspec', 'asyncio', 'dataclasses', 'json', 'regress'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=45)
    assert done.stdout.strip() == "[]"


def test_the_version_is_shown() -> None:
    """`hookline --version` says which one this is."""
    done = run_module("--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "hookline")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["fire"], "the following arguments are required: EVENT", id="nothing-to-fire"),
        pytest.param(
            ["juggle"], "there is no command juggle; hookline --help lists all commands", id="unknown-command"
        ),
        pytest.param(["chekc"], "there is no command chekc; did you mean check?", id="misspelled-command"),
        pytest.param(["bogus"], "there is no command bogus; hookline --help lists all commands", id="unknown-command"),
        pytest.param(
            ["fire", "BeforeTool", "--bogus"],
            "unrecognized arguments: --bogus; hookline fire --help lists the options",
            id="unknown-option",
        ),
        pytest.param(
            ["log", "--sesion", "x"], "there is no option --sesion; did you mean --session?", id="misspelled-option"
        ),
        pytest.param(
            ["fire", "--inptu={}"], "there is no option --inptu; did you mean --input?", id="option-before-the-event"
        ),
        pytest.param(
            ["fleet", "policy", "status", "--jsn"],
            "there is no option --jsn; did you mean --json?",
            id="option-of-a-form",
        ),
        pytest.param(["--vresion"], "there is no option --vresion; did you mean --version?", id="own-option"),
        pytest.param(["--project", ".", "list"], "the command comes first: hookline list --project …", id="too-early"),
        pytest.param(["log", "--session"], "argument --session: expected one argument", id="value-missing"),
        pytest.param(["log", "--decision", "Bloked"], "did you mean blocked?", id="misspelled-value"),
        pytest.param(["fleet", "policy", "stauts"], "did you mean status?", id="misspelled-form"),
        pytest.param(["bridge", "install", "cluade"], "did you mean claude?", id="misspelled-agent"),
    ],
)
def test_bad_usage_is_exit_code_1(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 means that a hook blocks, so bad usage has to be 1."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "hook"])
def test_every_command_knows_its_misspelled_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The advice is in one place, so that no command can be without it."""
    with pytest.raises(SystemExit):
        main([command, "--colro", "never"])
    assert "there is no option --colro; did you mean --color?" in capsys.readouterr().err


def test_what_comes_after_two_dashes_is_no_option_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """The command that the gateway starts may have the same options."""
    with pytest.raises(SystemExit):
        main(["mcp", "--bogus", "--", "server", "--projct"])
    assert "unrecognized arguments: --bogus" in capsys.readouterr().err


@pytest.mark.attack("30.F11", "a command in a directory that was removed")
def test_a_directory_that_was_removed_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most commands begin with the project around them; the message says what is wrong."""
    gone = tmp_path / "gone"
    for words in (["fire", "BeforeTool", "--tool", "t"], ["list"], ["doctor"], ["check"]):
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        assert main(words) == 1
        printed = capsys.readouterr().err
        assert "the current directory does not exist any more" in printed
        assert "bug" not in printed


@pytest.mark.attack("30.A9", "a command whose output goes to a disk that is full")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_bug() -> None:
    """The message says what is wrong, without a traceback."""
    command = [sys.executable, "-m", "hookline", "list", "--packs"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=45)
    assert done.returncode == 1
    assert done.stderr.startswith("hookline: what this command writes can't be written: No space left on device")
    assert "Traceback" not in done.stderr


def test_without_a_command_the_state_of_this_directory_is_shown(
    own_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five lines: on or off, how many, trust, the last event, the next step."""
    monkeypatch.chdir(project)
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["Hooks", "Configured", "Trust", "Last", "Next"]
    assert "hookline init" in lines[4]
    assert main(["init"]) == 0
    capsys.readouterr()
    main([])
    shown = capsys.readouterr().out
    assert "1 hook not trusted" in shown
    assert "hookline trust" in shown
    assert main(["trust", "--all", "--yes"]) == 0
    main(["fire", "BeforeTool", "--input", '{"tool_name": "read_file", "tool_input": {"file_path": ".env"}}'])
    capsys.readouterr()
    main([])
    shown = capsys.readouterr().out
    assert "Hooks       on" in shown
    assert "BeforeTool read_file blocked" in shown
    assert "hookline log" in shown
    assert own_home.is_dir()


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param(["help"], ["--help"], id="help"),
        pytest.param(["help", "log"], ["log", "--help"], id="help-with-a-command"),
        pytest.param(["help", "help"], ["--help"], id="help-with-help"),
        pytest.param(["help", "--help"], ["--help"], id="help-with-an-option"),
        pytest.param(["version"], ["--version"], id="version"),
    ],
)
def test_help_and_version_need_no_dashes(
    words: list[str], meant: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Usual commands of other programs are answered like the matching one here."""
    printed = []
    for given in (words, meant):
        with pytest.raises(SystemExit) as ended:
            main(given)
        printed.append((ended.value.code, capsys.readouterr()))
    assert printed[0] == printed[1]
    assert printed[0][0] == 0


def test_help_with_an_unknown_command_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """The way to all commands is named."""
    with pytest.raises(SystemExit) as ended:
        main(["help", "juggle"])
    assert ended.value.code == 1
    assert "there is no command juggle; hookline --help lists all commands" in capsys.readouterr().err


def test_a_bug_is_told_with_a_traceback_that_acts_on_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error's message may be untrusted: it is made visible, and no line of it begins in the first column."""

    def fail(given: object) -> int:
        raise RuntimeError(f"\x1b[2J\nAllow it? {given!r}")

    monkeypatch.setattr("hookline.apps.cli.commands.schema.run", fail)
    assert main(["schema"]) == 1
    first, *others, last = capsys.readouterr().err.splitlines()
    assert first == "Traceback (most recent call last):"
    assert all(line.startswith("  ") for line in others)
    assert "  RuntimeError: \\x1b[2J" in others
    assert last == "hookline: this is a bug in hookline; please report it"


@pytest.mark.parametrize(
    ("words", "environ", "painted"),
    [
        pytest.param([], {}, False, id="no-terminal"),
        pytest.param([], {"FORCE_COLOR": "1"}, True, id="forced"),
        pytest.param([], {"FORCE_COLOR": "0"}, False, id="forced-off"),
        pytest.param([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, id="both"),
        pytest.param(["--color", "always"], {"NO_COLOR": "1"}, True, id="always"),
        pytest.param(["--color=never"], {"FORCE_COLOR": "1"}, False, id="never"),
        pytest.param(["--color", "auto"], {"FORCE_COLOR": "1"}, True, id="auto"),
    ],
)
def test_colour_can_be_chosen(
    words: list[str],
    environ: dict[str, str],
    painted: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The option goes before NO_COLOR, and that before FORCE_COLOR."""
    monkeypatch.setattr("hookline.apps.cli.report.style._wish", "auto")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert main(["list", "--packs", *words]) == 0
    assert ("\x1b[1m" in capsys.readouterr().out) is painted


def test_a_command_without_its_packages_names_the_extra() -> None:
    """One line, also for its help and for completion, instead of a traceback."""
    program = """
import io, sys
sys.modules |= dict.fromkeys(("referencing", "jsonschema"))
from hookline.apps.cli.main import COMMANDS, main
sys.stdin = io.StringIO("agent\\0--mo\\0")
print(main(["agent"]), main(["agent", "--help"]), main(["completion", "--words"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=45)
    line = f"hookline: this needs the package referencing, which is not installed; run: {install_command('agent')}\n"
    assert (done.stdout, done.stderr) == ("1 1 1\n", 3 * line)
