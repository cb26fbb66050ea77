#!/bin/sh
# Makes the virtual environment: the package (editable), its extras and the development tools.
# With `base` it installs the package and its own dependencies only; with the name of a dependency group, that group.
# Dependency groups are read from pyproject.toml by hand, because pip before 25.1 does not know them.
set -eu
: "${PYTHON:=python3}" "${VENV:=.venv}"

install_group() {
    "$VENV/bin/python" - "$1" >"$VENV/$1-requirements.txt" <<'PY'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    print("\n".join(tomllib.load(file)["dependency-groups"][sys.argv[1]]))
PY
    group=$1
    shift
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$VENV/$group-requirements.txt" "$@"
}

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "hookline needs Python 3.11 or newer; $PYTHON is $("$PYTHON" --version 2>&1). Try: make setup PYTHON=python3.12" >&2
    exit 1
}
[ -x "$VENV/bin/python" ] || {
    echo "creating $VENV..."
    "$PYTHON" -m venv "$VENV"
}
case ${1:-} in
"") ;;
base)
    echo "installing hookline..."
    exec "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --editable .
    ;;
*)
    echo "installing what $1 needs..."
    install_group "$1"
    exit
    ;;
esac
echo "installing the development tools (about a minute)..."
install_group dev --editable ".[agent,ui,fleet]"
# Pyright is a program for Node. Without it one test is skipped, and says so.
if command -v npm >/dev/null 2>&1; then
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$VENV/pyright" pyright@1.1 >/dev/null 2>&1 ||
        echo "pyright could not be installed, so its test is skipped" >&2
fi
