import pytest

from hookline.apps.agent.tool import ToolCall
from hookline.apps.cli.terminal.output import display_lines, not_called, stopped
from hookline.client.triggers.results import ToolResult


def test_sentences_name_hooks_and_reasons() -> None:
    """Several hooks are joined; a decision without a known hook is a hook's all the same."""
    assert not_called("No.", ("a", "b")) == "The model was not called: No. (blocked by a and b)"
    assert stopped("No.", ()) == "Stopped by a hook: No."


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        pytest.param(20, [*range(20)], id="all"),
        pytest.param(30, [*range(12), "… 10 more lines; x", *range(22, 30)], id="head-and-tail"),
    ],
)
def test_of_a_long_result_its_head_and_tail_are_shown(count: int, shown: list[int | str]) -> None:
    """The end of an output often says most; what is left out is counted."""
    text = "\n".join(map(str, range(count)))
    call = ToolCall(id="1", name="t", result=ToolResult(llm_content="", return_display=text))
    assert display_lines(call, "x") == [str(one) for one in shown]
