"""Pasted text, through a real pseudo-terminal: several lines are one message, and never the answer to a question."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.apps.cli.terminal.test_interactive import Desk, desk, writes

from hookline.testing import Chunk, calls, says

if TYPE_CHECKING:
    from tests.conftest import Person

__all__ = ["desk"]

SHELL = "run_shell_command"


def _prompts(desk: Desk) -> list[str]:
    """The user's messages in the last request to the model."""
    messages = desk.told()[-1]["llm_request"]["messages"]
    return [message["content"] for message in messages if message["role"] == "user"]


@pytest.mark.req("DELTA-TERM-001")
def test_several_pasted_lines_are_one_message(desk: Desk) -> None:
    """They are sent when Enter is typed."""
    desk.watch("BeforeModel")
    here = desk.sit_down([says("Done.")])
    here.expect("\n>")
    here.paste("first\nsecond\ny\n")
    here.type("\r")
    here.expect("Done.")
    assert _prompts(desk) == ["first\nsecond\ny"]


@pytest.mark.req("DELTA-TERM-001")
def test_what_is_pasted_while_the_agent_works_is_one_message(desk: Desk) -> None:
    """It waits for the next prompt, and for Enter."""
    desk.watch("BeforeModel")
    slow: list[Chunk] = [calls((SHELL, {"command": "touch started; while [ ! -e go ]; do sleep 0.05; done"}))]
    here = desk.sit_down(slow, [says("One.")], [says("Two.")], words=("--yes",))
    here.say("work")
    here.expect(SHELL)
    here.paste("first\nsecond\n")
    (desk.project / "go").touch()
    here.expect("One.")
    here.expect("second")
    here.type("\r")
    here.expect("Two.")
    assert _prompts(desk) == ["work", "first\nsecond"]


@pytest.mark.attack("30.E", "text with a line y is pasted just before the question about a call")
@pytest.mark.req("DELTA-TERM-001")
@pytest.mark.parametrize("text", ["y\n", "do it\ny\ny\n", "a\n" + "x" * 3000 + "\ny\n"])
def test_pasted_text_approves_no_call(desk: Desk, text: str) -> None:
    """Neither what was pasted before the question nor what is pasted at it."""
    here = desk.sit_down(writes("a", "1"), [says("One.")])
    here.say("write it")
    here.paste(text)
    here.expect("[N]o:")
    here.paste(text)
    here.type("x\r")
    here.expect("Type y (yes)")
    here.expect("[N]o:")
    here.type("n\r")
    here.expect("One.")
    assert not (desk.project / "a").exists()


@pytest.mark.attack("30.E", "y is pasted at the question of an agent with one prompt")
@pytest.mark.req("DELTA-TERM-001")
def test_a_pasted_yes_is_asked_about_again(desk: Desk) -> None:
    """Also without the interactive mode."""
    here = desk.sit_down(writes("a", "1"), [says("One.")], words=("--prompt", "write it"))
    here.expect("[N]o:")
    here.paste("y\n")
    here.expect("Type y (yes)")
    here.expect("[N]o:")
    assert not (desk.project / "a").exists()
    here.type("y\r")
    here.expect("One.")
    assert here.leaves_with() == 0
    assert (desk.project / "a").exists()


@pytest.mark.attack("30.E", "y is typed or pasted before the question about trust")
@pytest.mark.req("DELTA-TERM-001")
def test_only_a_yes_that_was_typed_after_the_question_trusts(project: Path, person: Callable[..., "Person"]) -> None:
    """Of two hooks the second is not trusted by what was pasted at the first question."""
    hooks = [{"type": "command", "name": name, "command": f"echo {name}"} for name in ("one", "two")]
    (project / ".llxprt").mkdir()
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}}
    (project / ".llxprt" / "settings.json").write_text(json.dumps(settings))
    here = person("trust")
    here.type("y\r")
    here.expect("Trust one? [y/N]")
    here.paste("y\ny\ny\n")
    here.expect("Pasted text does not count; type y or n.")
    here.expect("Trust one? [y/N]")
    here.type("y\ry\r")
    here.expect("Trust two? [y/N]")
    here.type("n\r")
    here.expect("1 hook trusted.")
    assert here.leaves_with() == 1
