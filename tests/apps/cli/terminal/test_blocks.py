import pytest

from hookline.apps.cli.terminal.blocks import split_blocks


@pytest.mark.parametrize(
    ("done", "rest"),
    [
        pytest.param("", "half a sen", id="nothing-yet"),
        pytest.param("One.\n\n", "Two", id="a-paragraph"),
        pytest.param("One.\n\nTwo.\n\n", "- three\n", id="two"),
        pytest.param("One.\n\n", "```py\na\n\nb\n", id="open-fence"),
        pytest.param("```py\na\n\nb\n```\n\n", "", id="closed-fence"),
        pytest.param("", "````\n```\n\n", id="longer-fence"),
        pytest.param("", "~~~\n```\n\n", id="other-fence"),
        pytest.param("", "a\n ", id="unfinished-line"),
    ],
)
def test_complete_blocks_are_cut_off(done: str, rest: str) -> None:
    """A block can be shown when a blank line has ended it, and no fence is open."""
    assert split_blocks(done + rest) == (done, rest)
