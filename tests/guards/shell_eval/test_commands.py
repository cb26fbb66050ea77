"""The programs that a shell command runs."""

import pytest

from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.programs.table import reader
from hookline.guards.shell_eval.words import UNKNOWN

RM = ("rm", "-rf", "/")


def calls_of(command: str) -> list[tuple[str, ...]]:
    return [call.words for call in read(command).calls]


def read(command: str) -> Commands:
    commands = reader(cwd="/home/me/project", home="/home/me")
    commands.read(command)
    return commands


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "'rm' -rf /",
        r"\rm -rf /",
        r"r\m -rf /",
        "r''m -rf /",
        '"rm" "-rf" "/"',
        "{rm,-rf,/}",
        "rm${IFS}-rf${IFS}/",
        "$'\\x72m' -rf /",
        "$(echo rm) -rf /",
        "`echo rm` -rf /",
        '"`echo rm`" -rf /',
        "$(printf '%s' rm) -rf /",
        "X=rm; $X -rf /",
        "A='rm -rf /'; $A",
        "export D=/; rm -rf $D",
        "ls && rm -rf /",
        "ls | rm -rf /",
        "ls; rm -rf /",
        "(rm -rf /)",
        "{ rm -rf /; }",
        "if true; then rm -rf /; fi",
        "while true; do rm -rf /; done",
        "for d in /; do rm -rf $d; done",
        "case x in x) rm -rf /;; esac",
        "f() { rm -rf /; }; f",
        "function f { rm -rf /; }; f",
        "! rm -rf /",
        "echo $(rm -rf /)",
        'echo "$(rm -rf /)"',
        "cat <(rm -rf /)",
        "cat <<EOF\n$(rm -rf /)\nEOF",
        "bash -c 'rm -rf /'",
        "bash -lc 'rm -rf /'",
        "bash -c 'rm -rf $1' _ /",
        "bash <<EOF\nrm -rf /\nEOF",
        "bash <<'EOF'\nrm -rf /\nEOF",
        "bash <<< 'rm -rf /'",
        "bash <(echo rm -rf /)",
        "source <(echo rm -rf /)",
        "echo 'rm -rf /' | sh",
        "printf 'rm -rf /' | tee x | bash",
        "eval 'rm -rf /'",
        "eval rm -rf /",
        "sudo -u root -n rm -rf /",
        "env -i A=1 rm -rf /",
        "env -S 'rm -rf' /",
        "nohup nice -n 5 timeout -s KILL 5 rm -rf /",
        "command rm -rf /",
        "exec rm -rf /",
        "busybox rm -rf /",
        "echo / | xargs rm -rf",
        "echo / | xargs -I{} rm -rf {}",
        "find / -exec rm -rf {} +",
        "trap 'rm -rf /' EXIT",
        "alias x='rm -rf /'; x",
        "watch -n 1 'rm -rf /'",
        "su -c 'rm -rf /'",
        "ssh host 'rm -rf /'",
        "git -c alias.x='!rm -rf /' x",
        "git submodule foreach 'rm -rf /'",
        "tar cf x --checkpoint=1 --checkpoint-action=exec='rm -rf /' .",
        "vim -c ':!rm -rf /'",
        "python3 -c 'import os; os.system(\"rm -rf /\")'",
        'python3 -c \'import subprocess; subprocess.run(["rm", "-rf", "/"])\'',
        "python3 <<'EOF'\nimport os\nos.system('rm -rf /')\nEOF",
        "perl -e 'system(\"rm -rf /\")'",
        "node -e \"require('child_process').execSync('rm -rf /')\"",
        "awk 'BEGIN{system(\"rm -rf /\")}'",
        "docker exec web sh -c 'rm -rf /'",
    ],
)
def test_a_command_is_found_wherever_a_shell_would_run_it(command: str) -> None:
    assert RM in calls_of(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo 'rm -rf /'",
        "echo rm -rf /",
        "grep 'rm -rf /' notes.txt",
        "git commit -m 'never rm -rf / again'",
        "cat <<EOF\nrm -rf /\nEOF",
        "cat > notes.md <<'EOF'\n$(rm -rf /)\nEOF",
        "ls # rm -rf /",
        "python3 -c 'print(\"rm -rf /\")'",
        "[[ $x == 'rm -rf /' ]]",
        "case 'rm -rf /' in *) ls;; esac",
    ],
)
def test_data_is_no_command(command: str) -> None:
    assert not any(words[:1] == ("rm",) for words in calls_of(command))


@pytest.mark.parametrize(
    "command",
    [
        "echo ${x/$(rm -rf /)/y}",
        'echo "${x[@]/#/$(rm -rf /)}"',
        "echo ${x[$(rm -rf /)]}",
        "echo $((1 + $(rm -rf /)))",
        'echo "$((1 + `rm -rf /`))"',
        "echo $[ $(rm -rf /) ]",
        "(( x = $(rm -rf /) ))",
        "echo $((rm -rf /) ; ls)",
        "((rm -rf /) ; ls)",
        "x[$(rm -rf /)]=1 ls",
        "declare -a x=($(rm -rf /))",
        "coproc N { rm -rf /; }",
        "a 10> out; rm -rf /",
        "!(rm -rf /)",
        "for ((;;)) { rm -rf /; }",
        "for x in a; { rm -rf /; }",
        "a <<A <<B\n1\nA\n2\nB\nrm -rf /",
        "poetry run rm -rf /",
        "bundle exec rm -rf /",
        "npx -y rm -rf /",
        "conda run -n base rm -rf /",
        "tmux new-session -d 'rm -rf /'",
        "screen -dm rm -rf /",
        "screen -dmS name rm -rf /",
        "printf 'rm -rf /' | xargs -0 sh -c",
        "PROMPT_COMMAND='rm -rf /'",
        "export PROMPT_COMMAND='rm -rf /'",
        "echo 'rm -rf /' > x.sh && sh x.sh",
        "cat > x.sh <<'EOF'\nrm -rf /\nEOF\nchmod +x x.sh && ./x.sh",
        "echo 'rm -rf /' | tee x.sh; bash ./x.sh",
        "echo 'import os; os.system(\"rm -rf /\")' > x.py; python3 x.py",
    ],
)
def test_corners_of_the_grammar_hide_nothing(command: str) -> None:
    assert RM in calls_of(command)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("kill -9 1 > out", [("kill", "-9", "1")], id="a number before a blank is not a descriptor"),
        pytest.param("kill -9 1> out", [("kill", "-9")], id="descriptor"),
        pytest.param("a {fd}> out b", [("a", "b")], id="descriptor in a variable"),
        pytest.param("ls !(*.txt) +(a|b)", [("ls", "!(*.txt)", "+(a|b)")], id="patterns"),
        pytest.param("declare -a x=(rm -rf /)", [("declare", "-a")], id="a list is not a command"),
        pytest.param("case x in a) b;; esac", [("b",)], id="case"),
        pytest.param("echo $[1 + 2]", [("echo", UNKNOWN)], id="old calculation"),
        pytest.param("cat ~root/x ~bob", [("cat", "/root/x", "/home/bob")], id="other homes"),
    ],
)
def test_words_are_those_of_a_shell(command: str, expected: list[tuple[str, ...]]) -> None:
    assert calls_of(command) == expected


@pytest.mark.parametrize(
    "command",
    ["$CMD x", '"$A$B" x', "eval $X", 'bash -c "$X"', "make-script | sh", "rm -rf 'unclosed", "/bin/r? -rf /"],
)
def test_what_cannot_be_known_is_said(command: str) -> None:
    assert read(command).doubts != []


def test_a_directory_is_followed() -> None:
    commands = read("cd / && rm -rf *; (cd /srv; rm x); rm y")
    assert [(call.program, call.cwd) for call in commands.calls if call.program == "rm"] == [
        ("rm", "/"),
        ("rm", "/srv"),
        ("rm", "/"),
    ]


def test_an_unknown_part_keeps_its_place() -> None:
    assert calls_of("rm -rf build/$NAME/x") == [("rm", "-rf", f"build/{UNKNOWN}/x")]


def test_a_hostile_command_ends_soon() -> None:
    for command in (
        "$(" * 5000,
        "a;" * 40_000,
        "x=1;" + "$x" * 10_000,
        "eval " * 3000,
        "{a,b}" * 300,
        "git checkout " + "a " * 20_000,
    ):
        assert read(command).calls is not None
