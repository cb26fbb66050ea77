"""What all sessions of a program share."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookline.config import Config
from hookline.hooks._loop_thread import LoopThread
from hookline.triggers.door import system_of
from hookline.triggers.results import OnAsk

if TYPE_CHECKING:
    from hookline.system import HookSystem


@dataclass(slots=True)
class Engine:
    """The settings, the way to the hook system, and what the program itself decides."""

    config: Config
    on_ask: OnAsk | None = None
    loop_thread: LoopThread = field(default_factory=LoopThread)
    """Runs the events of `session.sync`."""
    is_closed: bool = False

    @property
    def system(self) -> "HookSystem | None":
        """The hook system; None while hooks are disabled."""
        return system_of(self.config)
