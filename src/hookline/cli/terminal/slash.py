"""The commands of the interactive mode: their names, and the output of some of them."""

import difflib
import re
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hookline.cli.terminal.hook_tally import HookLine, HookRecord
from hookline.contract.text import visible

COMMANDS: Mapping[str, str] = {
    "/help": "show this",
    "/hooks": "show the configured hooks, and what they did in this session",
    "/compress": "let the model summarize the conversation, to make room",
    "/clear": "end this session and start a new one",
    "/quit": "leave (also Ctrl-D)",
}
KEYS: Mapping[str, str] = {
    "Ctrl-C": "cancel what is running; on an empty line, press it twice to leave",
    "Alt-Enter": "start a new line in the message",
}

_COMMAND = re.compile(r"/[A-Za-z]*")


def command_in(line: str) -> str | None:
    """The command in a line, or None when the line is for the model (a path, for instance)."""
    words = line.split()
    return words[0].lower() if words and _COMMAND.fullmatch(words[0]) else None


def unknown(command: str) -> str:
    """The message about an unknown command."""
    likely = difflib.get_close_matches(command, COMMANDS, n=1)
    advice = f"did you mean {likely[0]}?" if likely else "/help lists the commands."
    return f"There is no {command}; {advice}"


def show_help(console: Console) -> None:
    """Prints the commands and the keys."""
    table = Table.grid("", "", padding=(0, 2))
    for name, purpose in (*COMMANDS.items(), *KEYS.items()):
        table.add_row(Text(name, style="bold", no_wrap=True), purpose)
    console.print(table)


def show_hooks(console: Console, lines: Sequence[HookLine] | None) -> None:
    """Prints each configured hook and, below it, what it did."""
    if lines is None:
        console.print('Hooks are disabled; "enableHooks": true in the settings enables them.')
        return
    if not lines:
        console.print("No hooks are configured; hookline init writes a first one.")
        return
    for line in lines:
        when = f"{line.event} {line.matcher}" if line.matcher else line.event
        head = Text.assemble((visible(line.name), "bold"), f"  {visible(when)}", (f"  {line.source}", "dim"))
        console.print(head)
        style = "yellow" if line.state else "dim"
        state = "; ".join(filter(None, [visible(line.state), _history(line.record)]))
        console.print(Padding(Text(state or "has not run yet", style=style), (0, 0, 0, 2), expand=False))


def _history(record: HookRecord) -> str:
    if not record.runs:
        return ""
    times = "once" if record.runs == 1 else f"{record.runs} times"
    failed = f", failed {'once' if record.failures == 1 else f'{record.failures} times'}" if record.failures else ""
    last = f"; last: {visible(record.last)}" if record.last else ""
    return f"ran {times}{failed}{last}"
