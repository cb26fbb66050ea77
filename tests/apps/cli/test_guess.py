"""A misspelled word of hookline, and the right one."""

import pytest

from hookline.protocol.text.strings import did_you_mean, misspelled_option, nearest_word

OPTIONS = ("-h", "--help", "--session", "--json")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param([], (None, None), id="nothing"),
        pytest.param(["--json", "x"], (None, None), id="known"),
        pytest.param(["--sesion", "x"], ("--sesion", "--session"), id="letters"),
        pytest.param(["--Session=x"], ("--Session", "--session"), id="case-and-value"),
        pytest.param(["-json"], ("-json", "--json"), id="one-dash"),
        pytest.param(["--quiet"], ("--quiet", None), id="nothing-near"),
        pytest.param(["-", "-1", "--", "--sesion"], (None, None), id="no-options-of-ours"),
    ],
)
def test_the_first_option_that_is_not_known_is_found(words: list[str], found: tuple[str | None, str | None]) -> None:
    """Words after `--`, numbers and a single dash are not options."""
    assert misspelled_option(words, OPTIONS) == found


def test_the_case_of_letters_does_not_matter() -> None:
    """The word is given back as we write it."""
    assert nearest_word("beforetol", ["AfterTool", "BeforeTool"]) == "BeforeTool"


def test_without_a_near_word_the_other_advice_is_given() -> None:
    """A wrong guess would be worse than none."""
    assert did_you_mean("xyz", ["status"], "give status") == "give status"
    assert did_you_mean("stauts", ["status"], "give status") == "did you mean status?"
