"""The API of programs that embed hookline: hooks for an agent on any model and any framework."""

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing: while hooks are disabled, only `config` is loaded
if TYPE_CHECKING:
    from hookline.client.explanation import Explanation
    from hookline.client.hooks import Hooks
    from hookline.client.results import ModelAnswer, ModelGate, Selection, ToolCall
    from hookline.client.session import Session
    from hookline.client.sync import SyncSession

__all__ = ["Explanation", "Hooks", "ModelAnswer", "ModelGate", "Selection", "Session", "SyncSession", "ToolCall"]

_HOMES = {
    "Explanation": "explanation",
    "Hooks": "hooks",
    "ModelAnswer": "results",
    "ModelGate": "results",
    "Selection": "results",
    "Session": "session",
    "SyncSession": "sync",
    "ToolCall": "results",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - not needed while hooks are disabled

    return getattr(import_module(f"{__name__}.{home}"), name)
