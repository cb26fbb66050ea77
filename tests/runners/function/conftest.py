"""Hooks that are functions run in this process, and the log has files open while they do."""

import pytest


@pytest.fixture(autouse=True)
def nothing_left() -> None:
    """Replace the check of the other runners."""
