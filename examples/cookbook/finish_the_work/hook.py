"""AfterAgent: sends the model back to work while a test fails."""

import os
import subprocess

from hookline.hook import AfterAgent, Deny, main

COMMAND = os.environ.get("HOOK_TEST_COMMAND", "make test")


def check_work(event: AfterAgent) -> Deny | None:
    """Insists once: the second time the user should have a look."""
    if event.stop_hook_active:
        return None
    done = subprocess.run(["sh", "-c", COMMAND], capture_output=True, text=True, check=False, cwd=event.cwd)
    return Deny(f"The tests fail; fix them.\n{done.stdout[-1000:]}") if done.returncode else None


main(check_work)
