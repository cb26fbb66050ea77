"""The guards that `hookline init` writes: the same rule in three languages, as a command and as a worker."""

_ABOUT = """\
Keeps the agent away from files with secrets: .env and its kind, and private keys.

It judges where a path leads, not what a text mentions: "../.ENV", a link to .env, and a search through a directory
with such a file are refused; a note about .env is not. A command that names such a file is refused, too, unless it
stands in a message; "use": ["hookline:secrets"] reads commands as a shell does."""

_EVENT = """\
The event comes as one line of JSON on stdin:
  {"hook_event_name":"BeforeTool","cwd":"/…","tool_name":"read_file","tool_input":{"file_path":".env"}}
Exit code 0 lets it pass; 2 blocks it, and stderr is the reason for the model. Any other code means that this
hook failed."""

_LINES = "Started once; each event is a line of JSON."

_PYTHON_RULE = '''\
SECRET = re.compile(r"\\.env(rc|\\..+)?|.+\\.(env|pem|key|p12)|id_(rsa|dsa|ecdsa|ed25519)", re.IGNORECASE | re.DOTALL)
TEMPLATE = re.compile(r".+\\.(example|sample|template|dist)", re.IGNORECASE | re.DOTALL)
NOT_SEARCHED = {".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"}
OFF_LIMITS = "Files with secrets are off limits; ask the user to do this by hand."


def is_secret(path):
    name = os.path.basename(path)
    return bool(SECRET.fullmatch(name)) and not TEMPLATE.fullmatch(name)


def searched(root, include):
    """The files that a search would read; an include such as *.py or *.{ts,tsx} leaves other endings out."""
    plain = re.fullmatch(r"[^{},]*\\.(\\w+|\\{\\w+(?:,\\w+)*\\})", include or "")
    endings = plain[1].strip("{}").lower().split(",") if plain else None
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if name not in NOT_SEARCHED]
        for name in names:
            if endings is None or name.lower().rpartition(".")[2] in endings:
                yield os.path.join(folder, name)


def leads_to_secret(text, cwd):
    path = os.path.normpath(os.path.join(cwd, os.path.expanduser(text)))
    return is_secret(path) or is_secret(os.path.realpath(path))


def words_of(command):
    """The words of a command: without messages, and with those of commands inside it."""
    lexer = shlex.shlex(command.replace("\\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    before = ""
    for word in lexer:
        if re.fullmatch(r"-[a-z]*c|eval", before) or "$(" in word or "`" in word:
            yield from words_of(word.replace("$(", " ; ").replace("`", " ; ").replace(")", " ; "))
        elif not re.fullmatch(r"-[a-z]*m|--message|-[a-z]*m.*\\s.*|--message=.*", before):
            yield word
        before = word


def search_in(words, cwd):
    """Where a command searches everything, or None: grep -r KEY ."""
    if not {"grep", "egrep", "fgrep"} & set(words) or any(word.startswith("--include") for word in words):
        return None
    if not any(re.fullmatch(r"-[A-Za-z]*[rR][A-Za-z]*|--recursive", word) for word in words):
        return None
    last = os.path.join(cwd, os.path.expanduser(words[-1]))
    return last if os.path.isdir(last) else cwd


def refusal(event):
    """Why the call must not be made, or None."""
    given, cwd, root = event["tool_input"], event["cwd"], None
    paths = [given[key] for key in ("file_path", "absolute_path", "path") if isinstance(given.get(key), str)]
    if isinstance(given.get("command"), str):
        words = list(words_of(given["command"]))
        paths += [part for word in words for part in (word, *re.split("[=:@,]", word)) if part]
        root = search_in(words, cwd)
    if any(leads_to_secret(path, cwd) for path in paths):
        return OFF_LIMITS
    if event["tool_name"] == "search_file_content":
        root = os.path.join(cwd, os.path.expanduser(given.get("path") or "."))
    for path in searched(root, given.get("include")) if root else ():
        if is_secret(path):
            return f"{OFF_LIMITS} This search would read {os.path.relpath(path, root)}; give include, such as *.py."
    return None
'''

PYTHON = f'''\
#!/usr/bin/env python3
"""{_ABOUT}

{_EVENT}
"""

import json
import os
import re
import shlex
import sys

{_PYTHON_RULE}

reason = refusal(json.load(sys.stdin))
if reason:
    print(reason, file=sys.stderr)
    sys.exit(2)
'''

PYTHON_WORKER = f'''\
#!/usr/bin/env python3
"""{_ABOUT}

{_LINES}
"""

import json
import os
import re
import shlex
import sys

answers, sys.stdout = sys.stdout, sys.stderr  # what is printed must not look like an answer
{_PYTHON_RULE}

def answer(event):
    reason = refusal(event)
    return {{"decision": "deny", "reason": reason}} if reason else None


print('{{"ready": true}}', file=answers, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({{"id": asked["id"], "output": answer(asked["input"])}}), file=answers, flush=True)
'''

_NODE_RULE = r"""const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const SECRET = /^(\.env(rc|\..+)?|.+\.(env|pem|key|p12)|id_(rsa|dsa|ecdsa|ed25519))$/is;
const TEMPLATE = /\.(example|sample|template|dist)$/i;
const NOT_SEARCHED = [".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"];
const OFF_LIMITS = "Files with secrets are off limits; ask the user to do this by hand.";

const isSecret = (file) => SECRET.test(path.basename(file)) && !TEMPLATE.test(path.basename(file));

// Where a path leads in the end, also if nothing is there yet.
function behindLinks(file, most = 40) {
  try {
    return fs.realpathSync(file);
  } catch (error) {
    if (error.code !== "ENOENT" || most === 0) throw error;
  }
  try {
    return behindLinks(path.resolve(fs.realpathSync(path.dirname(file)), fs.readlinkSync(file)), most - 1);
  } catch (error) {
    if (error.code !== "ENOENT" && error.code !== "EINVAL") throw error;
    return file;
  }
}

// The first file with secrets that a search would read; an include such as *.py or *.{ts,tsx} leaves others out.
function searched(root, include) {
  if (!fs.statSync(root, { throwIfNoEntry: false })?.isDirectory()) return null;
  const plain = /^[^{},]*\.(\w+|\{\w+(?:,\w+)*\})$/.exec(include ?? "");
  const endings = plain?.[1].replace(/[{}]/g, "").toLowerCase().split(",");
  for (const entry of fs.readdirSync(root, { withFileTypes: true })) {
    const file = path.join(root, entry.name);
    const isRead = !endings || endings.includes(entry.name.toLowerCase().split(".").pop());
    if (!entry.isDirectory() && isRead && isSecret(file)) return file;
    const found = entry.isDirectory() && !NOT_SEARCHED.includes(entry.name) && searched(file, include);
    if (found) return found;
  }
  return null;
}

// The words of a command: without messages, and with those of commands inside it.
function wordsOf(command) {
  const words = [];
  let before = "";
  const piece = /(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\();<>|&])+|["']/gs;
  for (const [raw] of command.matchAll(piece)) {
    if (/^["']$/.test(raw)) throw new Error("a quote is not closed");
    const word = raw.replace(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/gs, (_, a, b, c) => a ?? b ?? c);
    if (/^(-[a-z]*c|eval)$/.test(before) || /\$\(|`/.test(word)) {
      words.push(...wordsOf(word.replace(/\$\(|`|\)/g, " ; ")));
    } else if (!/^(-[a-z]*m|--message)$/.test(before)) {
      words.push(word);
    }
    before = word;
  }
  return words;
}

// Where a command searches everything, or null: grep -r KEY .
function searchIn(words, locate) {
  if (!words.some((word) => /^[ef]?grep$/.test(word))) return null;
  if (words.some((word) => word.startsWith("--include"))) return null;
  if (!words.some((word) => /^(-[A-Za-z]*[rR][A-Za-z]*|--recursive)$/.test(word))) return null;
  const last = locate(words.at(-1));
  return fs.statSync(last, { throwIfNoEntry: false })?.isDirectory() ? last : locate(".");
}

// Why the call must not be made, or null.
function refusal({ cwd, tool_name, tool_input: given }) {
  const locate = (text) => path.resolve(cwd, text.replace(/^~(?=\/|$)/, os.homedir()));
  const words = typeof given.command === "string" ? wordsOf(given.command) : [];
  const parts = words.flatMap((word) => [word, ...word.split(/[=:@,]/)]).filter((part) => part);
  for (const text of [given.file_path, given.absolute_path, given.path, ...parts]) {
    if (typeof text !== "string") continue;
    if (isSecret(locate(text)) || isSecret(behindLinks(locate(text)))) return OFF_LIMITS;
  }
  const root = tool_name === "search_file_content" ? locate(given.path ?? ".") : searchIn(words, locate);
  if (root === null) return null;
  const found = searched(root, given.include);
  return found && `${OFF_LIMITS} This search would read ${path.relative(root, found)}; give include, such as *.py.`;
}
"""


def _slashed(text: str, mark: str) -> str:
    return "\n".join(f"{mark} {line}".rstrip() for line in text.split("\n"))


NODE = f"""#!/usr/bin/env node
{_slashed(_ABOUT, "//")}
//
{_slashed(_EVENT, "//")}
{_NODE_RULE}
const reason = refusal(JSON.parse(fs.readFileSync(0, "utf8")));
if (reason) {{
  console.error(reason);
  process.exit(2);
}}
"""

NODE_WORKER = f"""#!/usr/bin/env node
{_slashed(_ABOUT, "//")}
//
{_slashed(_LINES, "//")}
{_NODE_RULE}
const answer = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
console.log = console.error; // what is printed must not look like an answer

require("node:readline")
  .createInterface({{ input: process.stdin }})
  .on("line", (line) => {{
    const {{ id, input }} = JSON.parse(line);
    const reason = refusal(input);
    answer({{ id, output: reason ? {{ decision: "deny", reason }} : null }});
  }});
answer({{ ready: true }});
"""

SH = rf"""#!/bin/sh
{_slashed(_ABOUT, "#")}
#
{_slashed(_EVENT, "#")}
set -eu

off_limits="Files with secrets are off limits; ask the user to do this by hand."

deny() {{
    echo "$1" >&2
    exit 2
}}

# A shell can't read JSON: jq or Python does, one value on each line.
fields() {{
    if command -v jq >/dev/null; then
        jq -r '.tool_input as $given
            | [.cwd, $given.file_path, $given.absolute_path, $given.path, $given.include, .tool_name]
            | map(. // "" | tostring)
            | if any(test("\n")) then error("a line break in a path") else .[] end,
              ($given.command // "" | tostring | gsub("\n"; " ; "))'
    elif command -v python3 >/dev/null; then
        python3 -I -c '
import json, sys
event = json.load(sys.stdin)
given = event["tool_input"]
names = ("file_path", "absolute_path", "path", "include")
values = [event["cwd"], *map(given.get, names), event["tool_name"]]
lines = [str(value or "") for value in values]
command = str(given.get("command") or "").replace("\n", " ; ")
sys.exit("a line break in a path") if "\n" in "".join(lines) else print(*lines, command, sep="\n")'
    else
        deny "This guard needs jq or python3, and neither is installed; ask the user to install one."
    fi
}}

lower() {{
    printf '%s' "$1" | tr '[:upper:]' '[:lower:]'
}}

is_secret() {{
    case $(lower "${{1##*/}}") in
    *.example | *.sample | *.template | *.dist) return 1 ;;
    .env | .envrc | .env.* | *.env | *.pem | *.key | *.p12 | id_rsa | id_dsa | id_ecdsa | id_ed25519) return 0 ;;
    *) return 1 ;;
    esac
}}

locate() {{
    case $1 in
    "~" | "~/"*) located=$HOME${{1#"~"}} ;;
    /*) located=$1 ;;
    *) located=$cwd/$1 ;;
    esac
    while [ "$located" != "${{located%/}}" ] || [ "$located" != "${{located%/.}}" ]; do
        located=${{located%/}}
        located=${{located%/.}}
    done
}}

# Whether a search reads a file: an include such as *.py or *.{{ts,tsx}} leaves other endings out.
is_searched() {{
    case $include in
    *.*) ;;
    *) return 0 ;;
    esac
    endings=${{include##*.}}
    case $endings in
    "{{"*"}}")
        endings=${{endings#"{{"}}
        endings=${{endings%"}}"}}
        ;;
    *,*) return 0 ;;
    esac
    case ${{include%.*}}:$endings in
    *[{{}}]* | *,*:* | *: | *:*[!A-Za-z0-9_,]*) return 0 ;;
    esac
    case ,$(lower "$endings"), in
    *,"$(lower "${{1##*.}}")",*) return 0 ;;
    *) return 1 ;;
    esac
}}

values=$(fields)
{{
    IFS= read -r cwd
    IFS= read -r file_path
    IFS= read -r absolute_path
    IFS= read -r path
    IFS= read -r include
    IFS= read -r tool
    IFS= read -r command || true
}} <<END
$values
END

judge() {{
    [ -n "$1" ] || return 0
    locate "$1"
    if is_secret "$located" || is_secret "$(readlink -f -- "$located" || echo "$located")"; then
        deny "$off_limits"
    fi
}}

judge "$file_path"
judge "$absolute_path"
judge "$path"

# The words of a command, one on each line: without messages, quotes, and signs such as < and =.
words=$(printf '%s' "$command" | sed -E "s/(-[a-z]*m|--message)[ =]*(\"[^\"]*\"|'[^']*')//g; s/[\"'\\\\]//g" |
    tr -s ' \t();<>|&=:@,$`' '\n')
while IFS= read -r word; do
    judge "$word"
done <<END
$words
END

case $tool:$command in
search_file_content:*) ;;
*:*--include*) exit 0 ;;
*:*grep*\ -[rR]* | *:*grep*\ -[A-Za-z][rR]* | *:*grep*\ -[A-Za-z][A-Za-z][rR]* | *:*grep*--recursive*) ;;
*) exit 0 ;;
esac
[ "$tool" = search_file_content ] || path=${{command##* }}
locate "${{path:-.}}"
[ -d "$located" ] || located=$cwd
[ -d "$located" ] || exit 0
found=$(find "$located" \( -name .git -o -name .hg -o -name .svn -o -name .venv -o -name __pycache__ \
    -o -name node_modules \) -prune -o ! -type d \( -iname '.env*' -o -iname '*.env' -o -iname '*.pem' \
    -o -iname '*.key' -o -iname '*.p12' -o -iname 'id_*' \) -print)
while IFS= read -r file; do
    if [ -n "$file" ] && is_secret "$file" && is_searched "${{file##*/}}"; then
        deny "$off_limits This search would read ${{file#"$located"/}}; give include, such as *.py."
    fi
done <<END
$found
END
"""
