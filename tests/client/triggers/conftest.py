import pytest


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks that cannot be read, by a fault in hookline."""

    def fail(_layers: object, **_options: object) -> None:
        raise OSError("unreadable")

    monkeypatch.setattr("hookline.engine.system.decode_settings", fail)
