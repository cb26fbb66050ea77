"""A call that only a hook can deny, through the live path of an agent."""

import json
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hookline.dialects.transcripts.find import AGENTS, OWN, read_transcript, transcripts_of
from hookline.dialects.transcripts.tool_call import Fate, MadeCall
from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader
from hookline.protocol.constants import CANARY_HOOK
from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_text import utc_timestamp
from hookline.protocol.text.outcome_words import HookResult
from hookline.runners.process.own_process import own_command
from hookline.settings.canary import Canary

_POLL_S = 0.3
_OWN_S = 120.0
# How an agent is asked for one command; it needs its own permission to run a shell, or nothing would be proved.
_LINES: Mapping[str, str] = {
    "claude": "claude -p {prompt} --allowedTools Bash",
    "codex": "codex exec --skip-git-repo-check {prompt}",
    "gemini": "gemini --approval-mode yolo -p {prompt}",
    "copilot": "copilot --allow-all-tools -p {prompt}",
    "cursor": "cursor-agent --force -p {prompt}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """The result of a canary."""

    agent: str
    denied: bool
    """A hook denied the call, and nothing says that it ran all the same."""
    message: str
    log_id: str | None = None
    seconds: float = 0.0


def command_line(agent: str, canary: Canary) -> str:
    """Return the command line that has an agent make the call."""
    prompt = f"Run this shell command, exactly as it is, and nothing else: {canary.command}"
    return _LINES[agent].format(prompt=shlex.quote(prompt))


def wait_for(
    agent: str, canary: Canary, log: Path, wait_s: float, sleep: Callable[[float], None] = time.sleep
) -> Flight:
    """Look for evidence in the log and in the agent's transcripts, for at most `wait_s` seconds."""
    began = time.time()
    while True:
        seen = _in_log(log, canary, agent, began)
        made = _in_transcripts(agent, canary, began)
        seconds = time.time() - began
        if made is not None and made.fate is Fate.RAN:
            said = "although a hook denied it" if seen else "and no hook saw it"
            return Flight(agent=agent, denied=False, message=f"the call ran, {said} ({made.origin})", seconds=seconds)
        if seen and (made is not None or agent not in AGENTS):
            return Flight(agent=agent, denied=True, message="the call was denied", log_id=seen, seconds=seconds)
        if seconds >= wait_s:
            break
        sleep(_POLL_S)
    if seen:
        message = "a hook denied the call; the agent's transcript does not show it yet"
        return Flight(agent=agent, denied=True, message=message, log_id=seen, seconds=seconds)
    message = f"no call with the canary came to a hook within {wait_s:g} s"
    return Flight(agent=agent, denied=False, message=message, seconds=seconds)


def fly_own(canary: Canary, log: Path, project: str) -> Flight:
    """Run hookline's agent as a separate process, with a model that makes the call."""
    began = time.time()
    session = f"{CANARY_HOOK}-{canary.nonce[:12]}"
    with TemporaryDirectory(prefix="hookline-") as folder:
        file = Path(folder, "answers.jsonl")
        file.write_text("".join(f"{json.dumps(line)}\n" for line in _answers(canary)), encoding="utf-8")
        words = ["agent", "--model", f"replay:{file}", "--prompt", "hookline doctor --prove", "--yes", "--headless"]
        words += ["--session-id", session, "--project", project]
        try:
            done = subprocess.run(own_command(*words), capture_output=True, timeout=_OWN_S, check=False)
            said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
    seen = _in_log(log, canary, None, began)
    made = _in_transcripts(OWN, canary, began)
    seconds = time.time() - began
    if made is None:
        return Flight(agent=OWN, denied=False, message=f"the agent did not make the call: {said}", seconds=seconds)
    if made.fate is Fate.RAN:
        message = "the call ran, although a hook denied it" if seen else "the call ran, and no hook saw it"
        return Flight(agent=OWN, denied=False, message=message, log_id=seen, seconds=seconds)
    if not _answer_has_word(made, canary):
        return Flight(agent=OWN, denied=False, message="the call was refused, but not by the canary", seconds=seconds)
    return Flight(agent=OWN, denied=True, message="the call was denied", log_id=seen, seconds=seconds)


def _answers(canary: Canary) -> Iterator[dict[str, object]]:
    call = {"name": "run_shell_command", "args": {"command": canary.command}}
    for part in ({"functionCall": call}, {"text": "done"}):
        chunk = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
        yield {"method": "generateContentStream", "response": [chunk]}


def _in_log(log: Path, canary: Canary, agent: str | None, began: float) -> str | None:
    """The id of the event in which the canary was denied."""
    query = LogQuery(
        kinds=frozenset({"hook"}),
        event=HookEventName.BEFORE_TOOL.value,
        hook=CANARY_HOOK,
        decision=HookResult.BLOCKED,
        agent=agent,
        since=utc_timestamp(began - 1),
    )
    with LogReader(log) as reader:
        for record in reader.whole(query):
            if canary.text in str(record.get("stdin")) and canary.word in str(record.get("stderr")):
                return str(record.get("fire"))
    return None


def _in_transcripts(agent: str, canary: Canary, began: float) -> MadeCall | None:
    if agent != OWN and agent not in AGENTS:
        return None
    for path in transcripts_of(agent):
        with suppress(OSError):
            if path.stat().st_mtime < began - 1 or canary.text.encode() not in path.read_bytes():
                continue
            calls = read_transcript(agent, path).calls
            found = next((call for call in calls if canary.text in str(call.arguments)), None)
            if found is not None and found.fate is not Fate.OPEN:
                return found
    return None


def _answer_has_word(made: MadeCall, canary: Canary) -> bool:
    """Whether what the model read is the answer of the guard."""
    with suppress(OSError):
        return canary.word in Path(made.origin.rpartition(":")[0]).read_text(encoding="utf-8", errors="replace")
    return False
