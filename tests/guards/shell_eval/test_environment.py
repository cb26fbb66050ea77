"""Code in a command that prints the whole environment, and code that asks for a part of it."""

import pytest

from hookline.guards.command_rules import evaluate_command

PLACE = ("/home/me/project", "/home/me", "/home/me/project")
PRINTED = [
    "python3 -c 'import os; print(dict(os.environ).keys(), os.environ)'",
    "python3 -c 'import os; print(os.environ.copy())'",
    "python3 -c 'import os; [print(k, v) for k, v in os.environ.items()]'",
    "python3 -c 'import os; [print(k, os.getenv(k)) for k in os.environ]'",
    "python3 -c 'from os import environ as e; print(e)'",
    "python3 -c 'import os; print(f\"{os.environ}\")'",
    "python3 -c 'import os; print(vars(os)[\"environ\"])'",
    "node -e 'for (const k in process.env) console.log(k, process.env[k])'",
    "node -e 'console.log(Object.entries(process.env))'",
    "ruby -e 'ENV.each { |k, v| puts k + v }'",
    "perl -e 'print map {\"$_=$ENV{$_}\"} keys %ENV'",
    "php -r 'print_r(getenv());'",
    "awk 'BEGIN{for (k in ENVIRON) print k, ENVIRON[k]}'",
    "declare -p | sort",
]
ASKED_FOR = [
    "python3 -c 'import os; print(dict(os.environ).keys())'",
    "python3 -c 'import os; print(sorted(os.environ))'",
    'python3 -c \'import os; print(os.environ["HOME"], os.environ.get("X"))\'',
    'python3 -c \'import os, subprocess; print(subprocess.run(["ls"], env={**os.environ, "A": "1"}))\'',
    'python3 -c \'import os; e = os.environ.copy(); e["A"] = "1"; print(len(e))\'',
    "python3 -c 'import os; print(\"X\" in os.environ)'",
    "node -e 'console.log(Object.keys(process.env), process.env.HOME)'",
    "node -e 'const {HOME} = process.env; console.log(HOME)'",
    "ruby -e 'puts ENV[\"HOME\"]'",
    "perl -e 'print $ENV{HOME}'",
    "awk 'BEGIN{print ENVIRON[\"HOME\"]}'",
]

PLAIN = [
    "PATH=$HOME/.local/bin:$PATH ls",
    "PATH=./node_modules/.bin:$PATH tsc",
    "export PATH=$PATH:/usr/local/go/bin",
    "GIT_CONFIG_GLOBAL=/dev/null git log",
    "CC='gcc -m32' make",
]


@pytest.mark.attack("30.B4", "code that prints all variables, in ways that are not `print(os.environ)`")
@pytest.mark.parametrize("command", PRINTED)
def test_what_prints_the_environment_is_asked_about(command: str) -> None:
    assert "show-environment" in {each.rule for each in evaluate_command("shell", command, *PLACE)}


@pytest.mark.attack("30.B2", "a variable that makes the next program another one, or makes it run code")
@pytest.mark.parametrize(
    "command",
    [
        "PERL5DB='BEGIN{system(1)}' perl -d x.pl",
        "PATH=/tmp/bin:$PATH ls",
        "export PATH=.:$PATH",
        "declare -x PATH=/var/tmp/bin:$PATH",
        "GIT_CONFIG_GLOBAL=/tmp/config git log",
        "GIT_EXEC_PATH=tools git log",
        "CC='rm -rf /' make",
        "enable -f ./tool.so tool",
    ],
)
def test_a_variable_that_replaces_programs_is_asked_about(command: str) -> None:
    assert evaluate_command("shell", command, *PLACE) != ()


@pytest.mark.parametrize("command", [*ASKED_FOR, *PLAIN])
def test_a_usual_variable_is_let_through(command: str) -> None:
    assert evaluate_command("shell", command, *PLACE) == ()
