"""The files that `hookline init` writes."""

import json

HOOK_NAME = "guard-secrets"
DENIED_FILE, ALLOWED_FILE = ".env", "notes.txt"

_SETTINGS = """\
// Settings of hookline. Comments and trailing commas are fine; after a change: hookline check
{{
  // Without this nothing runs.
  "enableHooks": true,

  "hooks": {{
    // When: BeforeTool, AfterTool, BeforeModel, AfterModel, BeforeToolSelection, BeforeAgent, AfterAgent,
    // SessionStart, SessionEnd, PreCompress or Notification.
    "BeforeTool": [
      {{
        // For which tools: a regular expression, found anywhere in the tool's name, hence ^ and $.
        "matcher": "^(read_file|write_file|replace)$",
        "hooks": [
          {{
            "type": "command",
            "name": "{name}",
            "description": "Keeps the agent away from files with secrets.",
            // The program. It reads the event as JSON on stdin; exit code 2 blocks, and stderr says why.
            "command": {command},
            // Milliseconds.
            "timeout": 5000,
            // "block": if the guard itself fails, the tool is not run.
            "onError": "block",
          }},
        ],
      }},
    ],
  }},

  "hooksConfig": {{
    // Hooks around prompts and sessions (BeforeAgent, AfterAgent, …) can block, go on and add context; "watch" logs it.
    "lifecycle": "apply",
  }},
}}
"""

_SH = """\
#!/bin/sh
# Keeps the agent away from files with secrets.
#
# The event comes as one line of JSON on stdin:
#   {"session_id":"…","hook_event_name":"BeforeTool","tool_name":"read_file","tool_input":{"file_path":".env"}}
# Exit code 0 lets it pass; 2 blocks it, and stderr is the reason for the model. Any other code means that this
# hook failed.
input=$(cat)

case $input in
*'"file_path":"'*.env'"'* | *'"file_path":"'*.pem'"'* | *'"file_path":"'*id_rsa'"'*)
    echo "Files with secrets are off limits; ask the user to do this by hand." >&2
    exit 2
    ;;
esac
exit 0
"""

_PYTHON = '''\
#!/usr/bin/env python3
"""Keeps the agent away from files with secrets.

The event comes as one line of JSON on stdin:
  {"session_id":"…","hook_event_name":"BeforeTool","tool_name":"read_file","tool_input":{"file_path":".env"}}
Exit code 0 lets it pass; 2 blocks it, and stderr is the reason for the model. Any other code means that this
hook failed.
"""

import json
import sys

event = json.load(sys.stdin)
path = event["tool_input"].get("file_path", "")

if path.endswith((".env", ".pem", "id_rsa")):
    print("Files with secrets are off limits; ask the user to do this by hand.", file=sys.stderr)
    sys.exit(2)
'''

HOOKS = {"sh": (f"{HOOK_NAME}.sh", _SH), "python": (f"{HOOK_NAME}.py", _PYTHON)}


def settings_text(command: str) -> str:
    """A commented settings file with one hook of this command."""
    return _SETTINGS.format(name=HOOK_NAME, command=json.dumps(command))


def sample_input(file: str) -> str:
    """The input of `hookline fire` for a call that reads this file."""
    return json.dumps({"tool_name": "read_file", "tool_input": {"file_path": file}})
