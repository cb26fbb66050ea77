"""Creates the model and the agent from the options of `hookline agent`."""

import argparse
import asyncio
import os
import shlex
import signal
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.apps.agent.approval.approver import Approver
from hookline.apps.agent.conversation.transcript import PastSession, TranscriptWriter, find_session, transcript_path
from hookline.apps.agent.events import Listener, Notice
from hookline.apps.agent.hook_watch import HookWatch
from hookline.apps.agent.loop import Agent
from hookline.apps.agent.models.client import ClientModel, Model
from hookline.apps.agent.models.gemini import DEFAULT_GEMINI, GeminiModel
from hookline.apps.agent.models.replay import Recorder, ReplayModel
from hookline.apps.agent.toolbox import ToolBox
from hookline.apps.cli.options import make_config, report_unusable_hooks
from hookline.apps.cli.terminal.readiness import require_hooks
from hookline.client.config import Config
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.inspect.foreign_settings import unread_lines, unread_report
from hookline.protocol.constants import FiredBy
from hookline.settings.read.merge import names_dialects
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.apps.agent.models import anthropic, openai
else:
    openai = lazy_module("hookline.apps.agent.models.openai")
    anthropic = lazy_module("hookline.apps.agent.models.anthropic")

_NAMES = {"openai": ("gpt-", "o1", "o3", "o4"), "anthropic": ("claude-",)}
DEFAULT_MODEL = "gemini"
"""The default of `--model`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSession:
    """An agent, its configuration, transcript and observer of hooks."""

    agent: Agent
    config: Config
    watch: HookWatch
    transcript: TranscriptWriter


def open_model(given: argparse.Namespace, listener: Listener) -> Model:
    """Return the model of `--model`, with a recorder for `--record`; the caller closes it."""
    # A name such as gemini-2.5-pro needs no vendor before it.
    kind, _, name = (f"gemini:{given.model}" if given.model.startswith("gemini-") else given.model).partition(":")
    project_dir = project_of(given)
    model: Model
    if kind == "replay" and name:
        if given.base_url is not None:
            raise UsageError("--base-url is for models of a server; leave it out with replay:FILE")
        model = ReplayModel(Path(name), project_dir=project_dir)
    elif kind in _CLIENTS and (name or kind == DEFAULT_MODEL):
        make = _CLIENTS[kind]()
        model = make(name or DEFAULT_GEMINI, base_url=given.base_url, on_retry=lambda text: listener(Notice(text=text)))
    else:
        raise UsageError(f"--model {given.model} is not known; {_advice(given.model)}")
    return Recorder(model, Path(given.record), project_dir=project_dir) if given.record else model


_CLIENTS: Mapping[str, Callable[[], Callable[..., ClientModel]]] = {
    "gemini": lambda: GeminiModel,
    "openai": lambda: openai.OpenAIModel,
    "anthropic": lambda: anthropic.AnthropicModel,
}


def _advice(model: str) -> str:
    """Return the advice about an unknown `--model`."""
    kind = next((kind for kind, names in _NAMES.items() if model.startswith(names)), None)
    if kind is not None and ":" not in model:
        return f"did you mean {kind}:{model}?"
    return "give gemini, gemini:NAME, openai:NAME, anthropic:NAME or replay:FILE"


def past_session(given: argparse.Namespace) -> PastSession | None:
    """Return the session to resume (by default the project's latest), or None without `--resume`."""
    if given.resume is None:
        return None
    if given.session_id:
        raise UsageError("--resume keeps the session's own id; leave --session-id out")
    return find_session(given.resume or None, project_of(given))


def make_session(
    given: argparse.Namespace,
    *,
    model: Model,
    toolbox: ToolBox,
    listener: Listener,
    person: Approver | None,
    session_id: str | None = None,
    past: PastSession | None = None,
) -> AgentSession:
    """Return a new session with the current settings, or one that resumes `past`; `person` asks the user."""
    if given.require_hooks:
        require_hooks(given)
    own_id = past.session_id if past is not None else session_id or str(uuid.uuid4())
    path = transcript_path(own_id)
    watch = HookWatch(listener)
    config = make_config(given, session_id=own_id, transcript_path=str(path), observer=watch, fired_by=FiredBy.AGENT)
    report_unusable_hooks(config)
    _report_other_agents(config)
    transcript = TranscriptWriter(path, config.get_redactor())
    agent = Agent(
        config=config,
        model=model,
        toolbox=toolbox,
        # --yes approves tool calls; it never trusts a hook.
        approves_all=given.yes,
        person=person,
        transcript=transcript,
        listener=listener,
        max_turns=given.max_turns,
        context_limit=given.context_limit and int(given.context_limit),
        history=past.history if past else (),
        notes=past.notes if past else (),
    )
    return AgentSession(agent=agent, config=config, watch=watch, transcript=transcript)


def how_to_resume(given: argparse.Namespace, session: AgentSession) -> str | None:
    """Return the command that resumes the session, or None if there is nothing to resume."""
    if not session.agent.history or not session.transcript.is_complete:
        return None
    words = ["hookline", "agent", "--resume", session.config.get_session_id()]
    # A replay file has no answers left.
    if given.model != DEFAULT_MODEL and not given.model.startswith("replay:"):
        words += ["--model", given.model]
        words += [] if given.base_url is None else ["--base-url", given.base_url]
    if given.context_limit is not None:
        words += ["--context-limit", str(given.context_limit)]
    return shlex.join(words if given.project == "." else [*words, "--project", given.project])


def cancel_on(*signals: signal.Signals) -> None:
    """Cancel the current task when one of these signals arrives."""
    if (task := asyncio.current_task()) is not None:
        for number in signals:
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)


def _report_other_agents(config: Config) -> None:
    """Report other agents' hooks that are not read, unless the settings list dialects."""
    if not names_dialects(config.get_layers()):
        for line in unread_lines(unread_report(config)):
            warn_user(line)


def project_of(given: argparse.Namespace) -> str:
    """Return the project's directory, spelled as in `Config`."""
    return str(os.path.abspath(given.project))  # links must not be resolved
