"""Stand-ins for the models of other agents: an HTTP server on loopback, and one small class per protocol."""

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

Body = dict[str, Any]
USAGE = {"input_tokens": 1, "output_tokens": 1}


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls a tool; `text` instead of arguments is for tools that take no JSON."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    text: str | None = None


Turn = Sequence[Call | str]
"""The model's answer to one request: tool calls and texts."""


class Words(Protocol):
    """A protocol: which requests are turns of the conversation, and how an answer is written."""

    def is_turn(self, path: str, body: Body) -> bool:
        """Whether this request is one of the conversation, and not of something beside it, such as a title."""

    def answer(self, turn: Turn, number: int, *, streams: bool) -> bytes:
        """The answer, as a stream of events or as one object."""

    def streams(self, path: str, body: Body) -> bool:
        """Whether the agent asked for a stream."""


def _events(events: Iterator[Body]) -> bytes:
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


class Anthropic:
    """The messages of Anthropic, for Claude Code and Copilot CLI."""

    def is_turn(self, path: str, body: Body) -> bool:
        """Requests without tools ask for a title."""
        return "/v1/messages" in path and "count_tokens" not in path and bool(body.get("tools"))

    def streams(self, path: str, body: Body) -> bool:  # noqa: ARG002 - the protocol's signature
        """Read it from the request."""
        return body.get("stream") is True

    def answer(self, turn: Turn, number: int, *, streams: bool) -> bytes:
        """A message with a block for each call and text."""
        blocks = [self._block(part, f"toolu_{number}_{index}") for index, part in enumerate(turn)]
        reason = "tool_use" if any(isinstance(part, Call) for part in turn) else "end_turn"
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "stand-in", "usage": USAGE}
        if not streams:
            return json.dumps({**message, "content": blocks, "stop_reason": reason, "stop_sequence": None}).encode()
        return _events(self._stream(message, blocks, reason))

    def _block(self, part: Call | str, identity: str) -> Body:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        return {"type": "tool_use", "id": identity, "name": part.name, "input": part.arguments}

    def _stream(self, message: Body, blocks: list[Body], reason: str) -> Iterator[Body]:
        start = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
        yield {"type": "message_start", "message": start}
        for index, block in enumerate(blocks):
            is_text = block["type"] == "text"
            empty: Body = {**block, "text": ""} if is_text else {**block, "input": {}}
            delta = (
                {"type": "text_delta", "text": block["text"]}
                if is_text
                else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            )
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": USAGE}
        yield {"type": "message_stop"}


class Completions:
    """The chat completions of OpenAI, for loops of one's own."""

    def is_turn(self, path: str, body: Body) -> bool:  # noqa: ARG002 - the protocol's signature
        """There are no other requests."""
        return path.endswith("/chat/completions")

    def streams(self, path: str, body: Body) -> bool:  # noqa: ARG002
        """Read it from the request."""
        return body.get("stream") is True

    def answer(self, turn: Turn, number: int, *, streams: bool) -> bytes:
        """One choice with the texts and the calls."""
        calls = [
            self._call(part, f"call_{number}_{index}") for index, part in enumerate(turn) if isinstance(part, Call)
        ]
        text = "".join(part for part in turn if isinstance(part, str))
        message: Body = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
        common = {"id": f"chatcmpl-{number}", "created": 0, "model": "stand-in"}
        reason = "tool_calls" if calls else "stop"
        if not streams:
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            choice: Body = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
            return json.dumps({**common, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
        numbered = [{"index": index, **call} for index, call in enumerate(calls)]
        deltas: list[tuple[Body, str | None]] = [({"role": "assistant", "content": text or None}, None)]
        deltas += [({"tool_calls": [call]}, None) for call in numbered] + [({}, reason)]
        chunks = (
            {
                **common,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
            }
            for delta, end in deltas
        )
        return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"

    def _call(self, part: Call, identity: str) -> Body:
        function = {"name": part.name, "arguments": json.dumps(part.arguments)}
        return {"id": identity, "type": "function", "function": function}


class Responses:
    """The responses of OpenAI, for Codex."""

    def is_turn(self, path: str, body: Body) -> bool:  # noqa: ARG002 - the protocol's signature
        """Codex asks for nothing else in these words."""
        return path.endswith("/responses")

    def streams(self, path: str, body: Body) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def answer(self, turn: Turn, number: int, *, streams: bool) -> bytes:  # noqa: ARG002
        """An item for each call and text."""
        items = (self._item(part, f"{number}_{index}") for index, part in enumerate(turn))
        done = [{"type": "response.output_item.done", "item": item} for item in items]
        identity = {"id": f"resp_{number}"}
        usage = {**USAGE, "input_tokens_details": None, "output_tokens_details": None, "total_tokens": 2}
        completed = {"type": "response.completed", "response": {**identity, "usage": usage}}
        return _events(iter([{"type": "response.created", "response": identity}, *done, completed]))

    def _item(self, part: Call | str, identity: str) -> Body:
        if isinstance(part, str):
            content = [{"type": "output_text", "text": part}]
            return {"type": "message", "role": "assistant", "id": f"msg_{identity}", "content": content}
        call = {"call_id": f"call_{identity}", "name": part.name}
        if part.text is not None:
            return {"type": "custom_tool_call", **call, "input": part.text}
        return {"type": "function_call", **call, "arguments": json.dumps(part.arguments)}


class Gemini:
    """The generated contents of Gemini."""

    def is_turn(self, path: str, body: Body) -> bool:
        """Requests without tools choose a model, or count tokens."""
        return "enerateContent" in path and bool(body.get("tools"))

    def streams(self, path: str, body: Body) -> bool:  # noqa: ARG002 - the protocol's signature
        """Read it from the address."""
        return "stream" in path

    def answer(self, turn: Turn, number: int, *, streams: bool) -> bytes:  # noqa: ARG002
        """One candidate with a part for each call and text."""
        parts = [
            {"text": part} if isinstance(part, str) else {"functionCall": {"name": part.name, "args": part.arguments}}
            for part in turn
        ]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        counts = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        data = json.dumps({"candidates": [candidate], "usageMetadata": counts})
        return (f"data: {data}\r\n\r\n" if streams else data).encode()


class Model:
    """A server that answers each request of the conversation with the next turn; the last one is repeated."""

    def __init__(self, words: Words, turns: Sequence[Turn]) -> None:
        self.requests: list[Body] = []
        """The requests of the conversation, in order."""
        self._words = words
        self._turns = turns
        self._lock = threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Keeps the terminal clean."""

            def do_HEAD(self) -> None:
                self._send(b"", "text/plain")

            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
                self._send(*model._respond(self.path, body))

            def _send(self, data: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def _respond(self, path: str, body: Body) -> tuple[bytes, str]:
        if "ount" in path and "oken" in path:
            return json.dumps({"input_tokens": 1, "totalTokens": 1}).encode(), "application/json"
        turn: Turn = ["{}"]
        with self._lock:
            if self._words.is_turn(path, body):
                turn = self._turns[min(len(self.requests), len(self._turns) - 1)]
                self.requests.append(body)
            number = len(self.requests)
        streams = self._words.streams(path, body)
        kind = "text/event-stream" if streams else "application/json"
        return self._words.answer(turn, number, streams=streams), kind

    def close(self) -> None:
        """Stops the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
