"""Every command, and every subcommand: its help, its options, and what it prints for programs."""

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.apps.cli.main import COMMANDS, EXIT_CODES, GROUPS, HIDDEN, load_command, main

DOCS = Path(__file__).parents[3] / "docs"
WIDTH = 80
# Their stdout belongs to a protocol: that of MCP, and that of the agent that starts `hook`.
WITHOUT_JSON = ("mcp", "hook")


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser, bool]]:
    """Each command with its parser, and whether it is only the name of a group."""
    for name in COMMANDS:
        command, parser = load_command(name)
        names = [*getattr(command, "names", lambda: ())()]
        yield name, parser, bool(names)
        for words in names:
            found, _ = command.parser_of(words.split())  # type: ignore[attr-defined]
            yield f"{name} {words}", found, False


PARSERS = [*parsers()]
every_command = pytest.mark.parametrize(
    ("parser", "is_group"), [pytest.param(parser, is_group, id=name) for name, parser, is_group in PARSERS]
)


def options_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {name: action for action in parser._actions for name in action.option_strings if name.startswith("--")}


@every_command
def test_the_help_is_a_summary_details_and_an_example(parser: argparse.ArgumentParser, is_group: bool) -> None:
    """The first line is a separate sentence, and at least one example can be pasted."""
    summary, *details = str(parser.description).strip().split("\n")
    assert re.fullmatch(r"[A-Z].{10,118}[.]", summary), summary
    assert not details or details[0] == "", details[0]
    examples = str(parser.epilog).partition("Examples:\n")[2]
    assert re.search(rf"^  .*{parser.prog if not is_group else 'hookline'}\b", examples, re.MULTILINE), examples
    assert parser.format_help().startswith(f"usage: {parser.prog} ")


@every_command
def test_every_command_prints_json_for_programs(parser: argparse.ArgumentParser, is_group: bool) -> None:
    """With the same option."""
    assert ("--json" in options_of(parser)) is not (is_group or parser.prog.split()[1] in WITHOUT_JSON)


def test_an_option_means_the_same_everywhere() -> None:
    """It takes the same kind of value in each command that has it."""
    shapes: defaultdict[str, set[tuple[str | None, bool]]] = defaultdict(set)
    for _, parser, _ in PARSERS:
        for name, action in options_of(parser).items():
            choices = "|".join(map(str, action.choices)) if action.choices and not action.metavar else None
            shapes[name].add((str(action.metavar) if action.metavar else choices, action.nargs == 0))
    assert {name: found for name, found in shapes.items() if len(found) > 1} == {}


def test_the_help_of_all_commands_fits_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Sixteen commands under five headings; those that programs start are not among them."""
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert [line for line in lines if line in GROUPS] == [*GROUPS]
    listed = {found[1] for line in lines if (found := re.match(r"  (\w+)  ", line))}
    assert {name for group in GROUPS.values() for name in group} <= listed
    assert not {*HIDDEN} & listed


def test_exit_codes_have_one_table() -> None:
    """The page has the codes and the meanings of `hookline --help`."""
    page = (DOCS / "troubleshooting.md").read_text().partition("## Exit codes")[2]
    rows = re.findall(r"^\| `(\d+)` \| (.*) \|$", page, re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES


@pytest.mark.parametrize(
    "page", [page.name for page in DOCS.glob("*.md") if page.name not in ("decisions.md", "requirements.md")]
)
def test_the_pages_name_options_that_exist(page: str) -> None:
    """An option that was renamed is renamed in the text of the pages, too; commands in their examples have tests."""
    known = {"--help", "--version"}.union(*(options_of(parser) for _, parser, _ in PARSERS))
    named = {*re.findall(r"`(--[a-z][a-z-]+)", (DOCS / page).read_text())}
    assert named - known - {"--password"} == set()  # of another program, as an example of a secret
