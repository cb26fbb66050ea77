"""AfterTool: replaces e-mail addresses before the model reads them."""

import re

from hookline.hook import AfterTool, Rewrite, main

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")


def mask(event: AfterTool) -> Rewrite | None:
    """Answers only if there is something to mask."""
    text = event.tool_response.get("llmContent")
    if not isinstance(text, str) or not ADDRESS.search(text):
        return None
    return Rewrite(tool_output=ADDRESS.sub("[address]", text))


main(mask)
