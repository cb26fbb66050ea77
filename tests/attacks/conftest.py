"""Every test here is an attack: without a marker, it gets the point of its file and the words of its docstring."""

import pytest

# The point that a file of this folder is about.
POINTS = {
    "test_agent": "13.14-17",
    "test_answers": "13.7-9",
    "test_core": "11",
    "test_faults": "13.8",
    "test_files": "13.2",
    "test_interrupt": "13.20",
    "test_layers": "13.4-6",
    "test_limits": "13.19",
    "test_matchers": "13.1",
    "test_policy": "18.1",
    "test_record": "13.18",
    "test_secrets": "13.13",
    "test_strangers": "13.1-2",
    "test_terminal": "13.3",
    "test_trust": "13.10-12",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of this folder that have no marker yet."""
    for item in items:
        if item.path.parent.name == "attacks" and item.get_closest_marker("attack") is None:
            words = (getattr(getattr(item, "obj", None), "__doc__", None) or item.name).strip().splitlines()[0]
            item.add_marker(pytest.mark.attack(POINTS.get(item.path.stem, "?"), words.rstrip(".")))
