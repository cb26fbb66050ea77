from collections.abc import Sequence
from dataclasses import dataclass

from hookline.contract.hooks import HookEntry
from hookline.settings.decode import decode_hooks, decode_options
from hookline.settings.load import Layer, Problem
from hookline.settings.merge import hooks_enabled
from hookline.settings.schema import HooksConfigSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that the layers say about hooks, decoded once."""

    enabled: bool
    options: HooksConfigSettings
    hooks: tuple[HookEntry, ...]
    problems: tuple[Problem, ...]


def decode_settings(layers: Sequence[Layer]) -> Settings:
    decoded = decode_hooks(layers)
    enabled, problems = hooks_enabled(layers)
    return Settings(enabled=enabled, options=decode_options(layers), hooks=decoded.entries, problems=decoded.problems)
