#!/usr/bin/env python3
"""BeforeTool on write_file: strips trailing white space before the file is written.

Answering with `tool_input` rewrites the arguments; only the keys that are given change.
"""

import json
import sys

event = json.load(sys.stdin)
content = event["tool_input"].get("content", "")
tidy = "".join(f"{line.rstrip()}\n" for line in content.splitlines())
if tidy != content:
    print(json.dumps({"hookSpecificOutput": {"tool_input": {"content": tidy}}}))
