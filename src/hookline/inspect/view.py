"""The view of the settings that checks use: the configured hooks, where they are, and their project."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.client.config import Config
from hookline.extensions import lazy_module
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry, HttpTarget
from hookline.settings.decode.schema import HooksConfigSettings
from hookline.settings.decode.settings import UnusedHook
from hookline.settings.read.files import Layer, Problem
from hookline.settings.read.jsonc import PathStep
from hookline.settings.read.provider import as_they_would_run

if TYPE_CHECKING:
    from hookline.protocol import verdict
    from hookline.runners.http import http
    from hookline.settings.trust import store
else:  # not every command needs them
    verdict = lazy_module("hookline.protocol.verdict")
    http = lazy_module("hookline.runners.http.http")
    store = lazy_module("hookline.settings.trust.store")

# The tools that an agent usually has; a tool of an MCP server is called mcp__server__tool.
KNOWN_TOOLS = (
    "read_file",
    "write_file",
    "replace",
    "list_directory",
    "glob",
    "search_file_content",
    "run_shell_command",
)

Path = tuple[PathStep, ...]

_STEP = re.compile(r"([A-Za-z]+)|\[(\d+)\]")


class Setup(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The settings of a project as the engine reads them."""

    layers: Sequence[Layer]
    problems: tuple[Problem, ...]
    """The problems that the engine itself reports."""
    hooks: tuple[HookEntry, ...]
    """Every usable hook, by event in the order of planning, disabled ones included."""
    bridges: tuple[HookEntry, ...] = ()
    """Entries of other agents' files that run our own bridge; they are not among the hooks."""
    unused: tuple[UnusedHook, ...] = ()
    """Hooks of other agents whose event has no counterpart here."""
    options: HooksConfigSettings
    is_enabled: bool
    tools: tuple[str, ...]
    project_dir: str
    environ: Mapping[str, str]

    @cached_property
    def trust(self) -> "store.TrustStore":
        """The hooks that the user trusts."""
        return store.TrustStore(store.default_trust_path())

    def why_untrusted(self, hook: HookEntry) -> str | None:
        """Why the engine does not run a hook as far as trust is concerned and what to do about it, or None."""
        return self.trust.why_untrusted(hook, self.project_dir, self.options.trust) if hook.needs_trust else None

    def why_refused(self, hook: HookEntry) -> str | None:
        """Why strict trust would refuse a hook even if it were trusted, or None."""
        return self.trust.why_refused(hook, self.project_dir, self.options.trust) if hook.needs_trust else None

    def uncovered(self, hook: HookEntry) -> tuple[str, ...]:
        """The words of a hook's command that may lead to files which trust does not cover."""
        return self.trust.uncovered(hook, self.project_dir) if hook.needs_trust else ()

    def why_not_asked(self, hook: HookEntry) -> str | None:
        """Why the URL of an HTTP hook is never asked, so that the hook fails at each event; None for other hooks."""
        if not isinstance(hook.run, HttpTarget) or hook.refusal:
            return None
        return http.why_not_allowed(hook.run.url, self.options.http.allow)

    def active(self, *events: HookEventName) -> list[HookEntry]:
        """The hooks of these events (of all events, if none is named) that are not disabled."""
        return [hook for hook in self.hooks if hook.enabled and (not events or hook.event in events)]

    def describe(self, hook: HookEntry) -> dict[str, Any]:
        """A hook as JSON, with the file that configures it and the line in that file."""
        file, line = self.file_and_line(hook)
        why_not = self.why_not_asked(hook)
        fails = {"refusal": f"its URL is not asked: {why_not}"} if why_not else {}
        return {"hook": hook.label, **verdict.describe_hook(hook), **fails, "file": file, "line": line}

    def file_and_line(self, hook: HookEntry) -> tuple[str, int | None]:
        """The file that configures a hook, and the line in it."""
        problem = self.at(hook, "")
        return problem.origin, problem.line

    def at(self, hook: HookEntry, message: str, *below: PathStep) -> Problem:
        """A problem of a hook: at one of its keys if that exists, else at the hook."""
        layer, path = self.place(hook)
        place = (*path, *below)
        return layer.problem(path if value_at(layer, place) is None else place, message)

    def at_matcher(self, hook: HookEntry, message: str) -> Problem:
        """A problem of the matcher that a hook shares with its group."""
        layer, path = self.place(hook)
        return layer.problem((*path[:-2], "matcher"), message)

    def unusable(self) -> list[Layer]:
        """The layers whose file exists and cannot be used."""
        return [layer for layer in self.layers if any(problem.is_error for problem in layer.problems)]

    def place(self, hook: HookEntry) -> tuple[Layer, Path]:
        """The layer that configures a hook, and the path of the hook in it."""
        layer = next(layer for layer in self.layers if hook.origin in (layer.origin, _extension_of(hook, layer)))
        return layer, tuple(int(index) if index else name for name, index in _STEP.findall(hook.location))


def read_setup(config: Config, tools: Sequence[str] = ()) -> Setup:
    """The setup of a configuration, whether or not it enables hooks."""
    settings = config.get_settings()
    hooks = as_they_would_run(settings.hooks)
    order = list(HookEventName)
    return Setup(
        layers=config.get_layers(),
        problems=settings.problems,
        hooks=tuple(sorted(hooks, key=lambda hook: order.index(hook.event))),
        bridges=settings.bridges,
        unused=settings.unused,
        options=settings.options,
        is_enabled=config.get_enable_hooks(),
        tools=(*KNOWN_TOOLS, *tools),
        project_dir=config.get_working_dir(),
        environ=config.get_environ(),
    )


def value_at(layer: Layer, path: Path) -> Any:
    """The raw value at a path of a layer, or None."""
    value: Any = layer.values
    try:
        for step in path:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        return None
    return value


def _extension_of(hook: HookEntry, layer: Layer) -> str | None:
    return hook.origin if hook.origin.endswith(f"({layer.origin})") else None
