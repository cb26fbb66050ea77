#!/bin/sh
# BeforeToolSelection: on a protected git branch the model is offered only tools that read.
# Lists of several hooks of one settings file are united. The agent refuses calls to any other tool.
case $(git branch --show-current 2>/dev/null) in
main | master | release/*)
    cat <<'EOF_ANSWER'
{"hookSpecificOutput": {"toolConfig": {"mode": "AUTO", "allowedFunctionNames":
  ["read_file", "list_directory", "glob", "search_file_content"]}},
 "systemMessage": "This branch is protected: look, but change nothing. Suggest a new branch for changes."}
EOF_ANSWER
    ;;
esac
