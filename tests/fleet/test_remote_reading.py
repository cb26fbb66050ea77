"""The answer of a worker on another machine as the outcome of a hook."""

from typing import Any

import pytest

from hookline.fleet.remote.client import outcome_of
from hookline.protocol.events import HookEventName
from hookline.protocol.messages import AskerFacts
from hookline.protocol.verdict import Verdict
from hookline.runners.process.job import ChildOutcome
from hookline.runners.remote import RemoteJob

FACTS = AskerFacts.__new__(AskerFacts)
JOB = RemoteJob(subject="dlp", hook_input={}, facts=FACTS, timeout_ms=1000, most_bytes=10_000, is_strict=True)
PASSES = Verdict(event=HookEventName.BEFORE_TOOL).to_dict()
DENIES = Verdict(event=HookEventName.BEFORE_TOOL, blocked=True, denied=True, reason="no").to_dict()


def _outcome(**message: Any) -> ChildOutcome:
    return outcome_of({"worker": "w", **message}, JOB)


@pytest.mark.attack("30.F18", "a remote worker reports an error as a text")
@pytest.mark.req("DELTA-ANSW-002")
@pytest.mark.parametrize("error", ["no rules", {"message": "no rules"}, ["no rules"], {"code": "no rules"}])
@pytest.mark.parametrize("verdict", [{}, {"verdict": PASSES}, {"verdict": None}])
def test_an_error_in_any_form_is_a_failure(error: object, verdict: dict[str, Any]) -> None:
    """Also with an allowing verdict beside it."""
    assert "no rules" in str(_outcome(error=error, **verdict).error)


@pytest.mark.req("DELTA-ANSW-002")
def test_a_deny_beside_an_error_counts() -> None:
    """And no error at all changes nothing."""
    outcome = _outcome(error="no rules", verdict=DENIES)
    assert (outcome.error, outcome.exit_code) == (None, 0)
    assert b"deny" in outcome.stdout
    assert _outcome(error=None, verdict=PASSES).error is None
