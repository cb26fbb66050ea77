#!/bin/sh
# AfterTool on write_file and replace: runs the project's tests, so that the model sees what its change did.
# Plain text on stdout is a message for the model; HOOK_TEST_COMMAND names another command than `make test`.
# Give this hook a timeout that your tests can keep: {"timeout": 120000, ...}.
cat >/dev/null
if output=$(sh -c "${HOOK_TEST_COMMAND:-make -s test}" 2>&1); then
    echo "The tests pass after this change."
else
    echo "The tests FAIL after this change; the last lines are:"
    printf '%s\n' "$output" | tail -n 20
fi
