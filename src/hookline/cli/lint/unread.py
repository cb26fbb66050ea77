"""Finds guards that never read what they are told, and so can't judge it."""

from collections.abc import AsyncIterator, Iterable

from msgspec.structs import replace

from hookline.cli.lint.samples import runs_for, samples
from hookline.cli.lint.setup import Setup
from hookline.cli.lint.trial import make_runner, told_to
from hookline.contract.hooks import HookEntry
from hookline.contract.vocabulary import OWN_DIALECT, HookType
from hookline.contract.wire import stringify_json
from hookline.engine.event_table import can_block
from hookline.settings.read import Problem


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
        # What the command leaves of stdin is counted behind it, in the same shell.
        counting = replace(hook, command=f"(\n{hook.command}\n) >/dev/null 2>&1; wc -c")
        (run,) = await runner.execute_hooks_parallel((counting,), told)
        if run.stdout.strip() == str(len(stringify_json(told))):
            text = "never reads its input, so it can't tell one call from another; read the event from stdin"
            yield setup.at(hook, text, "command")


def _is_plain(hook: HookEntry) -> bool:
    """Whether its command is a text for the usual shell, in our words."""
    is_ours = hook.dialect == OWN_DIALECT and hook.worker is None
    is_command = hook.type is HookType.COMMAND and hook.command is not None and is_ours
    return is_command and hook.args is None and hook.shell is None and hook.refusal is None
