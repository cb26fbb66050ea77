"""Takes a picture of a conversation with `hookline agent`: `tools/agent_screenshot.py 80 docs/images/agent.png`.

The agent runs in tmux, with answers from a file and a guard, and Chromium draws what tmux shows. Needs both.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

_ROWS = 40
_PARAGRAPH = """This project has **three parts**:

1. `src/shop` takes orders,
2. `src/stock` counts what is left,
3. `tests` has their tests, and *all of them* pass.

```python
def order(article: str, count: int = 1) -> Receipt:
    return stock.take(article, count)
```

I could not write the key into `.env`: a guard keeps me away from files with secrets, so please put it there yourself.
"""
_ANSWERS = [
    [{"functionCall": {"name": "list_directory", "args": {"path": "{{CWD}}"}}}],
    [{"functionCall": {"name": "run_shell_command", "args": {"command": "seq 1 40"}}}],
    [{"functionCall": {"name": "write_file", "args": {"file_path": "{{CWD}}/.env", "content": "KEY=1"}}}],
    [{"text": _PARAGRAPH}],
]


def main() -> None:
    """Takes the picture."""
    columns, target = int(sys.argv[1]), Path(sys.argv[2]).absolute()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        screen = _talk(Path(folder), columns)
        page = Path(folder, "page.html")
        page.write_text(_page(screen, columns), encoding="utf-8")
        _draw(page, target, columns, screen.count("\n") + 1)


def _talk(folder: Path, columns: int) -> str:
    home, project = folder / "home", folder / "home" / "shop"
    for place in ("src", "tests"):
        (project / place).mkdir(parents=True)
    environ = {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LANG": "C.UTF-8"}
    _hookline("init", "--project", str(project), cwd=project, environ=environ)
    _hookline("trust", "--all", "--yes", cwd=project, environ=environ)
    lines = [{"method": "generateContentStream", "response": [_chunk(parts)]} for parts in _ANSWERS]
    (home / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    tmux = _Tmux(folder / "socket", columns, {**environ, "TERM": "screen-256color"}, project)
    try:
        tmux.wait_for(r"\$ *$")
        tmux.run("hookline agent --model replay:../answers.jsonl")
        tmux.wait_for("/help shows")
        tmux.type("What is this project, and can you keep the key in .env?")
        tmux.wait_for(r"to run seq 1 40\? ")
        tmux.type("y")
        tmux.wait_for(r"to write .*\.env\? ")
        tmux.type("y")
        tmux.wait_for("there yourself")
        tmux.wait_for(r"\n> *$")
        return tmux.shown(colours=True)
    finally:
        tmux.close()


def _chunk(parts: object) -> object:
    return {"candidates": [{"content": {"role": "model", "parts": parts}}]}


def _hookline(*words: str, cwd: Path, environ: dict[str, str]) -> None:
    command = [sys.executable, "-m", "hookline", *words]
    subprocess.run(command, cwd=cwd, env=environ, check=True, capture_output=True)  # noqa: S603 - our own


class _Tmux:
    """One pane of a separate server."""

    def __init__(self, socket: Path, columns: int, environ: dict[str, str], cwd: Path) -> None:
        self._start = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        shell = ["env", "-i", *(f"{name}={value}" for name, value in environ.items()), "PS1=$ ", "bash", "--norc"]
        self._call("new-session", "-d", "-x", str(columns), "-y", str(_ROWS), "-c", str(cwd), *shell)

    def run(self, command: str) -> None:
        """A command, without the shell's own line above it."""
        self.type(f"clear; {command}")
        self.wait_for("hookline \\d")
        self._call("clear-history")

    def type(self, line: str) -> None:
        """A line, and Enter."""
        self._call("send-keys", "-l", line)
        self._call("send-keys", "Enter")

    def wait_for(self, pattern: str) -> None:
        """Until the screen shows it."""
        for _ in range(600):
            if re.search(pattern, self.shown().rstrip("\n")):
                return
            time.sleep(0.1)
        raise SystemExit(f"{pattern} never came:\n{self.shown()}")

    def shown(self, *, colours: bool = False) -> str:
        """Return the text on the screen and above it."""
        return self._call("capture-pane", "-p", "-S", "-200", *(["-e"] if colours else [])).rstrip("\n")

    def close(self) -> None:
        """Ends the server."""
        self._call("kill-server")

    def _call(self, *words: str) -> str:
        done = subprocess.run([*self._start, *words], check=True, capture_output=True, text=True)  # noqa: S603 - our own
        return done.stdout


def _page(screen: str, columns: int) -> str:
    console = Console(record=True, width=columns + 1, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115, PTH123
    console.print(Text.from_ansi(screen), soft_wrap=True)
    body = console.export_html(theme=MONOKAI, inline_styles=True, code_format="<pre>{code}</pre>")
    font = "pre{font:14px/19px 'DejaVu Sans Mono',monospace;margin:0}"
    style = f"body{{margin:16px;background:#0c0c0c;color:#d9d9d9}} {font}"
    return f"<!doctype html><meta charset=utf-8><style>{style}</style>{body}"


def _draw(page: Path, target: Path, columns: int, rows: int) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("Chromium is not installed")
    size = f"{round(columns * 8.43) + 34},{rows * 19 + 34}"
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}", f"--screenshot={target}"]
    subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True, timeout=60)  # noqa: S603


if __name__ == "__main__":
    main()
