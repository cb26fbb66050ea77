import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from hookline.shell.files import FoundFiles, existing_files
from hookline.shell.names import possible_paths


@pytest.fixture(name="project")
def project_fixture(tmp_path: Path) -> Path:
    """A project with a space in its name and scripts in the places where people put them."""
    project = tmp_path / "my project"
    for name in (
        "guard.sh",
        "hooks/x.sh",
        "hooks/x.py",
        "hooks/my script.sh",
        "hooks/deep/y.sh",
        "hooks/pack/__init__.py",
        "hooks/pack/__main__.py",
        "node/index.js",
        "Makefile",
        "cash$x",
    ):
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("true\n")
    return project


def find(command: str, project: Path, env: Mapping[str, str] | None = None) -> FoundFiles:
    return existing_files(possible_paths(command, env or {}, str(project)), str(project))


def named(command: str, project: Path, env: Mapping[str, str] | None = None) -> set[str]:
    found = {Path(name).resolve() for name in find(command, project, env).files}
    return {str(file.relative_to(project)) for file in found if file.is_relative_to(project)}


@pytest.mark.parametrize(
    ("command", "files"),
    [
        pytest.param("hooks/x.sh", {"hooks/x.sh"}, id="relative"),
        pytest.param("./guard.sh --flag", {"guard.sh"}, id="dot"),
        pytest.param("python3 hooks/x.py", {"hooks/x.py"}, id="interpreter"),
        pytest.param("bash -c 'hooks/x.sh --flag'", {"hooks/x.sh"}, id="nested-shell"),
        pytest.param("""bash -c "sh -c 'hooks/my\\ script.sh'" """, {"hooks/my script.sh"}, id="twice-nested-shell"),
        pytest.param('"$CLAUDE_PROJECT_DIR"/hooks/x.sh', {"hooks/x.sh"}, id="quoted-variable"),
        pytest.param("$LLXPRT_PROJECT_DIR/hooks/x.sh", {"hooks/x.sh"}, id="bare-variable"),
        pytest.param('"${GEMINI_PROJECT_DIR}/hooks/my script.sh"', {"hooks/my script.sh"}, id="braced-variable"),
        pytest.param("${CLAUDE_PROJECT_DIR%/}/hooks/x.sh", {"hooks/x.sh"}, id="trimmed-variable"),
        pytest.param("$ROOT/hooks/x.sh", {"hooks/x.sh"}, id="unknown-variable"),
        pytest.param("${GUARD:-hooks/x.sh}", {"hooks/x.sh"}, id="default-value"),
        pytest.param("$(git rev-parse --show-toplevel)/hooks/x.sh", {"hooks/x.sh"}, id="substitution"),
        pytest.param("`pwd`/hooks/x.sh", {"hooks/x.sh"}, id="backticks"),
        pytest.param("hooks/my\\ script.sh;guard.sh", {"hooks/my script.sh", "guard.sh"}, id="no-space-between"),
        pytest.param("'hooks/my script.sh'&&./guard.sh", {"hooks/my script.sh", "guard.sh"}, id="quoted-space"),
        pytest.param('ho""oks/x.sh', {"hooks/x.sh"}, id="quotes-inside-a-word"),
        pytest.param("bash cash\\$x", {"cash$x"}, id="escaped-dollar-sign"),
        pytest.param("bash 'cash$x'", {"cash$x"}, id="quoted-dollar-sign"),
        pytest.param("sh<hooks/x.sh", {"hooks/x.sh"}, id="input-redirection"),
        pytest.param("awk -fhooks/x.sh", {"hooks/x.sh"}, id="attached-option"),
        pytest.param("tool --file=hooks/x.sh", {"hooks/x.sh"}, id="long-option"),
        pytest.param("F=hooks/x.sh; sh $F", {"hooks/x.sh"}, id="assignment"),
        pytest.param("curl -d @hooks/x.sh", {"hooks/x.sh"}, id="at-sign"),
        pytest.param("cd hooks && ./x.sh", {"hooks/x.sh"}, id="changed-directory"),
        pytest.param("cd hooks; cd deep; ./y.sh", {"hooks/deep/y.sh"}, id="changed-directory-twice"),
        pytest.param("(cd hooks/deep && ../x.sh)", {"hooks/x.sh"}, id="parent-directory"),
        pytest.param("sh hooks/*.sh", {"hooks/x.sh", "hooks/my script.sh"}, id="pattern"),
        pytest.param("sh *.sh", {"guard.sh"}, id="pattern-without-directory"),
        pytest.param("sh [[:alpha:]]uard.sh", {"guard.sh"}, id="character-class"),
        pytest.param("sh hooks/[^a].sh", {"hooks/x.sh", "hooks/my script.sh"}, id="negated-brackets"),
        pytest.param("case $1 in *.sh) true;; esac; [[ $1 == *.sh ]]", set(), id="patterns-that-are-compared"),
        pytest.param("echo ${1##*.sh} '*.sh'", set(), id="patterns-that-are-not-expanded"),
        pytest.param("sh hooks/{x,y}.sh hooks/x.sh", {"hooks/x.sh"}, id="braces-beside-a-name"),
        pytest.param("A=.sh; bash hooks/x$A", {"hooks/x.sh"}, id="assigned-part"),
        pytest.param("bash $'hooks/my script.sh'", {"hooks/my script.sh"}, id="ansi-quotes"),
        pytest.param("bash <<'E'\nhooks/'my script.sh'\nE", {"hooks/my script.sh"}, id="here-document"),
        pytest.param("make -s", {"Makefile"}, id="file-that-the-program-knows"),
        pytest.param("python3 -m hooks.x", {"hooks/x.py"}, id="module"),
        pytest.param(
            "python3 -Im hooks.pack", {"hooks/pack/__main__.py", "hooks/pack/__init__.py"}, id="package-as-module"
        ),
        pytest.param("python3 hooks/pack", {"hooks/pack/__main__.py"}, id="package-as-directory"),
        pytest.param("node node", {"node/index.js"}, id="node-directory"),
        pytest.param("hooks/x.sh 'it", {"hooks/x.sh"}, id="open-quote"),
        pytest.param("hooks/x.sh >> guard.sh", {"hooks/x.sh"}, id="only-written"),
        pytest.param("echo true >> guard.sh; sh guard.sh", {"guard.sh"}, id="written-and-run"),
        pytest.param("jq . /dev/null | grep -q '[' \0", set(), id="no-file"),
        pytest.param("", set(), id="empty"),
    ],
)
def test_every_file_that_a_command_names_is_found(project: Path, command: str, files: set[str]) -> None:
    """A script is found however the command spells it."""
    assert named(command, project) == files


@pytest.mark.parametrize(
    ("command", "env", "files"),
    [
        pytest.param("sh $GUARD", {"GUARD": "hooks/x.sh"}, {"hooks/x.sh"}, id="named-in-a-variable"),
        pytest.param("sh $DIR/x.sh", {"DIR": "hooks"}, {"hooks/x.sh"}, id="directory-in-a-variable"),
        pytest.param("true", {"BASH_ENV": "hooks/x.sh"}, {"hooks/x.sh"}, id="read-by-the-shell-itself"),
        pytest.param("x.sh", {"PATH": "/usr/bin:hooks"}, {"hooks/x.sh"}, id="search-path"),
        pytest.param("$(pwd)/hooks/x.sh", {"E": "", "R": "/"}, {"hooks/x.sh"}, id="values-that-begin-every-path"),
    ],
)
def test_the_environment_of_a_hook_names_files_too(
    project: Path, command: str, env: Mapping[str, str], files: set[str]
) -> None:
    """A file that the hook's own variables lead to is found."""
    assert named(command, project, env) == files


@pytest.mark.parametrize(
    ("command", "written"),
    [
        pytest.param("a.sh >> hooks.log", "hooks.log", id="append"),
        pytest.param("a.sh>hooks.log", "hooks.log", id="no-spaces"),
        pytest.param("a.sh &> hooks.log", "hooks.log", id="both-streams"),
        pytest.param("echo hi >| hooks.log; a.sh", "hooks.log", id="clobber"),
        pytest.param('echo "$(date) $1" >> "my log" && a.sh', "my log", id="quoted"),
        pytest.param("(a.sh > b) 2> 'c d'", "b", id="subshell"),
        pytest.param("(a > b) 2> 'c d'; a.sh", "c d", id="after-a-subshell"),
        pytest.param("a > ${DIR}/b a.sh", "b", id="parameter"),
        pytest.param('echo "$(a.sh > b)"', "b", id="inside-a-substitution"),
        pytest.param(r"a > b\ c a.sh", "b c", id="escaped-space"),
    ],
)
def test_files_that_are_only_written_are_left_out(project: Path, command: str, written: str) -> None:
    """The target of an output redirection is not covered, and everything else is."""
    for name in ("a.sh", written):
        (project / name).touch()
    assert named(command, project) == {"a.sh"}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("python3 < a.sh", id="input"),
        pytest.param("bash <> a.sh", id="read-write"),
        pytest.param("tee >(sh a.sh)", id="process-substitution"),
        pytest.param("bash >&a.sh", id="descriptor"),
        pytest.param("printf '>' && a.sh && echo ''", id="single-quoted-sign"),
        pytest.param('printf ">" && a.sh && echo ""', id="double-quoted-sign"),
        pytest.param(r"test x \> a.sh", id="escaped-sign"),
        pytest.param("echo $'it\\'s >' a.sh ''", id="ansi-quotes"),
        pytest.param('echo "$(cat ">" a.sh)"', id="quotes-in-a-substitution-in-quotes"),
        pytest.param('echo "${x#">"}" a.sh', id="quotes-in-a-parameter"),
        pytest.param("echo `echo '>' a.sh`", id="backticks"),
        pytest.param("cat <<E\nit's\nE\necho '> a.sh'", id="here-document"),
        pytest.param("# it's\necho '> a.sh'", id="comment"),
        pytest.param("(( 1 > a.sh ))", id="arithmetic"),
        pytest.param("case x in x) echo > a.sh;; esac", id="case"),
        pytest.param("bash /dev/fd/3 3>>a.sh", id="read-back-through-dev-fd"),
        pytest.param("echo > $(sh a.sh)", id="a-name-that-a-command-prints"),
        pytest.param("echo 'open > a.sh", id="open-quote"),
        pytest.param('echo > "a.sh', id="open-target"),
        pytest.param("echo ) > a.sh", id="stray-parenthesis"),
        pytest.param("a.sh >", id="nothing-follows"),
    ],
)
def test_what_may_be_read_is_covered(project: Path, command: str) -> None:
    """A file is covered unless it is certainly the target of an output redirection."""
    (project / "a.sh").touch()
    assert named(command, project) == {"a.sh"}


def test_home_is_expanded(project: Path, own_home: Path) -> None:
    """`~` and `$HOME` lead to the user's home directory, which may be outside the project."""
    script = own_home / "x.sh"
    script.write_text("true\n")
    for command in ("~/x.sh", "sh -c '~/x.sh'", "$HOME/x.sh", "sh --rcfile=~/x.sh"):
        assert list(find(command, project).files) == [str(script)], command


def test_a_program_that_path_finds_inside_the_project_is_covered(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare name is a file of the project where PATH leads into the project, unless a link leads out again."""
    places = project / "node_modules" / ".bin"
    places.mkdir(parents=True)
    (places / "lint").symlink_to(project / "hooks" / "x.py")
    (places / "sh").symlink_to("/bin/sh")
    assert named("sh -c 'lint --all'", project) == set()
    monkeypatch.setenv("PATH", f"{places}:{os.environ['PATH']}")
    assert named("sh -c 'lint --all'", project) == {"hooks/x.py"}


@pytest.mark.parametrize(
    ("command", "unresolved"),
    [
        pytest.param("hooks/x.sh --flag 'a b' \"$CLAUDE_PROJECT_DIR/c\" ~/x > $LOG", (), id="nothing"),
        pytest.param('sh $GUARD $HOME/x "${LLXPRT_PROJECT_DIR:-.}/x"', (), id="known-variables"),
        pytest.param("jq -r '.a as $x | \"\\($x)\"' | awk '{print $1}'; exit $?", (), id="text-that-no-shell-reads"),
        pytest.param("case $1 in a*) true;; esac; [[ $1 == b ]]", (), id="only-compared"),
        pytest.param('echo a >> "$LOG"', (), id="only-written"),
        pytest.param("[[:alpha:]].sh", (), id="pattern"),
        pytest.param("A=.sh; bash hooks/g$A", ("hooks/g$A",), id="assigned"),
        pytest.param("bash $'hooks/g\\x2esh'", ("$'hooks/g\\x2esh'",), id="ansi-escapes"),
        pytest.param('bash "$(cat name)"', ('"$(cat name)"',), id="substitution"),
        pytest.param("bash `cat name`", ("`cat name`",), id="backquotes"),
        pytest.param("bash <(cat name)", ("<(cat name)",), id="process-substitution"),
        pytest.param("bash ${GUARD/a/b}", ("${GUARD/a/b}",), id="replaced"),
        pytest.param("bash ${!GUARD}", ("${!GUARD}",), id="indirect"),
        pytest.param("bash $((1+1)).sh", ("$((1+1)).sh",), id="arithmetic"),
        pytest.param("((x)); a", ("((x)); a",), id="arithmetic-command"),
        pytest.param("a; b <((sh $x) | c)", ("<((sh $x) | c)", "$x"), id="nested-subshells"),
        pytest.param("bash $1 $@", ("$1", "$@"), id="arguments"),
        pytest.param("bash {1..3}.sh", ("{1..3}.sh",), id="sequence"),
        pytest.param("bash {'a,b',c}.sh", ("{'a,b',c}.sh",), id="quotes-in-braces"),
        pytest.param("bash ~+/x.sh", ("~+/x.sh",), id="odd-home"),
        pytest.param("eval 'sh x.sh'", ("eval",), id="eval"),
        pytest.param("ls | xargs sh", ("xargs",), id="xargs"),
        pytest.param("find . -exec sh {} \\;", ("-exec",), id="find"),
        pytest.param("curl x | sh", ("sh",), id="piped-into-a-shell"),
        pytest.param("curl x | sh x.sh", (), id="piped-into-a-script"),
        pytest.param("sh -c 'sh g$A'", ("g$A",), id="nested"),
        pytest.param("sh <<E\nsh g$A\nE", ("sh g$A\n", "g${A}"), id="here-document"),
        pytest.param("GUARD=x; sh $GUARD", ("$GUARD",), id="overwritten"),
        pytest.param("read LLXPRT_\\PROJECT_DIR; sh $LLXPRT_PROJECT_DIR", ("$LLXPRT_PROJECT_DIR",), id="read-again"),
        pytest.param("cd /; sh $PWD/x", ("$PWD/x",), id="moved"),
        pytest.param("sh 'x", ("sh 'x",), id="open-quote"),
    ],
)
def test_words_that_may_lead_to_other_files_are_reported(
    project: Path, command: str, unresolved: tuple[str, ...]
) -> None:
    """A word that only the shell can resolve is reported."""
    assert find(command, project, {"GUARD": "a", "LOG": "b"}).unresolved == unresolved


def test_commands_in_variables_are_read_too(project: Path) -> None:
    """A variable of the hook may hold a command for a shell."""
    assert find('sh -c "$TEXT"', project, {"TEXT": "sh g$A"}).unresolved == ("g$A",)
    assert find('grep "$TEXT"', project, {"TEXT": "sh g$A"}).unresolved == ()
    assert find("grep a", project, {"BASH_ENV": "g$A"}).unresolved == ("g$A",)


def test_a_pattern_over_too_many_files_is_given_up(project: Path) -> None:
    """The search ends after a number of directory entries, and the pattern is reported."""
    many = project / "many"
    many.mkdir()
    for number in range(1990):
        (many / f"{number}.sh").touch()
    assert len(find("cat many/*.sh", project).files) == 1990
    for number in range(1990, 2010):
        (many / f"{number}.sh").touch()
    assert named("cat many/*.sh guard.sh", project) == {"guard.sh"}
    assert find("cat many/*.sh guard.sh", project).unresolved == ("many/*.sh",)
    assert "/*/*/*/*/*/*" in find("cat /*/*/*/*/*/*", project).unresolved


def test_a_pattern_that_is_longer_than_any_path_is_given_up(project: Path) -> None:
    """Reading it would take time that grows with its square; the word is named as one that trust can't cover."""
    pattern = "[a" * 20_000 + "*"
    found = existing_files(possible_paths(f"cat {pattern}", {}, str(project)), str(project))
    assert pattern in found.given_up
    assert pattern in found.unresolved


def test_a_command_with_too_many_names_is_given_up(project: Path) -> None:
    """Names that could be in each of many directories are not all tried, and the command is reported."""
    names = [f"d{number}" for number in range(200)]
    for name in names:
        (project / name).mkdir()
    command = " ".join(names)
    assert find(command, project).unresolved == (command,)


@pytest.mark.parametrize(
    "part", ["$(", '"${x:-', "`\\`", "(", "<(", "${a", "((", "<<'", "<<a\n$(", "'", "case x in (", "$'"]
)
def test_a_command_that_never_closes_is_reported(project: Path, part: str) -> None:
    """However deep it nests, a command that the shell would refuse is read in time and reported as a whole."""
    command = part * 5001
    assert command in find(command, project).unresolved


@pytest.mark.parametrize("part", ["[:", "[", "]", "*", "{,", "\\", "~", "a=", "-m ", "a>b ", "`", '"', "a/*", "\0"])
def test_a_long_command_is_read_in_time(project: Path, part: str) -> None:
    """No text takes the square of its length to read: it would take minutes."""
    find(part * 30_000, project)
