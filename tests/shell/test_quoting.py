import subprocess

import pytest

from hookline.shell.quoting import quote_project_variables

V = "$LLXPRT_PROJECT_DIR"
Q = f'"{V}"'


@pytest.mark.req("HOOK-188")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param(f"a {V}/b", f"a {Q}/b", id="bare"),
        pytest.param("a ${GEMINI_PROJECT_DIR}b", 'a "${GEMINI_PROJECT_DIR}"b', id="braces"),
        pytest.param("$CLAUDE_PROJECT_DIR", '"$CLAUDE_PROJECT_DIR"', id="third name"),
        pytest.param(f"{V}{V}", f"{Q}{Q}", id="twice"),
        pytest.param(f"a {V}_OLD", f"a {V}_OLD", id="another variable"),
        pytest.param("a ${LLXPRT_PROJECT_DIR%/}", "a ${LLXPRT_PROJECT_DIR%/}", id="modified"),
        pytest.param(f"a '{V}' {V}", f"a '{V}' {Q}", id="single quotes"),
        pytest.param(f'a "{V}" {V}', f'a "{V}" {Q}', id="double quotes"),
        pytest.param(f'a "\\"{V}" {V}', f'a "\\"{V}" {Q}', id="escaped quote in quotes"),
        pytest.param(f"a \\{V} {V}", f"a \\{V} {Q}", id="escaped dollar"),
        pytest.param(f"a \\\\{V}", f"a \\\\{Q}", id="escaped backslash"),
        pytest.param(f"a $'\\'{V}' {V}", f"a $'\\'{V}' {Q}", id="ANSI quotes"),
        pytest.param(f"a # {V}'\nb {V}", f"a # {V}'\nb {Q}", id="comment"),
        pytest.param(f"a#{V}", f"a#{Q}", id="no comment inside a word"),
        pytest.param(f"a $#{V}", f"a $#{Q}", id="number of arguments"),
        pytest.param("a $$LLXPRT_PROJECT_DIR", "a $$LLXPRT_PROJECT_DIR", id="process id"),
        pytest.param(f'a "$(b {V} "{V}")" {V}', f'a "$(b {Q} "{V}")" {Q}', id="command in quotes"),
        pytest.param(f'a "$(b "$(c {V})")"', f'a "$(b "$(c {Q})")"', id="nested commands"),
        pytest.param(f"a $(b {V}; (c {V})) {V}", f"a $(b {Q}; (c {Q})) {Q}", id="subshell"),
        pytest.param(
            f'"$(case x in x) b {V};; (y) c;; esac)" {V}', f'"$(case x in x) b {Q};; (y) c;; esac)" {Q}', id="case"
        ),
        pytest.param(f'a "$(b just in case): {V}" {V}', f'a "$(b just in case): {V}" {Q}', id="the word case"),
        pytest.param(
            f'"$(if a; then case x in x) b {V};; esac; fi)" {V}',
            f'"$(if a; then case x in x) b {Q};; esac; fi)" {Q}',
            id="case after then",
        ),
        pytest.param(f"a `b {V}` {V}", f"a `b {Q}` {Q}", id="backquotes"),
        pytest.param(f'a "`b {V}`" {V}', f'a "`b {V}`" {Q}', id="backquotes in quotes"),
        pytest.param(f"a ${{X:-{V}}} {V}", f"a ${{X:-{Q}}} {Q}", id="default value"),
        pytest.param(f'a "${{X:-{V}}}" {V}', f'a "${{X:-{V}}}" {Q}', id="default value in quotes"),
        pytest.param(f'a "${{X:-"{V}"}}" {V}', f'a "${{X:-"{V}"}}" {Q}', id="quotes in a default value in quotes"),
        pytest.param(f"a $(( {V} + 1 )) {V}", f"a $(( {V} + 1 )) {Q}", id="arithmetic"),
        pytest.param(f"(( {V} )); a {V}", f"(( {V} )); a {Q}", id="arithmetic command"),
        pytest.param(f"cat <<E {V}\n{V} '\nE\na {V}", f"cat <<E {Q}\n{V} '\nE\na {Q}", id="heredoc"),
        pytest.param(f"cat <<-'E'\n\t{V}\n\tE\na {V}", f"cat <<-'E'\n\t{V}\n\tE\na {Q}", id="heredoc with tabs"),
        pytest.param(f"cat <<A <<B\n{V}\nA\n{V}\nB\n{V}", f"cat <<A <<B\n{V}\nA\n{V}\nB\n{Q}", id="two heredocs"),
        pytest.param(f"cat <<E\n{V}", f"cat <<E\n{V}", id="heredoc without end"),
        pytest.param(f"cat <<E\n$(a {V})\nE", f"cat <<E\n$(a {Q})\nE", id="command in a heredoc"),
        pytest.param(f"cat <<< {V}", f"cat <<< {Q}", id="here string"),
        pytest.param(f"a '{V}", f"a '{V}", id="quote without end"),
        pytest.param(f'a "{V}', f'a "{V}', id="double quote without end"),
        pytest.param(f"a $({V}", f"a $({Q}", id="command without end"),
        pytest.param("a", "a", id="nothing to do"),
    ],
)
def test_project_variables_outside_quotes_are_quoted(command: str, expected: str) -> None:
    """Outside quotes a variable is read as if double-quoted; everything else stays as it was."""
    assert quote_project_variables(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        f"printf '<%s>' {V} x{V}/y '{V}' \"{V} z\" \\{V}",
        f'printf "<%s>" "$(printf "<%s>" {V} "{V}")" `printf "<%s>" {V}`',
        f"cat <<E; printf '<%s>' {V}\n{V} it's\nE\nprintf '<%s>' {V} # {V}'",
        f'unset X; printf "<%s>" ${{X:-{V}}} "${{X:-{V}}}" ${{X:-"{V}"}}',
        f"case {V} in *) printf '<%s>' \"$(case a in a) echo {V};; esac)\" {V};; esac",
        f"for x in {V} {V}; do printf '<%s>' $x; done; y={V}; [[ {V} == *' '* ]] && printf '<%s>' {V}",
    ],
)
def test_bash_reads_the_result_as_intended(command: str) -> None:
    """With a value that needs no quotes bash does the same with and without ours; with any other it succeeds."""
    text = quote_project_variables(command)
    for value in ("/plain", "/with space *"):
        ran = [
            subprocess.run(["bash", "-c", each], env={"LLXPRT_PROJECT_DIR": value}, capture_output=True, check=False)
            for each in (command, text)
        ]
        assert (ran[1].returncode, ran[1].stderr) == (ran[0].returncode if value == "/plain" else 0, b"")
        if value == "/plain":
            assert ran[1].stdout == ran[0].stdout
