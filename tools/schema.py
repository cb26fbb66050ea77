"""Writes the JSON Schemas of docs/schema/ from the types they describe."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline.engine.event_table import EVENT_TABLE
from hookline.protocol.text.json_schema import input_schema, output_schema
from hookline.settings.decode.schema import settings_schema
from hookline.testing.cases.schema import cases_schema

ROOT = Path(__file__).resolve().parent.parent


def schemas() -> Mapping[str, dict[str, Any]]:
    """Every schema by the name of its file."""
    return {
        "settings.schema.json": settings_schema(),
        "cases.schema.json": cases_schema(),
        "hook-output.schema.json": output_schema(),
        **{f"{event}.input.schema.json": input_schema(event, row.input) for event, row in EVENT_TABLE.items()},
    }


def main(arguments: list[str] | None = None) -> int:
    """Writes all schemas, and removes those of types that are gone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=ROOT / "docs" / "schema", metavar="DIR")
    directory: Path = parser.parse_args(arguments).directory

    directory.mkdir(parents=True, exist_ok=True)
    made = schemas()
    for file in directory.glob("*.schema.json"):
        if file.name not in made:
            file.unlink()
    for name, schema in made.items():
        (directory / name).write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(made)} schemas in {directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
