"""The pack hookline:secrets: files with secrets, keys in what is written, and keys in what comes back."""

import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from hookline.guards.actions import is_searching, is_writing, paths_of, texts_of
from hookline.guards.findings import RuleFinding, Subject, shortened
from hookline.guards.path_kinds import is_secret
from hookline.guards.resolve import located, unreadable
from hookline.hook import AfterModel, AfterTool, Answer, BeforeTool, Redact, Rewrite
from hookline.log.redact.secret_patterns import private_keys, tokens
from hookline.protocol.text.secret_names import asks_for_secrets

SECRET_FILES = "secret-files"
"""The one rule about files with secrets, in commands and in tool calls."""
REPLACED = "[redacted by hookline:secrets]"
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# The last six characters of these are a checksum of the others.
_CHECKED = re.compile(r"(?:gh[pousr]|npm)_([A-Za-z0-9]{30})([A-Za-z0-9]{6})$")
_EXAMPLE = re.compile(r"example|sample|dummy|placeholder|your[-_]|xxxx|\.\.\.|1234567890|abcdef", re.IGNORECASE)


def judge_files(event: BeforeTool, home: str) -> list[RuleFinding]:
    """Files with secrets that a tool call reads, writes or searches, and keys in what it writes."""
    found = []
    for named in paths_of(event.tool_input):
        subject = Subject((named.path,), event.cwd)
        files = located(named, event.cwd, home)
        if files is None:
            found.append(unreadable(named.path, subject))
        elif any(map(is_secret, files)):
            reason = f"{shortened(named.path)} is known for holding secrets"
            found.append(RuleFinding(SECRET_FILES, "deny", reason, "Ask the user for what is needed of it.", subject))
    if is_searching(event.tool_name) and _searches_for_secrets(event.tool_input):
        reason = "This search looks for secrets, and reads the files that hold them"
        found.append(RuleFinding(SECRET_FILES, "deny", reason, "Search in a directory of sources, or include *.py."))
    if is_writing(event.tool_name) and any(is_key(key) for text in texts_of(event.tool_input) for key in keys_in(text)):
        reason = "The text to be written has a key or token in it"
        found.append(RuleFinding("write-key", "deny", reason, "Read it from the environment at run time."))
    return found


def _searches_for_secrets(arguments: Mapping[str, Any]) -> bool:
    """Whether a search looks for secrets in the whole project: without a directory or a kind of files."""
    given = {key.lower(): value for key, value in arguments.items() if isinstance(value, str)}
    if any(given.get(key) for key in ("include", "glob", "file_pattern", "type", "include_pattern")):
        return False
    where = next((given[key] for key in ("path", "dir_path", "directory", "root") if given.get(key)), ".")
    return where.rstrip("/") in ("", ".", "..", "~") and any(
        asks_for_secrets(given.get(key, "")) for key in ("pattern", "query", "regex", "search", "text")
    )


def redacted(event: AfterTool | AfterModel) -> Answer | None:
    """The answer that replaces keys in a tool's result or in what the model said, or None."""
    text = event.text if isinstance(event, AfterModel) else _result(event.tool_response)
    if text is None:
        return None
    cleaned = clean(text)
    if cleaned == text:
        return None
    return Redact(cleaned) if isinstance(event, AfterModel) else Rewrite(tool_output=cleaned)


def keys_in(text: str) -> Iterator[str]:
    """The keys and tokens in a text, known by their form."""
    raw = text.encode("utf-8", "replace")
    yield from (raw[start:end].decode("utf-8", "replace") for start, end in tokens(raw))
    yield from (text[start:end] for start, end in private_keys(text, text.lower().encode("utf-8", "replace")))


def is_key(text: str) -> bool:
    """Whether a text that looks like a key is one: no example, and with a right checksum where the form has one."""
    if _EXAMPLE.search(text):
        return False
    found = _CHECKED.search(text)
    return found is None or _checksum(found[1]) == found[2]


def clean(text: str) -> str:
    """The text with every key replaced, examples too: whether one is valid is not ours to find out."""
    for key in sorted(set(keys_in(text)), key=len, reverse=True):
        text = text.replace(key, REPLACED)
    return text


def _checksum(text: str) -> str:
    number, digits = zlib.crc32(text.encode()), ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits.rjust(6, "0")


def _result(response: Any) -> str | None:
    content = response.get("llmContent") if isinstance(response, dict) else None
    return content if isinstance(content, str) else None
