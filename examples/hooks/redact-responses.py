#!/usr/bin/env python3
"""AfterModel: removes keys and card numbers from an answer before it is shown.

The parts of the candidates replace the model's text; `{"llm_response": {"text": "…"}}` alone would do as well.
"""

import json
import re
import sys

SECRET = re.compile(
    r"\bsk-[A-Za-z0-9_-]{16,}|\bAKIA[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\b(?:\d[ -]?){15}\d\b"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    re.DOTALL,
)

response = json.load(sys.stdin).get("llm_response", {})
found = 0
for candidate in response.get("candidates", []):
    content = candidate.get("content", {})
    changed = [SECRET.subn("[redacted]", part) for part in content.get("parts", [])]
    content["parts"] = [text for text, _ in changed]
    found += sum(count for _, count in changed)
if found:
    print(json.dumps({"hookSpecificOutput": {"llm_response": {"candidates": response["candidates"]}}}))
