#!/usr/bin/env python3
"""BeforeTool: stops the agent when a session has used up its tool calls (HOOK_TOOL_BUDGET, or 50).

`continue: false` stops the agent, and the user is shown `stopReason`.
"""

import json
import os
import re
import sys
from pathlib import Path

budget = int(os.environ.get("HOOK_TOOL_BUDGET") or 50)
session = re.sub(r"[^A-Za-z0-9_-]", "_", json.load(sys.stdin)["session_id"])
folder = Path.home() / ".cache" / "hook-tool-budget"
folder.mkdir(mode=0o700, parents=True, exist_ok=True)
# One byte for each call: appending is safe when several calls run at the same time.
with (folder / session).open("ab") as counter:
    counter.write(b".")
    counter.flush()
    used = counter.tell()
if used > budget:
    print(json.dumps({"continue": False, "stopReason": f"The budget of {budget} tool calls is used up."}))
