import pytest

from hookline.apps.agent.tool import AgentCall
from hookline.apps.cli.terminal.output import display_lines
from hookline.client.triggers.results import ToolResult


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
    call = AgentCall(id="1", name="t", result=ToolResult(llm_content="", return_display=text))
    assert display_lines(call, "x") == [str(one) for one in shown]
