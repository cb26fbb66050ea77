"""The table of runners."""

from typing import get_args

from hookline.protocol.hook_entry import HookRun
from hookline.runners.table import RUNNERS


def test_every_kind_of_hook_has_a_runner() -> None:
    """The table has one row for each member of the union, and no other."""
    assert set(RUNNERS) == set(get_args(HookRun))
