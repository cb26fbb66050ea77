#!/bin/sh
# Installs Gemini CLI's core below the virtual environment: `make bench` compares its hook runner with ours.
# Without Node, npm or its registry that row is skipped, and this says so.
set -eu
: "${VENV:=.venv}"
package=@google/gemini-cli-core

[ ! -d "$VENV/node_modules/$package" ] || exit 0
[ -z "${HOOKLINE_NODE_MODULES:-}" ] || exit 0
for program in node npm; do
    command -v "$program" >/dev/null 2>&1 || {
        echo "$program was not found, so Gemini CLI's hook runner is not measured" >&2
        exit 0
    }
done
echo "installing $package (about 400 MB)..."
npm install --silent --no-audit --no-fund --ignore-scripts --no-save --prefix "$VENV" "$package" >/dev/null 2>&1 ||
    echo "$package could not be installed, so Gemini CLI's hook runner is not measured" >&2
