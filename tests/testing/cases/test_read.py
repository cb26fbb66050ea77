"""Case files are read strictly: whatever would test nothing is an error that says where and what to do."""

from pathlib import Path

import pytest

from hookline.protocol.events import HookEventName
from hookline.testing.cases.case import Case, CasePlace, Expectation, Outcome
from hookline.testing.cases.inputs import MOST_INPUTS
from hookline.testing.cases.read import LARGEST_FILE, CaseFileError, find_files, read_cases, read_text

GOOD = 'tool = "ls"\nexpect = "allowed"\n'


def problem_of(text: str) -> str:
    with pytest.raises(CaseFileError) as caught:
        read_text(text, "f")
    (problem,) = caught.value.problems
    return problem


def test_a_case_is_an_event_and_what_must_come_of_it() -> None:
    """The short keys become the fields that hooks read; the event is BeforeTool unless it is given."""
    text = '# a comment\n[[case]]\nname = "n"\ntool = "t"\narguments.a = 1\nexpect = "blocked"\n'
    assert read_text(text, "f") == [
        Case(
            name="n",
            place=CasePlace("f", 2),
            event=HookEventName.BEFORE_TOOL,
            fields={"tool_name": "t", "tool_input": {"a": 1}},
            expected=Expectation(outcome=Outcome.BLOCKED),
        )
    ]


@pytest.mark.parametrize(
    ("event", "keys", "fields"),
    [
        ("AfterTool", 'tool = "t"\nanswer = "a"', {"tool_name", "tool_input", "tool_response"}),
        ("BeforeModel", 'prompt = "p"', {"llm_request"}),
        ("BeforeToolSelection", 'prompt = "p"', {"llm_request"}),
        ("AfterModel", 'prompt = "p"\nanswer = "a"', {"llm_request", "llm_response"}),
        ("BeforeAgent", 'prompt = "p"', {"prompt"}),
        ("AfterAgent", 'prompt = "p"\nanswer = "a"', {"prompt", "prompt_response", "stop_hook_active"}),
        ("SessionStart", 'trigger = "startup"', {"source"}),
        ("SessionEnd", 'trigger = "exit"', {"reason"}),
        ("PreCompress", 'trigger = "auto"', {"trigger"}),
        ("Notification", 'trigger = "ToolPermission"\nprompt = "p"', {"notification_type", "message", "details"}),
    ],
)
def test_every_event_has_short_keys(event: str, keys: str, fields: set[str]) -> None:
    """Two lines are enough for an input of any event."""
    (case,) = read_text(f'[[case]]\nevent = "{event}"\n{keys}\nexpect = "allowed"\n', "f")
    assert (case.event.value, {*case.fields}) == (event, fields)


@pytest.mark.parametrize(
    ("each", "labels"),
    [
        pytest.param('each.arguments.command = [\n "rm", # with a comment\n "dd",\n]', ["rm", "dd"], id="list"),
        pytest.param(
            'each.tool = ["a", "b"]\neach.arguments.x = [1, 2]', ["a, 1", "a, 2", "b, 1", "b, 2"], id="combinations"
        ),
        pytest.param('each = [{ tool = "a" }, { arguments = { x = 1 } }]', ["a", "1"], id="rows"),
    ],
)
def test_a_case_can_have_many_inputs(each: str, labels: list[str]) -> None:
    """Lists make every combination, tables one input each; what they don't name comes from the case."""
    cases = read_text(f'[[case]]\nname = "n"\n{each}\ntool = "t"\nexpect = "blocked"\n', "f")
    assert [case.input_label for case in cases] == labels
    assert cases[0].title == f"n [{labels[0]}]"


def test_defaults_are_for_every_case() -> None:
    """A case's own keys win; tables are laid over each other."""
    text = '[defaults]\ntool = "t"\narguments = { a = 1, b = 1 }\nexpect.by = "guard"\n'
    text += '[[case]]\nexpect = "blocked"\narguments.b = 2\n[[case]]\ntool = "u"\nexpect.outcome = "allowed"\n'
    first, second = read_text(text, "f")
    assert first.fields == {"tool_name": "t", "tool_input": {"a": 1, "b": 2}}
    assert first.expected == Expectation(outcome=Outcome.BLOCKED, by=("guard",))
    assert (second.fields["tool_name"], second.expected.by) == ("u", ("guard",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("x =", "f: not TOML: Invalid value (at end of document)", id="toml"),
        pytest.param("\n\nx = ]", "f:3: not TOML: Invalid value", id="toml-with-line"),
        pytest.param("a = " + "[" * 5000, "f: not TOML: it is nested too deeply", id="deep"),
        pytest.param("", "f: it has no case; write [[case]]", id="empty"),
        pytest.param("case = 1", "f:1: case is not a list of tables; write [[case]]", id="not-a-list"),
        pytest.param(f'[[case]]\ntol = "x"\n{GOOD}', "f:2: there is no key tol here; did you mean tool?", id="typo"),
        pytest.param(
            f'[defaults]\ntol = "x"\n[[case]]\n{GOOD}',
            "f:2: there is no key tol here; did you mean tool?",
            id="defaults",
        ),
        pytest.param(
            f'[[case]]\n{GOOD}reason = "x"', "f:4: there is no key reason here; write expect.reason", id="moved"
        ),
        pytest.param(
            '[[case]]\ntool = "x"\n\n[case.expect]\noutcom = "blocked"',
            "f:5: there is no key outcom here; did you mean outcome?",
            id="typo-in-expect",
        ),
        pytest.param(
            '[[case]]\ntool = "x"\neach = [{ tol = "a" }]\nexpect = "blocked"',
            "f:3: there is no key tol here; did you mean tool?",
            id="typo-in-a-row",
        ),
        pytest.param(
            '[[case]]\ntool = "x"\n',
            'f:1: the case expects nothing; write, for example, expect = "blocked"'
            " (blocked, allowed, asked, stopped, continues, denied)",
            id="expects-nothing",
        ),
        pytest.param(
            '[[case]]\ntool = "x"\nexpect = "bloked"',
            "f:3: expect.outcome is bloked, which there is not; did you mean blocked?",
            id="outcome",
        ),
        pytest.param(
            f'[[case]]\nevent = "PreTool"\n{GOOD}',
            "f:2: event is PreTool, which there is not; did you mean BeforeTool?",
            id="event",
        ),
        pytest.param(
            '[[case]]\ntool = 3\nexpect = "blocked"', "f:2: tool: expected `str | null`, got `int`", id="type"
        ),
        pytest.param(
            f'[[case]]\n{GOOD}prompt = "x"', "f:4: BeforeTool has no prompt; it has tool, arguments", id="other-event"
        ),
        pytest.param(
            '[[case]]\nexpect = "blocked"',
            "f:1: the input is not one of BeforeTool: tool_name is missing",
            id="no-tool",
        ),
        pytest.param(
            f"[[case]]\n{GOOD}input.tool_nam = 1",
            "f:4: BeforeTool has no field tool_nam; it has tool_name, tool_input, mcp_context",
            id="field",
        ),
        pytest.param(
            f'[[case]]\n{GOOD}input.cwd = "/"',
            "f:4: BeforeTool has no field cwd; it has tool_name, tool_input, mcp_context",
            id="fact",
        ),
        pytest.param(
            f'[[case]]\n{GOOD}each.command = ["a"]',
            "f:4: each.command is not a key of inputs; for an argument of the tool write each.arguments.command",
            id="each-key",
        ),
        pytest.param(f'[[case]]\n{GOOD}each.tool = "a"', "f:4: each.tool is not a list of values", id="each-no-list"),
        pytest.param(
            f"[[case]]\n{GOOD}each.tool = []", "f:4: each.tool is empty, so nothing would be tried", id="each-empty"
        ),
        pytest.param(f"[[case]]\n{GOOD}each = []", "f:4: each is empty, so nothing would be tried", id="rows-empty"),
        pytest.param(
            '[[case]]\ntool = "x"\nexpect.reason = "("',
            "f:3: expect.reason is not a regular expression (Unbalanced parenthesis)",
            id="pattern",
        ),
        pytest.param(
            f"[[case]]\n{GOOD}arguments.a = 2020-01-01",
            "f: 2020-01-01 is a date or time; write it as a text, because hooks read JSON",
            id="date",
        ),
        pytest.param(
            f"[[case]]\n{GOOD}arguments.a = nan", "f: nan is not a number in JSON, which hooks read", id="nan"
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, problem: str) -> None:
    """A typo would make a case that tests nothing, so nothing is ignored."""
    assert problem_of(text) == problem


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    """All problems of all files, so that one round is enough to fix them."""
    files = [tmp_path / "a.hooks.toml", tmp_path / "b.hooks.toml"]
    for file in files:
        file.write_text(f"[[case]]\na1 = 1\n{GOOD}[[case]]\nb2 = 1\n{GOOD}")
    with pytest.raises(CaseFileError) as caught:
        read_cases(files)
    lines = [problem.partition(": ")[0] for problem in caught.value.problems]
    assert lines == [f"{files[0]}:2", f"{files[0]}:6", f"{files[1]}:2", f"{files[1]}:6"]


def test_lines_are_not_counted_inside_texts() -> None:
    """A text that looks like the beginning of a case is none."""
    text = f'[[case]]\nname = """\n[[case]]\n"""\n{GOOD}[[case]]\nx = 1\n{GOOD}'
    assert problem_of(text).startswith("f:8: there is no key x")


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        pytest.param(
            lambda file: file.write_bytes(b"\xff"), "it is not UTF-8 (invalid start byte at byte 0)", id="bytes"
        ),
        pytest.param(lambda file: file.write_bytes(b" " * (LARGEST_FILE + 1)), "it is larger than 1 MiB", id="large"),
        pytest.param(
            lambda file: file.mkdir(), "it can't be read: it is a directory, not a regular file", id="directory"
        ),
    ],
)
def test_a_file_that_is_none_is_told(write: object, problem: str, tmp_path: Path) -> None:
    """Bytes, sizes and kinds that no case file has."""
    file = tmp_path / "x.hooks.toml"
    write(file)  # type: ignore[operator]
    with pytest.raises(CaseFileError) as caught:
        read_cases([file])
    assert caught.value.problems == (f"{file}: {problem}",)


def test_the_number_of_inputs_is_bounded() -> None:
    """A small file can't make millions of runs."""
    values = list(range(101))
    text = f"[[case]]\n{GOOD}each.arguments = {{ a = {values}, b = {values} }}"
    assert problem_of(text) == f"f:4: each makes more than {MOST_INPUTS} inputs"


def test_only_named_files_may_set_variables(tmp_path: Path) -> None:
    """PATH or LD_PRELOAD of an untrusted file would run its program in place of a trusted hook."""
    file = tmp_path / "x.hooks.toml"
    file.write_text(f'[[case]]\nenvironment.PATH = "."\n{GOOD}')
    assert [case.environment for case in read_cases([file], environment_of=[file])] == [{"PATH": "."}]
    with pytest.raises(CaseFileError, match=r"it sets variables, which can change .* name it: "):
        read_cases([file], environment_of=[])


def test_files_are_found_below_a_directory(tmp_path: Path) -> None:
    """In order, not too deep, and without following links."""
    for name in ("b.hooks.toml", "a/c.hooks.toml", "a/other.toml", "1/2/3/4/5/6/deep.hooks.toml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert find_files(tmp_path) == [tmp_path / "b.hooks.toml", tmp_path / "a" / "c.hooks.toml"]
    assert find_files(tmp_path, deep=False) == [tmp_path / "b.hooks.toml"]
