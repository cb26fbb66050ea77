"""Every mode of `hookline agent` shows people and programs what hooks decided, and which hook it was."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests import warm

from hookline.testing import Answer, calls, says

if TYPE_CHECKING:
    from tests.conftest import Person

HookScript = Callable[..., Path]
Seat = Callable[..., "Person"]

FIVE_EVENTS = ("BeforeToolSelection", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool")
BLOCK = {"decision": "block", "reason": "Not here."}
STOP = {"continue": False, "stopReason": "Enough."}
NOTE = "Mind the gap."
WRITE = calls(("write_file", {"file_path": "a.txt", "content": "hi\n"}))
OTHER_TEXT = {"candidates": [{"content": {"role": "model", "parts": ["Something else."]}, "finishReason": "STOP"}]}

text_modes = pytest.mark.parametrize("mode", ["terminal", "prompt", "headless", "piped"])
json_modes = pytest.mark.parametrize("mode", ["json", "stream-json"])
all_modes = pytest.mark.parametrize("mode", ["terminal", "prompt", "headless", "piped", "json", "stream-json"])


@dataclass(frozen=True)
class Shown:
    """The output of a run: `out` is the whole terminal, or stdout."""

    out: str
    err: str = ""

    def result(self) -> dict[str, Any]:
        """The result for programs: the only object, or that of the stream."""
        given: list[dict[str, Any]] = [json.loads(line) for line in self.out.splitlines()]
        return next(one for one in reversed(given) if one.get("type", "result") == "result")

    def notices(self) -> list[str]:
        """Further fields of the result or the stream, for programs."""
        given: list[dict[str, Any]] = [json.loads(line) for line in self.out.splitlines()]
        return [one["text"] for one in given if one.get("type") == "note"] or list(self.result()["notices"])


class Scene:
    """A project with hooks and a scripted model, in which the installed command runs."""

    def __init__(self, folder: Path, project: Path, write: HookScript, person: Seat) -> None:
        self.project = project
        self._folder = folder
        self._write = write
        self._person = person
        self._hooks: dict[str, list[dict[str, Any]]] = {}
        self.options: dict[str, Any] = {}
        """The settings' hooksConfig."""

    def hook(self, event: str, answer: Mapping[str, Any], name: str = "guard", *, when: str = "true") -> None:
        """Adds a hook that gives this answer where a shell condition on its `$input` holds."""
        body = f"input=$(cat)\nif {when}; then echo {shlex.quote(json.dumps(answer))}; fi"
        script = self._write(body, f"{event}-{name}.sh")
        entry = {"type": "command", "name": name, "command": str(script)}
        self._hooks.setdefault(event, []).append({"hooks": [entry]})

    def run(self, mode: str, *answers: Answer, prompt: str = "go", resume: bool = False) -> Shown:
        """One prompt in a mode; the exit code has to be 0."""
        settings, replay = self._folder / "settings.json", self._folder / "replay.jsonl"
        settings.write_text(json.dumps({"enableHooks": True, "hooks": self._hooks, "hooksConfig": self.options}))
        lines = [json.dumps({"method": "generateContentStream", "response": answer}) for answer in answers]
        replay.write_text("\n".join(lines))
        words = ["agent", "--settings", str(settings), "--model", f"replay:{replay}", "--yes"]
        words += ["--resume"] if resume else ["--session-id", "s1"]
        if mode == "terminal":
            return self._at_a_terminal(words, prompt)
        options, stdin = {
            "prompt": (["--prompt", prompt], ""),
            "headless": (["--prompt", prompt, "--headless"], ""),
            "piped": ([], prompt),
            "json": (["--prompt", prompt, "--json"], ""),
            "stream-json": (["--prompt", prompt, "--stream-json"], ""),
        }[mode]
        done = warm.run([*words, *options], cwd=self.project, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return Shown(done.stdout, done.stderr)

    def transcript(self) -> list[dict[str, Any]]:
        """The records of the session."""
        path = self._folder / "state" / "sessions" / "s1.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def user_texts(self) -> list[list[str]]:
        """The texts of each message of the user, as they were sent."""
        messages = [record["content"]["parts"] for record in self.transcript() if record["type"] == "user"]
        return [[part["text"] for part in parts] for parts in messages]

    def _at_a_terminal(self, words: list[str], prompt: str) -> Shown:
        person = self._person(*words)
        person.say(prompt)
        person.say("/quit")
        assert person.leaves_with() == 0
        return Shown(person.shown)


@pytest.fixture
def scene(tmp_path: Path, project: Path, hook_script: HookScript, person: Seat) -> Scene:
    """A project without hooks yet."""
    return Scene(tmp_path, project, hook_script, person)


@text_modes
def test_people_read_why_the_model_was_not_called(mode: str, scene: Scene) -> None:
    """A block without a response ends the turn with its reason and the hook's name, shown once, and exit code 0."""
    scene.hook("BeforeModel", BLOCK)
    out = scene.run(mode).out
    assert out.count("The model was not called: Not here. (blocked by guard)\n") == 1
    assert out.count("Not here.") == 1


@json_modes
def test_programs_read_why_the_model_was_not_called(mode: str, scene: Scene) -> None:
    """The result says that the model was not called, why, and which hook blocked it."""
    scene.hook("BeforeModel", BLOCK)
    result = scene.run(mode).result()
    expected = {"blocked": True, "reason": "Not here.", "decidedBy": ["guard"]}
    expected |= {"response": "", "stopped": False, "stopReason": None, "turns": 1}
    assert {key: result[key] for key in expected} == expected


@all_modes
def test_a_hooks_response_is_shown_in_place_of_the_models(mode: str, scene: Scene) -> None:
    """A block with a response shows the response; a program also reads that the model was not called."""
    scene.hook("BeforeModel", {**BLOCK, "hookSpecificOutput": {"llm_response": OTHER_TEXT}})
    shown = scene.run(mode)
    if mode.endswith("json"):
        result = shown.result()
        assert (result["response"], result["blocked"], result["reason"]) == ("Something else.", True, "Not here.")
    elif mode == "terminal":
        assert shown.out.count("Something else.") == 1
    else:
        assert shown.out == "Something else.\n"


@pytest.mark.req("HOOK-159")
@all_modes
@pytest.mark.parametrize(
    ("event", "answer"),
    [
        pytest.param("BeforeModel", BLOCK, id="BeforeModel-block"),
        pytest.param("BeforeModel", STOP, id="BeforeModel-stop"),
        pytest.param("BeforeToolSelection", STOP, id="BeforeToolSelection-stop"),
        pytest.param("AfterModel", {}, id="AfterModel"),
    ],
)
def test_a_message_that_could_not_be_sent_goes_with_the_next_one(
    event: str, answer: Mapping[str, Any], mode: str, scene: Scene
) -> None:
    """A systemMessage beside a block or a stop reaches the model with the next prompt, and no person sees it."""
    scene.hook(event, {**answer, "systemMessage": NOTE}, when="! test -e seen && touch seen")
    first = scene.run(mode, [says("One.")])
    second = scene.run(mode, [says("Two.")], prompt="again", resume=True)
    assert scene.user_texts() == [["go"], ["again", f"[System] {NOTE}"]]
    assert not any(NOTE in text for shown in (first, second) for text in (shown.out, shown.err))


@all_modes
@pytest.mark.parametrize(("code", "status"), [(0, "success"), (3, "error")])
def test_a_suppressed_result_is_shown_nowhere(code: int, status: str, mode: str, scene: Scene) -> None:
    """A result that AfterTool suppresses is hidden from people and programs; the transcript and the model have it."""
    scene.hook("AfterTool", {"suppressOutput": True})
    shown = scene.run(mode, [calls(("run_shell_command", {"command": f"echo to''ken; exit {code}"}))], [says("Done.")])
    assert "token" not in shown.out + shown.err
    (record,) = [record for record in scene.transcript() if record["type"] == "tool"]
    assert "token" in record["result"]["llmContent"]
    if mode.endswith("json"):
        (call,) = shown.result()["toolCalls"]
        expected = {"status": status, "suppressed": True, "llmContent": None, "display": ""}
        assert {key: call[key] for key in expected} == expected
    else:
        assert "(a hook hides this result)" in shown.out + shown.err


@pytest.mark.req("HOOK-134")
@text_modes
@pytest.mark.parametrize("event", FIVE_EVENTS)
def test_people_read_why_the_agent_stopped(event: str, mode: str, scene: Scene) -> None:
    """Whichever event stops the agent, its reason is shown once, and nothing comes after it."""
    scene.hook(event, STOP, name="budget")
    out = scene.run(mode, [WRITE], [says("More.")]).out
    # AfterModel's reason takes the place of the model's answer.
    assert ("Enough." if event == "AfterModel" else "Stopped by budget: Enough.") in out
    assert out.count("Enough.") == 1
    assert "More." not in out


@pytest.mark.req("HOOK-134")
@json_modes
@pytest.mark.parametrize("event", FIVE_EVENTS)
def test_programs_read_why_the_agent_stopped(event: str, mode: str, scene: Scene) -> None:
    """The result says that the agent was stopped, why, by which hook, and whether the model was called at all."""
    scene.hook(event, STOP, name="budget")
    result = scene.run(mode, [WRITE], [says("More.")]).result()
    is_before = event in ("BeforeToolSelection", "BeforeModel")
    expected = {"stopped": True, "stopReason": "Enough.", "decidedBy": ["budget"]}
    expected |= {"blocked": is_before, "reason": "Enough." if is_before else None, "turns": 1}
    assert {key: result[key] for key in expected} == expected


@text_modes
def test_people_read_who_blocked_a_call(mode: str, scene: Scene) -> None:
    """A blocked call is shown with the hook that blocked it and its reason."""
    scene.hook("BeforeTool", BLOCK)
    shown = scene.run(mode, [WRITE], [says("Then not.")])
    if mode == "terminal":
        assert "guard blocked write_file: Not here.\n⊘ write_file a.txt was not run\n" in shown.out
    else:
        assert (shown.out, shown.err) == ("Then not.\n", "[write_file: blocked by guard]\n  Not here.\n")


@json_modes
def test_programs_read_who_blocked_each_call(mode: str, scene: Scene) -> None:
    """Each blocked call names its own hooks, also when calls of one tool are blocked at the same time."""
    for name in ("a", "b"):
        answer = {"decision": "deny", "reason": f"Not {name}."}
        scene.hook("BeforeTool", answer, f"guard-{name}", when=f'test "${{input#*{name}.txt}}" != "$input"')
    names = ("b", "a", "c", "b")
    answer = calls(*(("read_file", {"file_path": f"{name}.txt"}) for name in names))
    result = scene.run(mode, [answer], [says("Then not.")]).result()
    assert [(call["status"], call["blockedBy"], call["display"]) for call in result["toolCalls"]] == [
        ("idle", ["guard-b"], "Not b."),
        ("idle", ["guard-a"], "Not a."),
        ("error", [], "There is no c.txt; the nearest directory that exists is the project's directory."),
        ("idle", ["guard-b"], "Not b."),
    ]
    assert (result["blocked"], result["decidedBy"]) == (False, [])


@pytest.mark.parametrize("mode", ["headless", "piped", "json", "stream-json"])
def test_an_ask_that_nobody_can_answer_is_a_refusal(scene: Scene, mode: str) -> None:
    """Without a terminal, a hook's `ask` refuses the call, also under --yes."""
    scene.hook("BeforeTool", {"decision": "ask", "reason": "Are you sure?"})
    shown = scene.run(mode, [WRITE], [says("Done.")])
    assert not (scene.project / "a.txt").exists()
    assert "Are you sure?" in shown.out + shown.err


@text_modes
def test_people_read_why_a_prompt_was_not_sent(mode: str, scene: Scene) -> None:
    """A blocked prompt ends the turn with the reason and the hook's name, shown once, and exit code 0."""
    scene.options = {"lifecycle": "apply"}
    scene.hook("BeforeAgent", BLOCK)
    out = scene.run(mode, [says("One.")]).out
    assert out.count("The prompt was not sent: Not here. (blocked by guard)\n") == 1
    assert out.count("Not here.") == 1
    assert "One." not in out
    assert scene.user_texts() == []


@json_modes
def test_programs_read_why_a_prompt_was_not_sent(mode: str, scene: Scene) -> None:
    """The result says that the prompt was not sent, why, and which hook blocked it."""
    scene.options = {"lifecycle": "apply"}
    scene.hook("BeforeAgent", BLOCK)
    result = scene.run(mode, [says("One.")]).result()
    expected = {"blocked": True, "promptSent": False, "reason": "Not here.", "decidedBy": ["guard"]}
    expected |= {"response": "", "stopped": False, "stopReason": None, "turns": 0}
    assert {key: result[key] for key in expected} == expected


@all_modes
@pytest.mark.parametrize("event", ["SessionStart", "BeforeAgent", "AfterAgent"])
def test_a_stop_around_a_prompt_is_shown(event: str, mode: str, scene: Scene) -> None:
    """Its reason is shown once; before the prompt, the model is never called."""
    scene.options = {"lifecycle": "apply"}
    scene.hook(event, STOP, name="budget")
    shown = scene.run(mode, [says("One.")])
    is_sent = event == "AfterAgent"
    if mode.endswith("json"):
        result = shown.result()
        expected = {"stopped": True, "stopReason": "Enough.", "decidedBy": ["budget"], "promptSent": is_sent}
        assert {key: result[key] for key in expected} == expected
    else:
        assert shown.out.count("Stopped by budget: Enough.") == 1
        assert shown.out.count("Enough.") == 1
        assert ("One." in shown.out) is is_sent
    assert len(scene.user_texts()) == is_sent


@all_modes
def test_what_hooks_say_around_a_prompt_reaches_the_model(mode: str, scene: Scene) -> None:
    """Context at the start, another prompt with context, and a reason to go on are in the messages, in every mode."""
    scene.options = {"lifecycle": "apply"}
    scene.hook("SessionStart", {"hookSpecificOutput": {"additionalContext": "Use tabs."}})
    scene.hook("BeforeAgent", {"hookSpecificOutput": {"prompt": "stay", "additionalContext": "It rains."}})
    more = {"decision": "block", "reason": "Run the tests."}
    scene.hook("AfterAgent", more, when='! echo "$input" | grep -q \'"stop_hook_active":true\'')
    shown = scene.run(mode, [says("One.")], [says("Two.")])
    assert scene.user_texts() == [["stay", "Use tabs.", "It rains."], ["Run the tests."]]
    note = "guard continues the turn: Run the tests."
    if mode.endswith("json"):
        assert (shown.result()["response"], shown.result()["turns"]) == ("Two.", 2)
        assert shown.notices() == [note]
    else:
        assert (shown.out + shown.err).count(note) == 1
        assert "One." in shown.out
        assert "Two." in shown.out


@pytest.mark.req("HOOK-203")
@all_modes
@pytest.mark.parametrize("event", ["SessionStart", "BeforeAgent", "AfterAgent"])
def test_everybody_learns_that_an_answer_is_not_applied(event: str, mode: str, scene: Scene) -> None:
    """By default nothing is applied; the hook, its answer and the remedy are shown once, in every mode."""
    scene.hook(event, BLOCK)
    shown = scene.run(mode, [says("One.")])
    text = f"The {event} hook guard answered with a block, which has no effect; write"
    if mode.endswith("json"):
        assert shown.result()["response"] == "One."
        (notice,) = shown.notices()
        assert notice.startswith(text)
    else:
        assert "One." in shown.out
        assert " ".join((shown.out + shown.err).split()).count(text) == 1
