"""The neutral API: hooks for an agent on any model and any framework."""

from hookline.hooks.explanation import Explanation
from hookline.hooks.hooks import Hooks
from hookline.hooks.results import ModelAnswer, ModelGate, Selection, ToolCall
from hookline.hooks.session import Session
from hookline.hooks.sync import SyncSession

__all__ = ["Explanation", "Hooks", "ModelAnswer", "ModelGate", "Selection", "Session", "SyncSession", "ToolCall"]
