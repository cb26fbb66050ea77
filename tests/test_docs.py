"""What the documentation shows of trusting, listing, explaining, switching and the log is what these commands print."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
BIN = Path(sys.executable).parent


def example(name: str) -> tuple[str, str]:
    """The command of an example, and what it is said to print."""
    found = re.search(rf"<!-- example: {name} -->\n```console\n\$ (.*?)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found, name
    return found[1], found[2]


def run(command: str, site: Path) -> str:
    """What a command prints in the project."""
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        env={**environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    return done.stdout


def neutral(text: str, site: Path) -> str:
    """The text without what differs between any two runs: paths, times, ids, and what is measured."""
    text = text.replace(str(site.parent), "~")
    # Where a run falls in the histogram is a matter of luck.
    text = re.sub(r"^ +<.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "…", text)
    text = re.sub(r"\d\d-\d\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+Z", "…", text)
    text = re.sub(r"[0-9a-f]{10}", "…", text)
    text = re.sub(r"(?<!timeout )[\d.]+ (ms|s|min)( ago)?\b|\bnow\b", "…", text)
    return re.sub(r"[ ]+", " ", text).strip()


def test_the_workbench_prints_what_is_shown(own_home: Path) -> None:
    """From a new project to a trusted, listed, explained, logged and measured guard."""
    site = own_home / "site"
    site.mkdir()
    tries = re.findall(r"hookline fire .*", run("hookline init", site))

    def check(name: str, **changes: str) -> None:
        command, output = example(name)
        for shown, real in changes.items():
            command, output = command.replace(shown, real), output.replace(shown, real)
        assert neutral(run(command, site), site) == neutral(output, site)

    check("trust")
    for command in tries:
        run(command, site)
    check("list")
    check("explain")
    check("log")
    run_id = json.loads(run("hookline log --decision deny --json", site))["id"]
    check("show", **{"25d6b4ee53-0": run_id})
    check("stats")
    check("disable")
    check("explain-disabled")
    check("enable")
    check("fire")
    check("untrust")
    check("schema")
    check("completion")
