#!/usr/bin/env python3
"""BeforeTool on write_file: strips trailing white space before the file is written.

Answering with `tool_input` rewrites the arguments; only the keys that are given change.
"""

import json
import re
import sys

content = json.load(sys.stdin)["tool_input"].get("content")
if isinstance(content, str):
    tidy = re.sub(r"[ \t]+$", "", content, flags=re.MULTILINE)
    if tidy and not tidy.endswith("\n"):
        tidy += "\n"
    if tidy != content:
        print(json.dumps({"hookSpecificOutput": {"tool_input": {"content": tidy}}}))
