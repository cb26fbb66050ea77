"""Finds guards that never read their input, and so can't judge it."""

from collections.abc import AsyncIterator, Iterable

from msgspec.structs import replace

from hookline.engine.event_table import can_block
from hookline.inspect.lint.sample_run import make_runner, told_to
from hookline.inspect.lint.samples import runs_for, samples
from hookline.inspect.view import Setup
from hookline.protocol.constants import OWN_DIALECT
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.text.json_text import stringify_json
from hookline.settings.read.files import Problem


async def unread_inputs(setup: Setup, silent: Iterable[HookEntry]) -> AsyncIterator[Problem]:
    """One problem for each of the hooks that leaves all of its stdin in the pipe.

    The hooks are those that had nothing against any sample. A hook that denies whatever it is asked need not read.
    """
    runner = make_runner(setup)
    for hook in silent:
        fields = next((given for subject, given in samples(hook.event, setup) if runs_for(hook, subject)), None)
        if fields is None or not can_block(hook) or not _is_plain(hook):
            continue
        told = told_to(hook, fields, setup)
        # The same shell counts, after the command, the bytes that the command left on stdin.
        counting = replace(hook, run=CommandLine(f"(\n{hook.command}\n) >/dev/null 2>&1; wc -c"))
        (run,) = await runner.execute_hooks_parallel((counting,), told)
        if run.stdout.strip() == str(len(stringify_json(told))):
            text = "never reads its input, so it can't tell one call from another; read the event from stdin"
            yield setup.at(hook, text, "command")


def _is_plain(hook: HookEntry) -> bool:
    """True if its command is a text for the usual shell, in hookline's own format."""
    run = hook.run
    is_plain = isinstance(run, CommandLine) and bool(run.text) and run.args is None and run.shell is None
    return is_plain and hook.worker is None and hook.dialect == OWN_DIALECT and hook.refusal is None
