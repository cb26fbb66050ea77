import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hookline.apps.cli.main import main
from hookline.protocol.events import HookEventName

DOCS = Path(__file__).parents[4] / "docs" / "schema"


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["schema", *words]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "file"),
    [
        pytest.param([], "settings.schema.json", id="default"),
        pytest.param(["settings"], "settings.schema.json", id="settings"),
        pytest.param(["output"], "hook-output.schema.json", id="output"),
        *(
            pytest.param(["input", event.value], f"{event}.input.schema.json", id=event.value)
            for event in HookEventName
        ),
    ],
)
def test_what_is_printed_is_what_is_documented(words: list[str], file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command and docs/schema/ show the same."""
    schema = printed(capsys, *words)
    assert schema == json.loads((DOCS / file).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)


def test_programs_get_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """With `--json` the same is on one line."""
    assert main(["schema", "--json"]) == 0
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["input"], "which event? Write, for example, hookline schema input BeforeTool", id="no-event"),
        pytest.param(["input", "BeforeTools"], "BeforeTools is not an event; did you mean BeforeTool?", id="unknown"),
        pytest.param(
            ["output", "BeforeTool"],
            "the schema of output is the same for all events; leave BeforeTool out",
            id="too-much",
        ),
    ],
)
def test_what_cannot_be_told_is_one_clear_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, and nothing on stdout that an editor would take for a schema."""
    assert main(["schema", *words]) == 1
    assert capsys.readouterr() == ("", f"hookline: {said}\n")


def test_a_real_hook_input_fits_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The schema that the installed command prints describes the input of a real hook."""
    hooks = [{"type": "command", "command": f"cat > {tmp_path}/told.json"}]
    file = tmp_path / "given.json"
    file.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}}))
    fields = '{"tool_name": "read_file", "tool_input": {"file_path": "a"}}'
    main(["fire", "BeforeTool", "--settings", str(file), "--input", fields])
    capsys.readouterr()
    done = subprocess.run(
        [sys.executable, "-m", "hookline", "schema", "input", "BeforeTool"],
        capture_output=True,
        text=True,
        check=True,
        timeout=45,
    )
    jsonschema.validate(json.loads((tmp_path / "told.json").read_text()), json.loads(done.stdout))
