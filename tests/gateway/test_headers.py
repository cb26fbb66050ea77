"""A server behind an address that demands a token."""

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import TextContent
from tests.gateway.conftest import Raw, official_http_server

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def locked() -> Iterator[str]:
    """The address of the official server, for those who have its token."""
    with official_http_server("s3cret") as (url, _server):
        yield url


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_header_from_the_environment(gateway: Callable[..., list[str]], locked: str, mode: Any) -> None:
    """With the token in a variable, every request has it."""
    words = gateway({}, "--url", locked, "--header", "Authorization: Bearer env:DEMO_TOKEN")
    assert "s3cret" not in " ".join(words)

    async def talk() -> None:
        environ = {**os.environ, "DEMO_TOKEN": "s3cret"}
        transport = stdio_client(StdioServerParameters(command=words[0], args=words[1:], env=environ))
        async with Client(transport, mode=mode) as client:
            block = (await client.call_tool("add", {"a": 1, "b": 2})).content[0]
            assert isinstance(block, TextContent)
            assert block.text == "3"

    asyncio.run(talk())


def test_a_wrong_token_is_an_error_that_does_not_show_it(gateway: Callable[..., list[str]], locked: str) -> None:
    """The client gets an answer at once, and nothing hangs."""
    words = gateway({}, "--url", locked, "--header", "Authorization: Bearer env:DEMO_TOKEN")
    client = Raw(words, env={**os.environ, "DEMO_TOKEN": "wr0ng"})
    client.request(
        1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "x", "version": "1"}
    )
    answer = client.read()
    assert answer["id"] == 1
    assert "error" in answer
    _code, stderr = client.leave()
    assert "wr0ng" not in stderr
