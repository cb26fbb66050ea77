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
            "command": {command},{worker}
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

_NODE = r"""#!/usr/bin/env node
// Keeps the agent away from files with secrets.
//
// The event comes as one line of JSON on stdin:
//   {"session_id":"…","hook_event_name":"BeforeTool","tool_name":"read_file","tool_input":{"file_path":".env"}}
// Exit code 0 lets it pass; 2 blocks it, and stderr is the reason for the model. Any other code means that this
// hook failed.
const event = JSON.parse(require("node:fs").readFileSync(0, "utf8"));

if (/(\.env|\.pem|id_rsa)$/.test(event.tool_input?.file_path ?? "")) {
  console.error("Files with secrets are off limits; ask the user to do this by hand.");
  process.exit(2);
}
"""

_PYTHON_WORKER = '''\
#!/usr/bin/env python3
"""Keeps the agent away from files with secrets. Started once; each event is a line of JSON."""

import json
import sys

answers, sys.stdout = sys.stdout, sys.stderr  # what is printed must not look like an answer
DENIED = {"decision": "deny", "reason": "Files with secrets are off limits; ask the user to do this by hand."}


def guard(event):
    path = event["tool_input"].get("file_path", "")
    return DENIED if path.endswith((".env", ".pem", "id_rsa")) else None


print('{"ready": true}', file=answers, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "output": guard(asked["input"])}), file=answers, flush=True)
'''

_NODE_WORKER = r"""#!/usr/bin/env node
// Keeps the agent away from files with secrets. Started once; each event is a line of JSON.
const readline = require("node:readline");

const reason = "Files with secrets are off limits; ask the user to do this by hand.";
const answer = (line) => process.stdout.write(JSON.stringify(line) + "\n");
console.log = console.error; // what is printed must not look like an answer

function guard(event) {
  const path = event.tool_input?.file_path ?? "";
  return /(\.env|\.pem|id_rsa)$/.test(path) ? { decision: "deny", reason } : null;
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, input } = JSON.parse(line);
  answer({ id, output: guard(input) });
});
answer({ ready: true });
"""

_SH_WORKER = r"""#!/bin/sh
# Keeps the agent away from files with secrets. Started once; each event is a line of JSON.
echo '{"ready": true}'
while IFS= read -r line; do
    id=${line#*'"id":"'}
    id=${id%%'"'*}
    case $line in
    *'"file_path":"'*.env'"'* | *'"file_path":"'*.pem'"'* | *'"file_path":"'*id_rsa'"'*)
        answer='"exit":2,"stderr":"Files with secrets are off limits; ask the user to do this by hand."'
        ;;
    *) answer='"output":null' ;;
    esac
    printf '{"id":"%s",%s}\n' "$id" "$answer"
done
"""

HOOKS = {
    "sh": (f"{HOOK_NAME}.sh", _SH),
    "python": (f"{HOOK_NAME}.py", _PYTHON),
    "node": (f"{HOOK_NAME}.js", _NODE),
}
WORKERS = {"sh": _SH_WORKER, "python": _PYTHON_WORKER, "node": _NODE_WORKER}
"""The same guards as programs that stay; docs/workers.md shows them."""
_AS_WORKER = """
            // The program is started once, and gets one line for each event.
            "worker": true,"""


def settings_text(command: str, *, is_worker: bool = False) -> str:
    """A commented settings file with one hook of this command."""
    return _SETTINGS.format(name=HOOK_NAME, command=json.dumps(command), worker=_AS_WORKER if is_worker else "")


def sample_input(file: str) -> str:
    """The input of `hookline fire` for a call that reads this file."""
    return json.dumps({"tool_name": "read_file", "tool_input": {"file_path": file}})
