"""Variables: whatever may write one makes it unknown."""

import pytest

from hookline.guards.command_rules import evaluate_command

PLACE = ("/home/me/project", "/home/me", "/home/me/project")


def is_stopped(command: str) -> bool:
    return evaluate_command("shell", command, *PLACE) != ()


@pytest.mark.req("DELTA-PACK-003")
@pytest.mark.attack("30.B3", "a variable that something else than an assignment writes to")
@pytest.mark.parametrize(
    "writing",
    [
        "printf -v p /",
        "printf -vp %s /",
        "declare -n q=p; q=/",
        "typeset -n q=p; q=/",
        "local -n q=p; q=/",
        "declare p=/",
        "declare -g p=/",
        "typeset p=/",
        "local p=/",
        "local p",
        "export p=/",
        "readonly p=/",
        "declare -i p=1",
        "mapfile p < list",
        "mapfile -t p < list",
        "readarray -t p < list",
        "getopts ab: p",
        "read p < list",
        "read -r p <<< /",
        "read -r x p < list",
        "read -a p < list",
        "IFS=, read -r p < list",
        "eval 'p=/'",
        'eval "$x"',
        "eval p=/",
        ". ./vars.sh",
        "source vars.sh",
        "let p=1; p=/$p",
        "((p=1))",
        "((p++))",
        ": $((p=1))",
        ": $((++p))",
        "unset p",
        "unset -v p",
        "for p in /; do :; done",
        "for p; do :; done",
        "select p in /; do break; done",
        "wait -n -p p",
        "f() { p=/; }; f",
        "function f { p=/; }; f",
        "f() { printf -v p /; }; f",
        "[ -z x ] || p=/",
        "true && p=/",
        "if true; then p=/; fi",
        "case x in x) p=/;; esac",
        "while read -r p; do break; done < list",
        "trap 'p=/' DEBUG",
        "f() { p=/; }; trap f DEBUG",
        "f() { p=/; }; trap 'f x' USR1 EXIT",
        "exec {p}> /dev/null",
        "p+=/../..",
        "p=(/ /)",
        "p[0]=/",
        "p=$(cat list)",
        "{ p=/; }",
        "p=/; (p=build)",
        "p=/; echo build | read p",
        "p=/; echo build | { read p; }",
        "p=/; false && p=build",
        "p=/; if false; then p=build; fi",
        "unset p; : ${p:=/}",
    ],
)
def test_what_may_write_a_variable_makes_it_unknown(writing: str) -> None:
    assert is_stopped(f'p=build; {writing}; rm -rf "$p"')


@pytest.mark.attack("30.B3", "a variable that is set for one command, whose own words get the value before")
@pytest.mark.parametrize(
    "command",
    ["TMPDIR=/Users rm -rf $TMPDIR/x", "p=build rm -rf $p/x", "p=/; p=build rm -rf $p", "p=/; p=x eval :; rm -rf $p"],
)
def test_a_temporary_value_is_not_that_of_the_command_s_own_words(command: str) -> None:
    assert is_stopped(command)


@pytest.mark.parametrize(
    "command",
    [
        'p=build; rm -rf "$p"',
        'p=build; echo "$p"; rm -rf "$p"',
        'p=build; (p=/); rm -rf "$p"',
        'p=build; (cd / && p=/); rm -rf "$p"',
        'p=build; printf "%s" x; rm -rf "$p"',
        'p=build; read -r q < list; rm -rf "$p"',
        'p=build; unset q; rm -rf "$p"',
        'p=build; ((i++)); rm -rf "$p"',
        'p=build; bash -c "p=/"; rm -rf "$p"',
        'p=build; f() { local q=/; }; f; rm -rf "$p"',
        'f() { rm -rf "$1"; }; f build',
        "for p in build dist; do rm -rf $p; done",
        'p=bu; p+=ild; rm -rf "$p"',
        "if true; then p=build; else p=dist; fi; rm -rf $p",
        "rm -rf {build,dist}/{a,b}",
        'x=(build dist); rm -rf "${x[@]}"',
        "mapfile -t files < <(git ls-files); p=build; rm -rf $p",
    ],
)
def test_what_writes_another_variable_changes_nothing(command: str) -> None:
    assert not is_stopped(command)


@pytest.mark.attack("30.B3", "a directory that is found by CDPATH or by the stack of directories")
@pytest.mark.parametrize(
    "command",
    [
        "CDPATH=/; cd etc && rm -rf *",
        "CDPATH=/ cd etc; rm -rf *",
        "cd /; cd build; rm -rf ~-/*",
        "pushd /etc; cd build; rm -rf ~1/*",
    ],
)
def test_a_directory_from_elsewhere_is_unknown(command: str) -> None:
    assert is_stopped(command)


@pytest.mark.parametrize("command", ["CDPATH=/; cd ./build && rm -rf *", "trap cleanup EXIT; p=build; rm -rf $p"])
def test_a_directory_of_the_project_is_known(command: str) -> None:
    assert not is_stopped(command)


@pytest.mark.attack("30.B3", "a command that is put together from variables, braces and a separator")
@pytest.mark.parametrize(
    "command",
    [
        "p=r; p+=m; $p -rf /",
        "IFS=,; x=rm,-rf,/; $x",
        "IFS=$(printf ,); x=rm,-rf,/; $x",
        "{r..r}m -rf /",
        'x=(rm -rf /); "${x[@]}"',
        'set -- rm -rf /; "$@"',
        'f() { "$@"; }; f rm -rf /',
        "x=rm; f() { $x -rf /; }; x=echo; x=rm f",
    ],
)
def test_a_command_from_parts_is_found(command: str) -> None:
    assert is_stopped(command)
