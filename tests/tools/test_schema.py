import json
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.protocol.events import HookEventName

ROOT = Path(__file__).resolve().parents[2]
NAMES = {
    *("settings.schema.json", "cases.schema.json", "hook-output.schema.json"),
    *(f"{event}.input.schema.json" for event in HookEventName),
}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A directory with the schemas as they are made now, in which an outdated one lay before."""
    directory = tmp_path / "made" / "schema"
    directory.mkdir(parents=True)
    (directory / "Gone.input.schema.json").write_text("{}")
    (directory / "README.md").write_text("kept")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "schema.py", "--directory", directory],
        check=True,
        text=True,
        capture_output=True,
    )
    assert done.stdout == f"14 schemas in {directory}\n"
    return directory


def test_the_schemas_in_the_docs_are_up_to_date(written: Path) -> None:
    """docs/schema/ matches the types; `make schema` writes it."""
    committed = ROOT / "docs" / "schema"
    made = {file.name: file.read_text(encoding="utf-8") for file in written.glob("*.schema.json")}
    assert made.keys() == NAMES
    assert {file.name: file.read_text(encoding="utf-8") for file in committed.glob("*.schema.json")} == made


def test_only_schemas_are_replaced(written: Path) -> None:
    """A schema of a type that is gone is removed, and nothing else is touched."""
    assert {file.name for file in written.iterdir()} == NAMES | {"README.md"}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_reference_leads_somewhere(name: str) -> None:
    """A schema is complete in itself: every `$ref` names a definition, every definition is used."""
    text = (ROOT / "docs" / "schema" / name).read_text(encoding="utf-8")
    schema = json.loads(text)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {part.split('"')[0] for part in text.split('"#/$defs/')[1:]} == schema["$defs"].keys()
