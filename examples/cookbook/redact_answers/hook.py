"""AfterModel: takes internal host names out of answers."""

import re

from hookline.hook import AfterModel, Redact, main

INTERNAL = re.compile(r"[\w.-]+\.corp\.example\b")


def redact(event: AfterModel) -> Redact | None:
    """Answers only if there is something to redact."""
    text = str(event.llm_response.get("text") or "")
    return Redact(INTERNAL.sub("[host]", text)) if INTERNAL.search(text) else None


main(redact)
