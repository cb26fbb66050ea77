"""Writes docs/checks.md and docs/checks/: a page for each rule of `hookline check`, from tools/checks.toml.

What a page shows of `check` is what the rule reports about the example when the page is written.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hookline.client.config import Config
from hookline.inspect.lint.checks import CHECKS, run_checks
from hookline.inspect.lint.dry_run import RULES, dry_run
from hookline.inspect.lint.finding import LintFinding
from hookline.inspect.view import read_setup

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "checks"
INDEX = ROOT / "docs" / "checks.md"
_OPTIONS = re.compile(r"(?<=the options are type, command, timeout, ).*")
# Each shell has words of its own for it.
_SYNTAX_ERROR = re.compile(r"(?<=guard\.sh: ).*(?=\) \(tried)")
_WIDTH = 100

_INDEX = """\
<!-- Written by `make pages` from tools/checks.toml. -->
# Checks

`hookline check` looks for mistakes in settings and scripts, and runs nothing. `hookline check --run` also runs every
hook on samples; no tool is run. Each finding has the rule's name, in `--json` and `--sarif`, and a page here: what it
means, an example, and the remedy.
[Troubleshooting](troubleshooting.md#check-what-is-wrong-with-the-settings) shows the command.

| rule | finds |
|---|---|
"""


@dataclass(frozen=True, kw_only=True)
class Example:
    """Settings that a rule reports, and the same without the mistake."""

    about: str
    remedy: str
    wrong: str
    right: str
    files: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    """Files that are changed, too."""
    is_run: bool = False
    """Whether only a dry run finds it."""
    is_project: bool = False
    """Whether it is about hooks of a project, which need trust."""


def examples() -> dict[str, Example]:
    """The example of each rule."""
    given = tomllib.loads((ROOT / "tools" / "checks.toml").read_text(encoding="utf-8"))
    return {rule: Example(**values) for rule, values in given.items()}


def rules() -> dict[str, str]:
    """What each rule finds, in the order of the command."""
    return {check.rule: check.about for check in CHECKS} | RULES


def findings_of(example: Example, directory: Path, *, is_right: bool = False) -> list[LintFinding]:
    """What `check` reports in a project with the settings and files of an example."""
    settings = directory / (".llxprt/settings.json" if example.is_project else "settings.json")
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(pretty(example.right if is_right else example.wrong), encoding="utf-8")
    for name, text in {**example.files, **(example.fixed if is_right else {})}.items():
        (directory / name).write_text(text, encoding="utf-8")
        (directory / name).chmod(0o755)
    given: dict[str, Any] = {} if example.is_project else {"settings_files": [settings]}
    environ = {**os.environ, "PATH": "/usr/bin:/bin"}
    config = Config(directory, environ=environ, log_file=False, quiet=True, **given)
    setup = read_setup(config)
    found = list(run_checks(setup))
    system = config.get_hook_system() if example.is_run else None
    return found if system is None else found + asyncio.run(dry_run(system, setup)).findings


def pretty(settings: str) -> str:
    """The settings as people write them: what fits into a line stays on it."""
    return _pretty(json.loads(settings), "") + "\n"


def _pretty(value: Any, indent: str) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    is_short = indent and len(flat) + len(indent) < _WIDTH
    if is_short or not isinstance(value, dict | list):
        return flat
    deeper = f"{indent}  "
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {_pretty(each, deeper)}" for key, each in value.items()]
        return f"{{\n{deeper}" + f",\n{deeper}".join(items) + f"\n{indent}}}"
    return f"[\n{deeper}" + f",\n{deeper}".join(_pretty(each, deeper) for each in value) + f"\n{indent}]"


def page(rule: str, example: Example, message: str) -> str:
    """The page of a rule."""
    return "\n".join(_page(rule, example, message))


def _page(rule: str, example: Example, message: str) -> Iterator[str]:
    command = "hookline check --run" if example.is_run else "hookline check"
    yield f"<!-- Written by `make pages` from tools/checks.toml. -->\n# {rule}\n"
    yield f"`{command}` reports it: {rules()[rule]}.\n"
    yield f"{example.about}\n"
    yield "## For example\n"
    yield from _shown(example.wrong, example.files)
    yield f"```text\n{message}\n```\n"
    yield "## What to do\n"
    yield f"{example.remedy}\n"
    is_changed = (example.wrong, {}) != (example.right, example.fixed)
    if is_changed:
        yield from _shown(None if example.fixed else example.right, example.fixed)


def _shown(settings: str | None, files: Mapping[str, str]) -> Iterator[str]:
    if settings is not None:
        yield f"```json\n{pretty(settings)}```\n"
    for name, text in files.items():
        yield f"`{name}`:\n\n```{'sh' if name.endswith('.sh') else 'text'}\n{text}```\n"


def index() -> str:
    """The page with all rules."""
    rows = [f"| [`{rule}`](checks/{rule}.md) | {about} |" for rule, about in rules().items()]
    entries = "\n".join(f"checks/{rule}" for rule in rules())
    return _INDEX + "\n".join(rows) + f"\n\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


def message_of(rule: str, example: Example) -> str:
    """What the rule says about the example, with the names of files as a reader has them."""
    with tempfile.TemporaryDirectory() as name:
        found = findings_of(example, Path(name).resolve())
        return shown(next(one for one in found if one.rule == rule), Path(name).resolve())


def shown(finding: LintFinding, directory: Path) -> str:
    """The finding's text as a reader sees it, whatever the directory and the shell, without long lists."""
    text = _SYNTAX_ERROR.sub("Syntax error: end of file unexpected", finding.text.replace(f"{directory}/", ""))
    return _OPTIONS.sub("…", text)


def main() -> int:
    """Writes the pages."""
    PAGES.mkdir(exist_ok=True)
    for rule, example in examples().items():
        (PAGES / f"{rule}.md").write_text(page(rule, example, message_of(rule, example)), encoding="utf-8")
    INDEX.write_text(index(), encoding="utf-8")
    print(PAGES.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
