"""The slash commands of the conversation, and the output of some of them."""

import re
from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from hookline.apps.agent.hook_watch import HookHistory, HookWatch
from hookline.apps.cli.terminal.readiness import HookStates, states_of
from hookline.apps.cli.terminal.screen import EXPAND_KEY, Terminal
from hookline.client.config import Config
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.strings import did_you_mean
from hookline.settings.read.merge import PROGRAM_RANK

COMMANDS: Mapping[str, str] = {
    "/help": "show this",
    "/hooks": "show the configured hooks, and what they did in this session; /hooks disable NAME, enable NAME, "
    "disable-all and enable-all switch them until the session ends",
    "/compress": "let the model summarize the conversation, to make room",
    "/clear": "end this session and start a new one",
    "/quit": "leave (also Ctrl-D)",
}
KEYS: Mapping[str, str] = {
    "Ctrl-C": "cancel what is running; on an empty line, press it twice to leave",
    "Alt-Enter": "start a new line in the message",
    EXPAND_KEY: "show all of the last output that was cut",
}

_SWITCHES = ("enable", "disable", "enable-all", "disable-all")
_USAGE = "/hooks, /hooks enable NAME, /hooks disable NAME, /hooks enable-all or /hooks disable-all"
_COMMAND = re.compile(r"/[A-Za-z]*")


def command_in(line: str) -> str | None:
    """Return the command of a line, or None if the line is for the model, such as a path."""
    words = line.split()
    return words[0].lower() if words and _COMMAND.fullmatch(words[0]) else None


def unknown(command: str) -> str:
    """Return the message about an unknown command."""
    return f"There is no {command}; {did_you_mean(command, COMMANDS, '/help lists the commands.')}"


def show_help(terminal: Terminal) -> None:
    """Print the commands and the keys."""
    table = Table.grid("", "", padding=(0, 2))
    for name, purpose in (*COMMANDS.items(), *KEYS.items()):
        table.add_row(Text(name, style="bold", no_wrap=True), purpose)
    terminal.console.print(table)


async def hook_states(config: Config) -> HookStates | None:
    """Return every configured hook, including disabled ones; None if `enableHooks` is off."""
    system = config.get_hook_system()
    if system is None:
        return None
    await system.initialize()
    return states_of(system.get_all_hooks(), config)


def untrusted(hooks: HookStates) -> int:
    """Return the number of hooks that do not run because they are not trusted."""
    return sum(hook.enabled and state is not None for hook, state in hooks)


def show_hooks(terminal: Terminal, hooks: HookStates | None, watch: HookWatch) -> None:
    """Print each configured hook and its history."""
    if not hooks:
        disabled = 'Hooks are disabled; "enableHooks": true in the settings enables them.'
        terminal.say(disabled if hooks is None else "No hooks are configured; hookline init writes a first one.")
        return
    for hook, state in hooks:
        when = f"{hook.event} {hook.matcher}" if hook.matcher else hook.event.value
        terminal.say_parts((hook.label, "bold"), (f"  {when}", ""), (f"  {hook.source.value}", "dim"))
        status = "; ".join(filter(None, [state, _history(watch.history_of(hook))]))
        terminal.indented([status or "has not run yet"], "yellow" if state else "dim")


async def switch_hooks(config: Config, words: Sequence[str]) -> str:
    """Enable or disable hooks until the session ends, and return a message; `words` follow `/hooks`.

    A session can't disable required hooks and hooks of the system's settings.
    """
    system = config.get_hook_system()
    if system is None:
        return 'Hooks are disabled; "enableHooks": true in the settings enables them.'
    await system.initialize()
    action, name = words[0].lower(), " ".join(words[1:])
    hooks = system.get_all_hooks()
    labels = list(dict.fromkeys(hook.label for hook in hooks))
    if action not in _SWITCHES or bool(name) == action.endswith("-all"):
        return f"Write {_USAGE}."
    if name and name not in labels:
        return f"There is no hook {name!r}; {did_you_mean(name, labels, '/hooks lists them.')}"
    enabled = action.startswith("enable")
    fixed = {} if enabled else {hook.label: why for hook in hooks if (why := _why_fixed(hook)) is not None}
    chosen = [name] if name else labels
    for label in chosen:
        if label not in fixed:
            system.set_hook_enabled(label, enabled=enabled)
    changed = [label for label in chosen if label not in fixed]
    message = (
        [f"{'Enabled' if enabled else 'Disabled'} {', '.join(changed)} until the session ends."] if changed else []
    )
    message += [f"{label} remains enabled: {fixed[label]}." for label in chosen if label in fixed]
    return " ".join(message) or "No hooks are configured; hookline init writes a first one."


def _why_fixed(hook: HookEntry) -> str | None:
    """Return why a session can't disable a hook, or None."""
    if hook.required:
        return "it is required"
    if hook.policy is not None or hook.rank >= PROGRAM_RANK:
        return f"it comes from {hook.origin}"
    return None


def _history(record: HookHistory) -> str:
    if not record.runs:
        return ""
    failed = f", failed {_times(record.failures)}" if record.failures else ""
    last = f"; last: {record.last}" if record.last else ""
    return f"ran {_times(record.runs)}{failed}{last}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
