"""BeforeTool: puts the licence's line on top of Python files."""

from hookline.hook import BeforeTool, Rewrite, main

LINE = "# SPDX-License-Identifier: Apache-2.0\n"


def add_licence(event: BeforeTool) -> Rewrite | None:
    """Leaves files alone that have a licence."""
    content = str(event.tool_input.get("content", ""))
    is_python = str(event.tool_input.get("file_path")).endswith(".py")
    return Rewrite(tool_input={"content": LINE + content}) if is_python and "SPDX-" not in content else None


main(add_licence)
