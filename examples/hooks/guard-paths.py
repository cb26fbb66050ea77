#!/usr/bin/env python3
"""BeforeTool: keeps file tools inside the project, out of `.git`, and off links that lead elsewhere.

`decision: block` blocks, and the model gets the `reason`.
"""

import json
import sys
from pathlib import Path

event = json.load(sys.stdin)
project = Path(event["cwd"]).resolve()
for name in ("file_path", "path", "directory"):
    given = event["tool_input"].get(name)
    if not isinstance(given, str):
        continue
    try:
        inside = (project / Path(given).expanduser()).resolve().relative_to(project)
    except (OSError, RuntimeError, ValueError):  # not inside, or no path at all
        reason = f"{given} is outside the project; work on files inside it."
    else:
        if ".git" not in inside.parts:
            continue
        reason = f"{given} belongs to git; use git commands instead."
    print(json.dumps({"decision": "block", "reason": reason}))
    break
