"""Why a call that ran is not in the log: the most likely cause, from the files as they are now."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from hookline.bridge.agents import HOSTS
from hookline.bridge.installation.entries import settings_file
from hookline.bridge.installation.install import installed
from hookline.bridge.installation.status import problem_of
from hookline.client.config import Config
from hookline.dialects.transcripts.find import OWN
from hookline.dialects.transcripts.tool_call import MadeCall
from hookline.errors import HooklineError
from hookline.inspect.proof.evidence import SessionEvidence
from hookline.inspect.proof.reconcile import CallFinding, Standing
from hookline.log.paths import log_path
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import SkipKind

# Cause, why, remedy.
_Cause = tuple[str, str, str]


_ASKED_BY_CODEX = ("shell", "local_shell", "exec_command", "shell_command", "apply_patch")


class Causes:
    """Looks for causes; what it reads of an agent or a directory, it reads once."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._bridge = cache(_bridge_cause)
        self._directory: Callable[[str, str], _Cause | None] = cache(self._directory_cause)
        self._plan: Callable[[str, str, str], _Cause | None] = cache(_plan_cause)

    def why_missing(self, call: MadeCall, tool: str, session: SessionEvidence | None) -> CallFinding:
        """The finding for a call without any record."""
        if is_never_asked(call):
            why = f"{HOSTS[call.agent].agent} asks no hook about {call.tool}, so nothing can judge it there"
            return CallFinding(call=call, tool=tool, standing=Standing.NEVER_ASKED, cause="never asked", why=why)
        if session is not None and session.unfinished[tool]:
            session.unfinished[tool] -= 1
            return _unjudged(call, tool, _host_timeout(call.agent))
        if session is not None and session.faults:
            remedy = "hookline log --failures shows it whole"
            return _unjudged(call, tool, ("fault", f"hookline could not judge it: {session.faults[0]}", remedy))
        if session is None and call.agent != OWN and (cause := self._bridge(call.agent, call.cwd)):
            return _unjudged(call, tool, cause)
        if session is None and (cause := self._directory(call.agent, call.cwd)):
            return _unjudged(call, tool, cause)
        if cause := self._plan(call.agent, call.cwd, tool):
            if cause[0] == "no hook":
                return CallFinding(call=call, tool=tool, standing=Standing.NO_HOOK, cause=cause[0], why=cause[1])
            return _unjudged(call, tool, cause)
        return _unjudged(call, tool, _version_cause(call) or _past_the_door(call, tool, session))

    def _directory_cause(self, agent: str, cwd: str) -> _Cause | None:
        """The settings of the directory that the agent worked in, as far as they keep hooks or records away."""
        if not _is_there(cwd):
            return None
        config = _config(agent, cwd)
        if not config.get_enable_hooks():
            why = f'no settings file that is read in {cwd} says "enableHooks": true; those of other directories are not'
            return "settings", why, f"hookline doctor --project {cwd}"
        options = config.get_settings().options.log
        if not options.enabled:
            return "log disabled", "the settings disable the log (hooksConfig.log.enabled)", "enable it"
        if os.path.realpath(log_path(options.path)) != os.path.realpath(self._log):
            why = f"the settings of {cwd} name another log: {log_path(options.path)}"
            return "another log", why, f"hookline doctor --prove --project {cwd}"
        return None


def is_never_asked(call: MadeCall) -> bool:
    """Whether the agent's hooks are not meant for this tool: Codex asks about commands, patches and MCP tools alone."""
    if call.agent != "codex":
        return False
    return not (call.tool in _ASKED_BY_CODEX or "__" in call.tool or {"cmd", "command"} & call.arguments.keys())


def _bridge_cause(agent: str, cwd: str) -> _Cause | None:
    name, again = HOSTS[agent].agent, f"hookline bridge install {agent}"
    files = list(dict.fromkeys((settings_file(agent, None), *([settings_file(agent, Path(cwd))] if cwd else []))))
    try:
        entries = {file: found for file in files if (found := installed(file))}
    except (HooklineError, OSError, ValueError) as error:  # the directory is what a transcript says
        return "bridge", str(error), again
    if not entries:
        return "bridge", f"hookline is not a hook command of {name} in {' or '.join(map(str, files))}", again
    problems = [problem for file, found in entries.items() if (problem := problem_of(agent, file, found))]
    return ("bridge", problems[0], again) if len(problems) == len(entries) else None


def _plan_cause(agent: str, cwd: str, tool: str) -> _Cause | None:
    """Whether today's settings have a hook for a tool at all."""
    if not _is_there(cwd):
        return None
    system = _config(agent, cwd).get_hook_system()
    if system is None:
        return None
    system.start()
    try:
        plan = system.explain(HookEventName.BEFORE_TOOL, tool)
    finally:
        system.dispose()
    kept = [skip for skip in plan.skips if skip.kind in (SkipKind.DISABLED, SkipKind.UNTRUSTED)]
    if plan.hooks:
        return None
    if not kept:
        return "no hook", f"no hook of {cwd} is for {tool}", ""
    remedy = f"hookline enable {kept[0].hook.label}" if kept[0].kind is SkipKind.DISABLED else "hookline trust"
    return kept[0].kind.value, f"{kept[0].hook.label}: {kept[0].reason}", remedy


def _is_there(cwd: str) -> bool:
    return os.path.isabs(cwd) and "\0" not in cwd and os.path.isdir(cwd)


def _config(agent: str, cwd: str) -> Config:
    return Config(cwd, quiet=True, agent=None if agent == OWN else agent, log_file=False)


def _host_timeout(agent: str) -> _Cause:
    name = "the agent" if agent == OWN else HOSTS[agent].agent
    why = f"hooks started for it, and {name} did not wait for their end: its own timeout, or it was ended"
    return "timeout", why, "make the hooks quicker, or give them a shorter timeout than the agent gives hookline"


def _version_cause(call: MadeCall) -> _Cause | None:
    if not (problem := unknown_version(call.agent, call.version)):
        return None
    return "version", problem, "look for a newer hookline, and run the canary: hookline doctor --prove " + call.agent


def unknown_version(agent: str, version: str) -> str | None:
    """Return the message about a version of an agent; None for the one that was checked."""
    known = HOSTS.get(agent)
    if known is None or not version or version == known.version:
        return None
    return f"its contract was checked with {known.version}, and this is {version}"


def _past_the_door(call: MadeCall, tool: str, session: SessionEvidence | None) -> _Cause:
    name = "the agent" if call.agent == OWN else HOSTS[call.agent].agent
    if session is None:
        why = f"{name} did not ask hookline about anything in this session"
        return "past the door", why, "was it started with its hooks disabled, or as another user?"
    if any(asked.tool == tool for asked in session.asked):
        why = f"{name} asked about {tool} in this session, but never with these arguments"
    else:
        why = f"{name} asked about other calls of this session, but not about this one"
    return "past the door", why, "a call like this can't be guarded there: deny the tool in the agent's own settings"


def _unjudged(call: MadeCall, tool: str, cause: _Cause) -> CallFinding:
    return CallFinding(call=call, tool=tool, standing=Standing.UNJUDGED, cause=cause[0], why=cause[1], remedy=cause[2])
