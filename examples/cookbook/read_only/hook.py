"""BeforeToolSelection: offers tools that read, if READ_ONLY is set."""

import os

from hookline.hook import BeforeToolSelection, Restrict, main


def restrict(_event: BeforeToolSelection) -> Restrict | None:
    """Leaves the choice among them to the model."""
    if os.environ.get("READ_ONLY") != "1":
        return None
    return Restrict(["read_file", "list_directory", "glob", "search_file_content"], mode="AUTO")


main(restrict)
