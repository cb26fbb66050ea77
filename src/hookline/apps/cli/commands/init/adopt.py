"""`hookline init --from AGENT`: copies the hooks of another agent's settings into your own."""

import argparse
import difflib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hookline.apps.cli.options import read_config
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.client.config import Config
from hookline.dialects.registry import dialect_of
from hookline.errors import HooklineError, UsageError
from hookline.inspect.consent import log_consent, require_person
from hookline.inspect.view import read_setup
from hookline.protocol.constants import ConfigSource
from hookline.protocol.records import Consent
from hookline.protocol.text.readable import one_line, plural, show_place, text_lines
from hookline.settings.agents.adopt import Adoption, adopt
from hookline.settings.agents.files import read_agents, read_as
from hookline.settings.edit import NEW_FILE, edit_file
from hookline.settings.read import jsonc
from hookline.settings.read.files import Layer, read_layer
from hookline.settings.read.merge import hooks_enabled, named_dialects
from hookline.settings.read.paths import default_paths
from hookline.settings.read.source import FileWatch


def import_hooks(given: argparse.Namespace) -> int:
    """Print the diff and what is lost, and writes the settings if that is asked for."""
    if given.write:
        require_person(Consent.IMPORTED)
    config = read_config(given)
    source = ConfigSource(given.scope)
    for_user = source is ConfigSource.USER
    layers = _layers(given, source)
    paths = default_paths(config.get_working_dir())
    target = read_layer(paths.user if for_user else paths.project, source, is_guest=not for_user)
    for problem in target.problems:
        if problem.is_error:
            raise HooklineError(str(problem))
    before = NEW_FILE if target.text is None else target.text
    adoption = adopt(layers, before, target, enable=not hooks_enabled(config.get_layers())[0])
    if not adoption.hooks:
        raise UsageError(_nothing(given, layers))
    is_written = given.write and bool(adoption.added)
    if is_written:
        if not for_user:
            _require_inside(Path(target.origin), Path(config.get_working_dir()))
        _write(Path(target.origin), before, adoption)
        log_consent(Consent.IMPORTED, read_setup(config), _decided(adoption, target))
    report = _report(given, config, target, before, adoption)
    print_report(given, {**report, "written": is_written}, _lines(report, given, is_written=is_written))
    return 0


def _require_inside(file: Path, project: Path) -> None:
    """A project could have a link to the user's own settings, and its hooks would need no trust there."""
    if not file.resolve().is_relative_to(project.resolve()):
        raise HooklineError(f"{file} is a link to {file.resolve()}, outside of the project; nothing was written")


def _layers(given: argparse.Namespace, source: ConfigSource) -> list[Layer]:
    if given.file is not None:
        path = Path(given.file).absolute()
        if not path.is_file():
            raise UsageError(f"{given.file} is not a file; give {dialect_of(given.agent).agent}'s settings file")
        layers = [read_as(given.agent, path, ConfigSource.PROJECT)]
    else:
        project = Path(os.path.abspath(given.project))  # as it was spelled, not resolved
        found = read_agents((given.agent,), project, os.environ, FileWatch())
        layers = [layer for layer in found if layer.source is source]
    for problem in (problem for layer in layers for problem in layer.problems if problem.is_error):
        raise HooklineError(str(problem))
    return layers


def _nothing(given: argparse.Namespace, layers: Sequence[Layer]) -> str:
    looked = given.file or ", ".join(show_place(layer.origin) for layer in layers)
    more = "" if given.scope == "user" else " --scope user"
    other = "" if given.file else f"; try: hookline init --from {given.agent}{more}"
    return f"{dialect_of(given.agent).agent} has no hooks in {looked}{other}"


def _write(file: Path, before: str, adoption: Adoption) -> None:
    def change(text: str) -> str:
        if text != before:
            raise HooklineError(f"{file} has changed in this moment; nothing was written, try again")
        return adoption.text

    edit_file(file, change)


def _decided(adoption: Adoption, target: Layer) -> list[dict[str, Any]]:
    return [{"hook": hook.name, "origin": target.origin, "event": hook.event} for hook in adoption.added]


def _report(
    given: argparse.Namespace, config: Config, target: Layer, before: str, adoption: Adoption
) -> dict[str, Any]:
    agent = dialect_of(given.agent).agent
    shown = show_place(target.origin)
    lines = difflib.unified_diff(
        text_lines(before if target.text is not None else ""),
        text_lines(adoption.text),
        shown if target.text is not None else "/dev/null",
        f"{shown} with the hooks of {agent}",
        lineterm="",
    )
    return {
        "agent": given.agent,
        "settings": target.origin,
        "diff": "\n".join(lines) if adoption.added else "",
        "hooks": [asdict(hook) for hook in adoption.hooks],
        "added": len(adoption.added),
        "enabled": _is_enabled(config.get_layers(), target, adoption),
        "readInPlace": given.agent in named_dialects(config.get_layers()),
    }


def _is_enabled(layers: Sequence[Layer], target: Layer, adoption: Adoption) -> bool:
    """Whether hooks run when the settings are as proposed."""
    others = [layer for layer in layers if layer.origin != target.origin]
    return hooks_enabled((*others, target._replace(values=jsonc.parse(adoption.text))))[0]


def _lines(report: Mapping[str, Any], given: argparse.Namespace, *, is_written: bool) -> Iterator[str]:
    paints = {"+": style.good, "-": style.bad}
    for line in text_lines(report["diff"]):
        yield paints.get(line[:1], str)(line)
    yield from _hook_lines("Not added:", [(hook, [hook["why_not"]]) for hook in report["hooks"] if hook["why_not"]])
    yield from _hook_lines("Lost or changed:", [(hook, hook["lost"]) for hook in report["hooks"] if hook["lost"]])
    if report["added"]:
        yield ""
    if is_written:
        yield style.good(f"{plural(report['added'], 'hook')} added to {show_place(report['settings'])}.")
    if report["added"] and not report["enabled"]:
        yield style.warn('They will not run: a settings file says "enableHooks": false; hookline doctor shows which.')
    if report["readInPlace"] and report["added"]:
        yield style.warn(f"hooksConfig.dialects has the files of {given.agent} read as well; the same hook runs once.")
    for step, about in _next_steps(report, given, is_written=is_written):
        yield style.dim(f"  # {about}")
        yield f"  {step}"


def _hook_lines(title: str, told: Sequence[tuple[Mapping[str, Any], Sequence[str]]]) -> Iterator[str]:
    if not told:
        return
    yield ""
    yield style.bold(title)
    for hook, texts in told:
        place = style.dim(show_place(hook["file"], hook["line"]))
        yield f"  {hook['event']} {one_line(hook['label'])}  {place}"
        yield from (f"    {one_line(text)}" for text in texts)


def _next_steps(report: Mapping[str, Any], given: argparse.Namespace, *, is_written: bool) -> Iterator[tuple[str, str]]:
    where = "" if given.project == "." else f" --project {shlex.quote(given.project)}"
    if not report["added"]:
        return
    if not is_written:
        words = ["hookline", "init", "--from", given.agent, *([given.file] if given.file else []), "--write"]
        yield f"{shlex.join(words)}{' --scope user' if given.scope == 'user' else where}", "to add them"
        return
    if given.scope != "user":
        yield f"hookline trust{where}", "review the hooks and accept them: hooks of a project need that"
    yield f"hookline check{where}", "what is wrong with them, if anything"
