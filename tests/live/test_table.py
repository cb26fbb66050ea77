"""The tables in the docs are what was seen; these tests need no agent."""

import pytest
from tests.live.scenes import SCENES
from tests.live.table import DOCS, EFFECTS, FAILURES, in_docs, recorded

from hookline.bridge.agents import HOSTS


def test_the_docs_have_what_was_seen() -> None:
    """`make bridge-live RECORD=1` writes both."""
    assert in_docs(DOCS.read_text()) == DOCS.read_text()


def test_what_was_recorded_is_of_the_versions_that_we_name() -> None:
    """Every agent that the tables claim to have run was run in every scene."""
    found = recorded()["agents"]
    assert {name: one["version"] for name, one in found.items()} == {
        name: checked.version for name, checked in HOSTS.items() if checked.was_run
    }
    for name, one in found.items():
        assert {*one["seen"]} == {scene for scene, about in SCENES.items() if name in about.only}


@pytest.mark.parametrize("agent", recorded()["agents"])
def test_no_fault_was_recorded(agent: str) -> None:
    """A tool that must not run did not, also in the record that the docs are made from."""
    seen = recorded()["agents"][agent]["seen"]
    faults = [
        name
        for name, scene in SCENES.items()
        if agent in scene.only - scene.unless and not scene.may_run and seen[name]["tool"] == "ran"
    ]
    assert faults == []


def test_every_row_of_the_docs_is_a_scene() -> None:
    """The only scenes that are in no table are those that show nothing by themselves."""
    rows = {scene for scene, *_ in (*EFFECTS, *FAILURES)}
    assert rows <= {*SCENES}
    assert {*SCENES} - rows == {"quiet", "deny-silent", "deny-file", "deny-patch", "secret", "no-server", "removed"}
