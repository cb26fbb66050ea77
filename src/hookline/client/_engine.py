"""The parts that all sessions of a program share."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookline.client.blocking import BlockingLoop
from hookline.client.config import Config
from hookline.client.triggers.boundary import system_of
from hookline.client.triggers.results import OnAsk

if TYPE_CHECKING:
    from hookline.engine.system import HookSystem


@dataclass(slots=True)
class Engine:
    """The settings, the way to the hook system, and what the program itself decides."""

    config: Config
    on_ask: OnAsk | None = None
    blocking: BlockingLoop = field(default_factory=BlockingLoop)
    """Runs the events of `session.sync`."""
    is_closed: bool = False

    @property
    def system(self) -> "HookSystem | None":
        """The hook system; None while hooks are disabled."""
        return system_of(self.config)
