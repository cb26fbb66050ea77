import subprocess
import sys

import pytest

SHOW = "from hookline.child.features import FEATURES as f; print(f.fork_exec, f.pidfd, f.direct)"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("", "True True True", id="the best"),
        pytest.param("popen", "False True True", id="popen"),
        pytest.param("threads", "True False True", id="threads"),
        pytest.param("popen threads shell", "False False False", id="all"),
        pytest.param("nonsense", "True True True", id="unknown word"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux" or sys.version_info >= (3, 14), reason="the best differs elsewhere")
def test_the_environment_takes_facilities_away(words: str, expected: str) -> None:
    """HOOKLINE_CHILD names what is not to be used."""
    shown = subprocess.run(
        [sys.executable, "-c", SHOW], env={"HOOKLINE_CHILD": words}, capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == expected
