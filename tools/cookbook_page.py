"""Writes docs/cookbook.md from the recipes in examples/cookbook/, which tests/test_cookbook.py runs."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "examples" / "cookbook"
PAGE = ROOT / "docs" / "cookbook.md"

SECTIONS: Mapping[str, Sequence[str]] = {
    "Guards that come with hookline": (
        "secret_files",
        "stay_inside",
        "dangerous_commands",
        "git_rules",
        "allowed_hosts",
        "ask_to_publish",
    ),
    "Files": (
        "lock_files",
        "old_migrations",
        "pipeline_files",
        "small_files",
        "no_debugging",
        "final_newline",
        "licence_header",
    ),
    "Commands and tools": ("use_uv", "npm_to_pnpm", "release_freeze", "office_hours", "mcp_deletions", "read_only"),
    "Results of tools": ("mask_addresses", "run_the_tests", "explain_failures"),
    "The model": ("house_rules", "no_card_numbers", "redact_answers"),
    "Prompts and sessions": (
        "no_passwords",
        "ticket_context",
        "finish_the_work",
        "where_we_are",
        "keep_decisions",
        "call_me",
    ),
}

_START = """\
<!-- Written by `make pages` from examples/cookbook/. -->
# Cookbook

Hooks to copy. Each recipe has the settings, a script if one line is not enough, and a case file that shows what the
hook does; our tests run all of them. The sources are in `examples/cookbook/`, a directory for each recipe. To try one,
in a clone of the repository:

```console
$ hookline test --project examples/cookbook/lock_files --settings examples/cookbook/lock_files/settings.json
```

To use one, copy its entry into your settings ([Configuration](configuration.md)), its script into `.llxprt/hooks/`,
with that path in the `command`, and its case file to the settings, as `.llxprt/NAME.hooks.toml`. Scripts in Python
import [`hookline.hook`](hook-authors.md#in-python), so `python3` has to be one that has hookline; with `"worker": true`
they are started once and answer in a millisecond.
"""
_LANGUAGES = {".py": "python", ".sh": "sh"}


def page() -> str:
    """The page as it should be."""
    return "\n".join([_START, *(line for title, names in SECTIONS.items() for line in _section(title, names))])


def _section(title: str, names: Sequence[str]) -> Iterator[str]:
    yield f"## {title}\n"
    for name in names:
        yield from _recipe(RECIPES / name)


def _recipe(folder: Path) -> Iterator[str]:
    title, about, settings = (folder / "settings.json").read_text(encoding="utf-8").split("\n", 2)
    yield f"### {title.removeprefix('// ')}\n"
    yield f"{about.removeprefix('// ')}\n"
    yield _block("json", settings)
    for script in sorted(folder.glob("hook.*")):
        yield f"`{script.name}`:\n"
        yield _block(_LANGUAGES[script.suffix], script.read_text(encoding="utf-8"))
    yield "Its cases:\n"
    yield _block("toml", (folder / "cases.hooks.toml").read_text(encoding="utf-8"))


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.strip()}\n```\n"


def main() -> int:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
