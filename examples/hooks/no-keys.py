#!/usr/bin/env python3
"""BeforeTool: refuses calls that contain a private key or an access key. Needs the package hookline."""

import re

from hookline.hook import BeforeTool, deny, main

KEY = re.compile(r"sk-[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{16}|-----BEGIN [A-Z ]*PRIVATE KEY-----")


def no_keys(event: BeforeTool) -> None:
    """Denies a call if there is a key in one of its arguments."""
    for name, value in event.tool_input.items():
        if KEY.search(str(value)):
            deny(f"{name} contains a key; put a placeholder there and tell the user where the key belongs.")


if __name__ == "__main__":
    main(no_keys)
