import sys

import pytest

from hookline.runners.process.features import Features, unknown_word


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("", (True, True, True), id="the best"),
        pytest.param("threads", (False, True, True), id="threads"),
        pytest.param("cold", (True, True, False), id="cold"),
        pytest.param("Threads, COLD", (False, True, False), id="commas and capitals"),
        pytest.param("threads shell", (False, False, False), id="all"),
        pytest.param("nonsense", (True, True, True), id="unknown word"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the best differs elsewhere")
def test_the_environment_takes_facilities_away(
    monkeypatch: pytest.MonkeyPatch, words: str, expected: tuple[bool, ...]
) -> None:
    """HOOKLINE_CHILD names what is not to be used."""
    monkeypatch.setenv("HOOKLINE_CHILD", words)
    features = Features()
    assert (features.pidfd, features.direct, features.warm) == expected
    assert bool(unknown_word()) is (words == "nonsense")
