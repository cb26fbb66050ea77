#!/bin/sh
# Gets a browser and what drives it, for `make ui-test`. Whatever can't be had is named; the tests skip then, and say so.
set -u
bin=$1
"$bin/python" -c 'import playwright' 2>/dev/null ||
    "$bin/python" -m pip install --quiet --disable-pip-version-check 'playwright>=1.50,<2' ||
    echo "ui-test: Playwright could not be installed" >&2
if ! command -v chromium >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 ||
        { apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1; } ||
        echo "ui-test: Chromium could not be installed" >&2
fi
exit 0
