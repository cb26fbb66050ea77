"""A tool's result as hooks see it, and their changes as the client gets them."""

from dataclasses import replace
from typing import Any

import pytest

from hookline.gateway.results import apply_changes, read_result

TEXT = {"type": "text", "text": "old"}
IMAGE = {"type": "image", "data": "eA==", "mimeType": "image/png"}
PART = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}


@pytest.mark.parametrize(
    ("result", "content", "error"),
    [
        pytest.param({"content": [TEXT]}, "old", None, id="text"),
        pytest.param({"content": [TEXT, TEXT]}, "old\nold", None, id="texts"),
        pytest.param({"content": [IMAGE, TEXT]}, [{"text": "old"}, PART], None, id="image"),
        pytest.param({"content": [TEXT], "isError": True}, "old", "old", id="error"),
        pytest.param({"isError": True}, "", "The tool failed and gave no reason.", id="silent-error"),
        pytest.param({"content": [], "structuredContent": {"a": 1}}, '{"a":1}', None, id="structured-only"),
        pytest.param({"content": [{"type": "text", "text": ""}], "structuredContent": [1]}, "[1]", None, id="empty"),
        pytest.param({"toolResult": "x", "_meta": {"a": 1}}, '{"toolResult":"x"}', None, id="old-form"),
        pytest.param({"content": "odd"}, '{"content":"odd"}', None, id="no-list"),
        pytest.param({"content": ["odd", {"type": "new", "x": 1}]}, '"odd"\n{"type":"new","x":1}', None, id="unknown"),
        pytest.param({"content": [{"type": "resource_link", "name": "n", "uri": "u"}]}, "n: u", None, id="link"),
        pytest.param({"content": [{"type": "resource", "resource": {"text": "r"}}]}, "r", None, id="resource"),
        pytest.param(
            {"content": [{"type": "resource", "resource": {"uri": "u", "blob": ""}}]},
            "[binary resource u]",
            None,
            id="blob",
        ),
    ],
)
def test_hooks_see_all_of_it(result: dict[str, Any], content: Any, error: str | None) -> None:
    """Texts are one text, media are parts, and nothing that a client could show is hidden from hooks."""
    seen = read_result(result)
    assert (seen.llm_content, seen.error) == (content, error)


def test_hooks_see_structured_content() -> None:
    """It is beside the text, so a guard can look into it."""
    assert read_result({"content": [TEXT], "structuredContent": {"a": 1}}).metadata == {"structuredContent": {"a": 1}}


@pytest.mark.parametrize(
    ("result", "wanted", "changed"),
    [
        pytest.param(
            {"content": [TEXT], "structuredContent": {"result": "old"}, "_meta": {"a": 1}},
            "old\n\nmore",
            {
                "content": [TEXT, {"type": "text", "text": "more"}],
                "structuredContent": {"result": "old"},
                "_meta": {"a": 1},
            },
            id="added",
        ),
        pytest.param(
            {"content": [IMAGE]},
            [PART, {"text": "\n\nmore"}],
            {"content": [IMAGE, {"type": "text", "text": "more"}]},
            id="added-to-an-image",
        ),
        pytest.param(
            {"content": [TEXT, IMAGE], "x": "old", "_meta": {"a": "old", "io.modelcontextprotocol/serverInfo": 1}},
            "new",
            {"content": [{"type": "text", "text": "new"}], "_meta": {"io.modelcontextprotocol/serverInfo": 1}},
            id="replaced",
        ),
        pytest.param(
            {"content": [TEXT], "structuredContent": {"result": "old"}, "isError": True},
            "new",
            {
                "content": [{"type": "text", "text": "new"}],
                "structuredContent": {"result": "new"},
                "isError": True,
            },
            id="structured-text",
        ),
        pytest.param(
            {"content": [TEXT], "structuredContent": {"a": "old"}},
            '{"a":"new"}',
            {"content": [{"type": "text", "text": '{"a":"new"}'}], "structuredContent": {"a": "new"}},
            id="structured-json",
        ),
        pytest.param(
            {"content": [TEXT], "structuredContent": {"a": "old"}},
            "new",
            {"content": [{"type": "text", "text": "new"}]},
            id="structured-dropped",
        ),
        pytest.param(
            {"content": [], "structuredContent": {"a": "old"}},
            "new",
            {"content": [{"type": "text", "text": "new"}]},
            id="structured-only",
        ),
    ],
)
def test_clients_get_what_hooks_want(result: dict[str, Any], wanted: Any, changed: dict[str, Any]) -> None:
    """Additions come after the tool's own blocks; a replacement leaves nothing of the old output anywhere."""
    given = read_result(result)
    assert apply_changes(result, given, replace(given, llm_content=wanted)) == changed


def test_a_result_that_people_must_not_see() -> None:
    """`suppressOutput` marks the blocks as being for the model."""
    given = read_result({"content": [TEXT]})
    shown = apply_changes({"content": [TEXT]}, given, replace(given, suppress_display=True))
    assert shown == {"content": [{**TEXT, "annotations": {"audience": ["assistant"]}}]}
