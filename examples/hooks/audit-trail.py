#!/usr/bin/env python3
"""Any event: appends a line to an audit trail (HOOK_AUDIT_FILE, or ~/.local/state/hook-audit.jsonl).

A hook that only watches prints nothing and ends with 0.
"""

import json
import os
import sys
from pathlib import Path

KEPT = ("timestamp", "session_id", "hook_event_name", "cwd", "tool_name", "tool_input", "prompt", "reason", "source")

event = json.load(sys.stdin)
line = json.dumps({key: event[key] for key in KEPT if key in event}) + "\n"
path = Path(os.environ.get("HOOK_AUDIT_FILE") or Path.home() / ".local/state/hook-audit.jsonl")
path.parent.mkdir(parents=True, exist_ok=True)
# One write to a file opened for appending, so that lines of several agents do not mix.
descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(descriptor, line.encode())
os.close(descriptor)
