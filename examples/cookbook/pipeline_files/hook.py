"""BeforeTool: asks the user before files change that CI runs."""

import re

from hookline.hook import BeforeTool, ask, main

RUN_BY_CI = re.compile(r"(^|/)(\.github/workflows/|\.gitlab-ci\.yml$|Dockerfile$|Jenkinsfile$)")


def guard(event: BeforeTool) -> None:
    """Asks, and says why."""
    path = str(event.tool_input.get("file_path"))
    if RUN_BY_CI.search(path):
        ask(f"{path} is run by CI, with its secrets.")


main(guard)
