"""Rewrites keep the conversation whole: what a hook cannot see is never lost by what it says."""

import time
from collections import Counter
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from hookline.formats.genai.request import from_hook_llm_request, to_hook_llm_request
from hookline.formats.hook_format import GENERATION, merge_llm_requests, overlay_llm_request
from hookline.protocol.llm import GenerateContentParameters

Content, Part = types.Content, types.Part

IMAGE = Part(inline_data=types.Blob(data=b"png", mime_type="image/png"))
CALL = Part(function_call=types.FunctionCall(name="read", args={"path": "a"}), thought_signature=b"call")
RESPONSE = Part(function_response=types.FunctionResponse(name="read", response={"output": "A"}))
CALL_2 = Part(function_call=types.FunctionCall(name="write", args={"path": "b"}))
RESPONSE_2 = Part(function_response=types.FunctionResponse(name="write", response={"output": "B"}))
CODE = Part(executable_code=types.ExecutableCode(code="1+1", language=types.Language.PYTHON))
CODE_RESULT = Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="2"))


def text(value: str, **fields: Any) -> types.Part:
    return Part(text=value, **fields)


def user(*parts: types.Part | str) -> types.Content:
    return Content(role="user", parts=[text(part) if isinstance(part, str) else part for part in parts])


def model(*parts: types.Part | str) -> types.Content:
    return Content(role="model", parts=[text(part) if isinstance(part, str) else part for part in parts])


def rewritten(contents: Any, *messages: tuple[str, str]) -> Any:
    """The contents after a hook answered with these messages."""
    base = GenerateContentParameters(model="m", contents=contents)
    answer = {"messages": [{"role": role, "content": content} for role, content in messages]}
    return from_hook_llm_request(answer, base).contents


HISTORY = [
    user("look at this", IMAGE),
    model("I will read it", CALL),
    user(RESPONSE),
    model(text("hmm", thought=True, thought_signature=b"think"), "It says A", CODE, CODE_RESULT),
    user("write it to b"),
    model(CALL_2),
    user(RESPONSE_2),
    model("done"),
]
LOOK, WILL, SAYS, WRITE, DONE = (
    ("user", "look at this"),
    ("model", "I will read it"),
    ("model", "hmmIt says A"),
    ("user", "write it to b"),
    ("model", "done"),
)


@pytest.mark.req("HOOK-075", "HOOK-076")
def test_hooks_see_the_texts_of_a_history_and_nothing_else() -> None:
    """Images, calls, responses and code are not shown, and a message without text is not there at all."""
    shown = to_hook_llm_request(GenerateContentParameters(model="m", contents=HISTORY))["messages"]
    assert [(message["role"], message["content"]) for message in shown] == [LOOK, WILL, SAYS, WRITE, DONE]


@pytest.mark.req("HOOK-038", "HOOK-039", "HOOK-078")
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([LOOK, WILL, SAYS, WRITE, DONE], HISTORY, id="unchanged"),
        pytest.param(
            [("user", "look"), WILL, SAYS, WRITE, DONE], [user("look", IMAGE), *HISTORY[1:]], id="edit-beside-an-image"
        ),
        pytest.param(
            [LOOK, ("model", "reading"), SAYS, WRITE, DONE],
            [HISTORY[0], model("reading", CALL), *HISTORY[2:]],
            id="edit-beside-a-call",
        ),
        pytest.param(
            [LOOK, WILL, ("model", "hmmIt says ***"), WRITE, DONE],
            [
                *HISTORY[:3],
                model(text("hmm", thought=True, thought_signature=b"think"), "It says ***", CODE, CODE_RESULT),
                *HISTORY[4:],
            ],
            id="edit-after-a-thought",
        ),
        pytest.param(
            [LOOK, WILL, ("model", "It says A"), WRITE, DONE],
            [
                *HISTORY[:3],
                model(text("", thought=True, thought_signature=b"think"), "It says A", CODE, CODE_RESULT),
                *HISTORY[4:],
            ],
            id="remove-a-thought-but-not-its-signature",
        ),
        pytest.param(
            [LOOK, WILL, ("model", "***"), WRITE, DONE],
            [
                *HISTORY[:3],
                model(text("", thought=True, thought_signature=b"think"), "***", CODE, CODE_RESULT),
                *HISTORY[4:],
            ],
            id="an-answer-never-becomes-a-thought",
        ),
        pytest.param([WILL, SAYS, WRITE, DONE], [user(IMAGE), *HISTORY[1:]], id="drop-beside-an-image"),
        pytest.param([LOOK, SAYS, WRITE, DONE], [HISTORY[0], model(CALL), *HISTORY[2:]], id="drop-beside-a-call"),
        pytest.param([LOOK, WILL, SAYS, DONE], [*HISTORY[:4], *HISTORY[5:]], id="drop-a-plain-one"),
        pytest.param(
            [],
            [
                user(IMAGE),
                model(CALL),
                user(RESPONSE),
                model(text("", thought=True, thought_signature=b"think"), CODE, CODE_RESULT),
                model(CALL_2),
                user(RESPONSE_2),
            ],
            id="drop-all",
        ),
        pytest.param([LOOK, WILL, SAYS, WRITE, DONE, ("user", "be brief")], [*HISTORY, user("be brief")], id="append"),
        pytest.param([("user", "be brief"), LOOK, WILL, SAYS, WRITE, DONE], [user("be brief"), *HISTORY], id="prepend"),
        pytest.param([("system", "be brief"), LOOK, WILL, SAYS, WRITE, DONE], HISTORY, id="system-is-no-message"),
        pytest.param(
            [LOOK, WILL, ("user", "careful"), SAYS, WRITE, DONE],
            [*HISTORY[:3], user("careful"), *HISTORY[3:]],
            id="insert-after-a-call-lands-after-its-response",
        ),
        pytest.param(
            [LOOK, WILL, SAYS, WRITE, WRITE, DONE],
            [*HISTORY[:7], user("write it to b"), HISTORY[7]],
            id="duplicate",
        ),
        pytest.param(
            [LOOK, LOOK, WILL, SAYS, WRITE, DONE],
            [user("look at this"), *HISTORY],
            id="duplicate-copies-the-text-and-not-the-image",
        ),
        pytest.param(
            [WILL, SAYS, WRITE, DONE, LOOK], [*HISTORY[1:], HISTORY[0]], id="a-moved-message-takes-its-image-along"
        ),
        pytest.param(
            [LOOK, SAYS, WRITE, DONE, WILL],
            [HISTORY[0], model(CALL), *HISTORY[2:], model("I will read it")],
            id="a-moved-text-leaves-its-call-behind",
        ),
        pytest.param(
            [LOOK, ("user", "I will read it"), SAYS, WRITE, DONE],
            [HISTORY[0], model(CALL), HISTORY[2], user("I will read it"), *HISTORY[3:]],
            id="another-role-is-another-message",
        ),
        pytest.param(
            [("user", "note"), ("user", "look at THIS"), WILL, SAYS, WRITE, DONE],
            [user("note"), user("look at THIS", IMAGE), *HISTORY[1:]],
            id="insert-before-an-edit-finds-the-edited-one",
        ),
        pytest.param(
            [("user", "summary")],
            [
                user("summary", IMAGE),
                model(CALL),
                user(RESPONSE),
                model(text("", thought=True, thought_signature=b"think"), CODE, CODE_RESULT),
                model(CALL_2),
                user(RESPONSE_2),
            ],
            id="replace-all-by-one",
        ),
    ],
)
def test_a_rewrite_keeps_everything_that_is_not_text(
    messages: list[tuple[str, str]], expected: list[types.Content]
) -> None:
    """No change of the messages by a hook loses images, calls, responses, code or signatures."""
    assert rewritten(HISTORY, *messages) == expected


@pytest.mark.req("HOOK-078")
def test_untouched_messages_keep_the_callers_own_objects() -> None:
    """A message that the hook left alone is the same content, not a copy."""
    contents = rewritten(HISTORY, LOOK, WILL, SAYS, WRITE, ("model", "DONE"))
    assert all(after is before for after, before in zip(contents[:-1], HISTORY[:-1], strict=True))


@pytest.mark.req("HOOK-078")
def test_a_rewrite_leaves_the_base_as_it_was() -> None:
    """The caller's contents are never changed in place."""
    before = [content.model_copy(deep=True) for content in HISTORY]
    rewritten(HISTORY, ("user", "x"), SAYS, ("model", "y"))
    assert before == HISTORY


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param(
            [("user", "q"), ("model", "calling"), ("user", "new"), ("user", "note"), ("model", "ok")],
            [user("q"), model("calling", CALL), user(RESPONSE, "note"), user("new"), model("ok")],
            id="new",
        ),
        pytest.param(
            [("model", "calling"), ("user", "q"), ("user", "note"), ("model", "ok")],
            [model("calling"), user("q"), model(CALL), user(RESPONSE, "note"), model("ok")],
            id="the-text-before-the-call-moved",
        ),
        pytest.param(
            [("user", "q"), ("user", "note"), ("model", "calling"), ("model", "ok")],
            [user("q"), user("note"), model("calling", CALL), user(RESPONSE), model("ok")],
            id="the-text-after-the-response-moved",
        ),
    ],
)
def test_nothing_comes_between_a_call_and_its_response(
    messages: list[tuple[str, str]], expected: list[types.Content]
) -> None:
    """Wherever the hook puts a message, a response follows its call at once."""
    history = [user("q"), model("calling", CALL), user(RESPONSE, "note"), model("ok")]
    assert rewritten(history, *messages) == expected


@pytest.mark.parametrize(
    ("contents", "messages", "expected"),
    [
        pytest.param("hi", [("user", "ho")], ["ho"], id="string"),
        pytest.param("hi", [("user", "hi"), ("user", "ho")], ["hi", user("ho")], id="string-append"),
        pytest.param(["a", IMAGE, "b"], [("user", "a"), ("user", "c")], ["a", IMAGE, "c"], id="bare-parts"),
        pytest.param([["a", IMAGE]], [("user", "b")], [["b", IMAGE]], id="list-of-parts"),
        pytest.param(text("a"), [("user", "b")], [text("b")], id="part"),
        pytest.param(
            [{"role": "user", "parts": [{"text": "a"}, {"inline_data": {"data": "AA"}}]}],
            [("user", "b")],
            [{"role": "user", "parts": [{"text": "b"}, {"inline_data": {"data": "AA"}}]}],
            id="dictionary",
        ),
        pytest.param(
            [Part(text="a", function_call=types.FunctionCall(name="f"))],
            [("model", "other"), ("user", "x")],
            [Part(text="other", function_call=types.FunctionCall(name="f")), user("x")],
            id="text-and-call-in-one-part",
        ),
        pytest.param(
            [Part(text="a", function_call=types.FunctionCall(name="f"))],
            [("user", "x")],
            [Part(function_call=types.FunctionCall(name="f")), user("x")],
            id="text-dropped-from-a-call",
        ),
    ],
)
def test_contents_in_every_form_that_the_sdk_takes(
    contents: Any, messages: list[tuple[str, str]], expected: list[Any]
) -> None:
    """Strings, parts, lists of parts and dictionaries are rewritten in their own form."""
    assert rewritten(contents, *messages) == expected


@pytest.mark.attack("30.A5", "a hook that redacts by dropping every message")
def test_dropped_messages_are_not_sent() -> None:
    """An empty list of messages is a rewrite like any other: no text comes back."""
    assert rewritten([user("a"), model("b")]) == []


def test_a_dropped_text_takes_its_signature_along() -> None:
    """A signature stays only beside something that the hook could not see."""
    history = [user("q"), model(text("a", thought_signature=b"s")), user("r")]
    assert rewritten(history, ("user", "q"), ("user", "r")) == [user("q"), user("r")]


def test_very_many_changed_messages_are_paired_by_position() -> None:
    """Where comparing all with all would take too long, the first turn becomes the first message, and so on."""
    history = [user(f"message {number}", IMAGE) for number in range(120)]
    answer = [("user", "new"), *(("user", f"MESSAGE {number}") for number in range(120))]
    assert rewritten(history, *answer) == [
        user("new", IMAGE),
        *(user(f"MESSAGE {number}", IMAGE) for number in range(119)),
        user("MESSAGE 119"),
    ]


def test_a_long_conversation_of_the_same_words_is_no_reason_to_wait() -> None:
    """Where comparing everything would take minutes, the beginning and the end are compared, and the rest is paired."""
    history = [user("ok", IMAGE) if number % 2 else model("ok") for number in range(3000)]
    answer = [("user" if number % 2 else "model", "ok") for number in range(3000)]
    answer[1501] = ("user", "yes")
    began = time.monotonic()
    now = rewritten(history, *answer)
    assert time.monotonic() - began < 10
    assert (now[1501], now[:1501], now[1502:]) == (user("yes", IMAGE), history[:1501], history[1502:])
    shorter = rewritten(history, *answer[:-1])
    assert time.monotonic() - began < 20
    assert shorter[:1501] == history[:1501]


words = st.sampled_from(["a", "b", "c", "ab", "be quiet", "x" * 500, ""])
non_text_parts = st.sampled_from([IMAGE, CODE, CODE_RESULT, Part(file_data=types.FileData(file_uri="f"))])
text_parts = st.builds(
    text, words, thought=st.sampled_from([None, True]), thought_signature=st.sampled_from([None, b"s"])
)
plain_contents = st.builds(
    Content, role=st.sampled_from(["user", "model"]), parts=st.lists(text_parts | non_text_parts, max_size=4)
)


@st.composite
def call_pairs(draw: st.DrawFn) -> list[types.Content]:
    """A call and its response, told apart by an id, with or without text beside either."""
    call_id = str(draw(st.integers(min_value=0, max_value=10**9)))
    call = Part(function_call=types.FunctionCall(name="f", id=call_id, args={}))
    response = Part(function_response=types.FunctionResponse(name="f", id=call_id, response={}))
    before, after = draw(st.lists(text_parts, max_size=2)), draw(st.lists(text_parts, max_size=2))
    return [model(*before, call), user(response, *after)]


histories = st.lists(st.builds(lambda content: [content], plain_contents) | call_pairs(), max_size=6).map(
    lambda groups: [content for group in groups for content in group]
)
answers = st.lists(st.tuples(st.sampled_from(["user", "model", "system"]), words), max_size=8)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[types.Content], list[tuple[str, str]]]:
    """A history, and an answer made of its messages and others in any order."""
    history = draw(histories)
    shown = to_hook_llm_request(GenerateContentParameters(model="m", contents=history))["messages"]
    own = [(str(message["role"]), message["content"]) for message in shown]
    kept = draw(st.lists(st.sampled_from(own), max_size=8)) if own else []
    return history, draw(st.permutations(kept + draw(answers)) | st.just([*own, *draw(answers)]))


def call_ids(contents: list[Any]) -> list[tuple[str, str | None]]:
    parts = [part for content in contents for part in content.parts or []]
    return [
        ("call", part.function_call.id) if part.function_call else ("response", part.function_response.id)
        for part in parts
        if part.function_call or part.function_response
    ]


def payloads(contents: list[Any]) -> Counter[str]:
    parts = [part for content in contents for part in content.parts or []]
    return Counter(part.model_dump_json(exclude_none=True) for part in parts if part.text is None)


def split_pairs(contents: list[Any]) -> list[str]:
    """The calls that are not followed at once by the content with their response."""
    answered = {
        (number - 1, part.function_response.id)
        for number, content in enumerate(contents)
        for part in content.parts or []
        if part.function_response
    }
    return [
        part.function_call.id
        for number, content in enumerate(contents)
        for part in content.parts or []
        if part.function_call and (number, part.function_call.id) not in answered
    ]


@given(conversations())
def test_no_answer_loses_a_part_that_is_not_text(
    conversation: tuple[list[types.Content], list[tuple[str, str]]],
) -> None:
    """For any history and any answer, calls and responses stay in order and in pairs, and no other part is lost."""
    history, answer = conversation
    contents = rewritten(history, *answer)
    assert call_ids(contents) == call_ids(history)
    assert payloads(contents) == payloads(history)
    assert split_pairs(contents) == []


@given(conversations())
def test_the_rewritten_request_says_what_the_hook_said(
    conversation: tuple[list[types.Content], list[tuple[str, str]]],
) -> None:
    """The rewritten request shows the hook's messages, moved at most from between a call and its response."""
    history, answer = conversation
    contents = rewritten(history, *answer)
    shown = to_hook_llm_request(GenerateContentParameters(model="m", contents=contents))["messages"]
    seen = [(message["role"], message["content"]) for message in shown]
    said = [(role, content) for role, content in answer if content and role != "system"]
    if contents == history:  # new system messages alone keep the conversation
        return
    assert Counter(seen) == Counter(said)
    responses = [
        p for content in history for p in content.parts or [] if p.function_response or p.code_execution_result
    ]
    if not responses:
        assert seen == said


generation = st.dictionaries(
    st.sampled_from([*GENERATION, "seed"]),
    st.none() | st.integers(-5, 5) | st.floats() | st.lists(words, max_size=2) | st.booleans() | words,
)
tools = st.dictionaries(
    st.sampled_from(["mode", "allowedFunctionNames", "other"]),
    st.none() | st.sampled_from(["ANY", "none", "AUTO", "odd"]) | st.lists(words, max_size=2),
)
sdk_tools = st.builds(
    lambda mode, names: types.ToolConfig(
        function_calling_config=types.FunctionCallingConfig(mode=mode, allowed_function_names=names)
    ),
    st.sampled_from([None, *(types.FunctionCallingConfigMode(mode) for mode in ("AUTO", "ANY", "NONE", "VALIDATED"))]),
    st.none() | st.lists(words, max_size=2),
)
sdk_configs = st.none() | st.builds(
    types.GenerateContentConfig,
    temperature=st.none() | st.floats(0, 2),
    top_k=st.none() | st.integers(1, 40),
    max_output_tokens=st.none() | st.integers(1, 100),
    stop_sequences=st.none() | st.lists(words, max_size=2),
    system_instruction=st.none() | words,
    tool_config=st.none() | sdk_tools,
)
changed_requests = st.fixed_dictionaries(
    {},
    optional={
        "model": st.none() | words | st.integers(),
        "config": st.none() | generation,
        "toolConfig": st.none() | tools,
        "systemInstruction": st.none() | words,
    },
)


@given(conversations(), sdk_configs, changed_requests, changed_requests, st.booleans())
def test_the_next_hook_is_told_what_would_be_sent(
    conversation: tuple[list[types.Content], list[tuple[str, str]]],
    config: Any,
    first: dict[str, Any],
    second: dict[str, Any],
    has_messages: bool,
) -> None:
    """Model, parameters, tools and messages are those that would be sent; calls that hooks don't see may move some."""
    history, answer = conversation
    base = GenerateContentParameters(model="m", contents=history, config=config)
    if has_messages:
        first = {**first, "messages": [{"role": role, "content": content} for role, content in answer]}
    merged = merge_llm_requests(first, second)
    shown: Any = to_hook_llm_request(base)
    told, sent = overlay_llm_request(shown, merged), to_hook_llm_request(from_hook_llm_request(merged, base))
    messages = [one for one in told["messages"] if one["role"] != "system" or one in shown["messages"]]
    assert sorted(map(str, sent["messages"])) == sorted(map(str, messages))
    assert {**told, "messages": None} == {**sent, "messages": None}


@given(histories)
def test_an_unchanged_answer_gives_the_same_contents(history: list[types.Content]) -> None:
    """A hook that returns the messages as it got them changes nothing at all."""
    base = GenerateContentParameters(model="m", contents=history)
    assert from_hook_llm_request(to_hook_llm_request(base), base) is base
