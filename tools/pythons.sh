#!/bin/sh
# Run the tests of processes, warm interpreters, workers and HTTP hooks with hookline itself on each Python from 3.11 on
# that is found here, with an environment of its own below .venv. What can't be had is named and left out.
# SLOW=1 also runs what takes long: two hundred rounds under each rule, ten thousand events in a row.
set -eu
: "${VENV:=.venv}" "${SLOW:=}"

find_python() {
    for program in "$HOME"/.pyenv/versions/"$1".*/bin/python3 "/usr/bin/python$1" "/usr/local/bin/python$1"; do
        [ -x "$program" ] && echo "$program" && return
    done
    return 1
}

failed=
for version in 3.11 3.12 3.13; do
    program=$(find_python "$version") || {
        echo "Python $version was not found, so it is left out" >&2
        continue
    }
    place=$VENV/pythons/$version
    [ -x "$place/bin/python" ] || "$program" -m venv "$place"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check --editable . \
        "hypothesis>=6.100" "pytest>=8.3" "pytest-timeout>=2.3" "pytest-xdist>=3.6" "uvloop>=0.21" 2>/dev/null || {
        echo "what the tests need could not be installed for Python $version, so it is left out" >&2
        continue
    }
    echo "Python $version"
    run_tests() {
        "$place/bin/python" -m pytest -q -o cache_dir="$PWD/$place/cache" -m "${SLOW:+slow or }not slow" "$@" \
            tests/runners tests/engine/test_warmth.py tests/engine/test_workers.py
    }
    run_tests -n 2 --dist worksteal || failed=yes
done
[ -z "$failed" ]
