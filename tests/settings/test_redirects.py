import pytest

from hookline.settings._redirects import blank_output_targets


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        pytest.param("echo hi >> hooks.log", "echo hi >>", id="append"),
        pytest.param("echo hi>hooks.log", "echo hi>", id="no-spaces"),
        pytest.param("echo hi >| hooks.log; ls", "echo hi >| ; ls", id="clobber"),
        pytest.param('echo "$(date) $1" >> "my log" && a.sh', 'echo "$(date) $1" >> && a.sh', id="quoted"),
        pytest.param("(a > b) 2> 'c d'", "(a > ) 2>", id="subshell"),
        pytest.param("a > ${DIR}/b c", "a > c", id="parameter"),
        pytest.param(r"a > b\ c d", "a > d", id="escaped-space"),
    ],
)
def test_files_that_are_only_written_are_blanked(command: str, kept: str) -> None:
    """The target of an output redirection disappears, and nothing else does."""
    assert blank_output_targets(command).split() == kept.split()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("python3 a.py < b", id="input"),
        pytest.param("bash <> a.sh", id="read-write"),
        pytest.param("tee >(sh a.sh)", id="process-substitution"),
        pytest.param("a >&2", id="descriptor"),
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
        pytest.param("echo >", id="nothing-follows"),
    ],
)
def test_everything_else_stays(command: str) -> None:
    """What is no output redirection, or is beyond the scanner, stays as it is."""
    assert blank_output_targets(command) == command
