"""The scope of the answer "always": the later calls that it covers in this session."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hookline.apps.agent.tool import ToolContext
from hookline.apps.agent.tools.paths import is_outside, leaves_project, path_arguments, resolved
from hookline.shell.direct import direct_argv

_ATTACHED = re.compile(r"\A-[A-Za-z]+")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*", re.IGNORECASE)
# Programs whose effect depends on all arguments, not on the first.
_RUNNERS = frozenset(
    """
    sh bash dash zsh ksh fish busybox env sudo doas su nice nohup timeout time xargs find parallel watch flock script
    setsid strace ssh chroot unshare nsenter awk gawk mawk sed perl ruby node nodejs deno bun php lua python pypy
    tclsh osascript npx bunx uvx tar bsdtar gdb vi vim nvim ex ed emacs m4 sqlite duckdb tmux screen
    rm mv cp ln dd tee chmod chown install curl wget nc socat crontab at batch systemd-run
    """.split()
)


# Subcommands after which any word may be a program.
_RUNNING = frozenset(
    (program, word)
    for programs, words in (
        ("git", "bisect config difftool filter-branch hook maintenance mergetool rebase send-email submodule"),
        ("docker podman nerdctl", "run exec compose buildx"),
        ("kubectl oc", "exec run debug"),
        ("ip", "netns vrf"),
        ("npm pnpm yarn bun", "exec dlx x create init"),
        ("uv poetry pdm hatch pipenv rye conda mamba pipx", "run tool"),
        ("go cargo", "run generate install"),
    )
    for program in programs.split()
    for word in words.split()
)
# Options whose value is only a text.
_TEXT_OPTIONS = frozenset(("git", "commit", option) for option in ("-m", "-am", "--message"))


class Scope(NamedTuple):
    """The calls with the same key; `text` describes them to the user."""

    key: tuple[str, ...]
    text: str


def scope_of(tool_name: str, arguments: Mapping[str, Any], context: ToolContext) -> Scope:
    """Return the scope of "always" for this call."""
    if tool_name == "run_shell_command":
        return _scope_of_command(arguments, context)
    if leaves_project(arguments, context):
        paths = [path for path in path_arguments(arguments) if is_outside(path, context)]
        real = (resolved(path, context) or path for path in paths)
        return Scope((tool_name, *real), f"{tool_name} of {', '.join(paths)}")
    if tool_name.startswith("mcp__"):
        return Scope((tool_name,), f"every call of {tool_name}")
    return Scope((tool_name,), f"{tool_name} inside the project")


def _scope_of_command(arguments: Mapping[str, Any], context: ToolContext) -> Scope:
    command, directory = str(arguments["command"]), arguments.get("directory")
    where = resolved(directory or ".", context) or str(directory)
    place = f" in {directory}" if directory else ""
    words = direct_argv(command, context.environ) or ()
    if len(words) > 1 and _is_decided_by_first_word(words) and not _leads_outside(words[1:], context):
        covered = (*words[:2], *_fixed(words))
        return Scope((where, *covered), f"{' '.join(covered)} …{place}")
    return Scope((where, command), f"exactly this command{place}")


def _is_decided_by_first_word(words: tuple[str, ...]) -> bool:
    # `python3.11` is python.
    program = os.path.basename(words[0]).rstrip("0123456789.-")
    return (
        program not in _RUNNERS and (program, words[1]) not in _RUNNING and _SUBCOMMAND.fullmatch(words[1]) is not None
    )


def _fixed(words: tuple[str, ...]) -> Iterator[str]:
    """Yield the words that must be the same each time: options, possible values, settings and remote helpers.

    An option can make a program run another one (`git grep -O`, `tar --to-command`), as can `SHELL=` or `ext::`.
    """
    program, first, *rest = words
    before = ""
    for word in rest:
        is_text = (program, first, before) in _TEXT_OPTIONS
        if not is_text and (word.startswith(("-", "+")) or before.startswith("-") or "=" in word or "::" in word):
            yield word
        before = "" if is_text else word


def _leads_outside(words: tuple[str, ...], context: ToolContext) -> bool:
    """Return True if a word may be, or end with, a path that leads out of the project."""
    # A value may be attached to one option or several: `-olink`, `-xo/etc/x`; and `@/etc/x` means the file.
    parts = (part for word in words for part in (*re.split("[=:,@]", word), *_ATTACHED.split(word), word[2:], word))
    return any(is_outside(part, context) for part in parts if part)
