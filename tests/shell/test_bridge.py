import pytest

from hookline.shell.bridge import BridgeUse, bridge_use


@pytest.mark.parametrize(
    "command",
    [
        "hookline bridge claude",
        "hookline bridge claude PreToolUse --deadline 50",
        "/home/me/.venv/bin/hookline bridge codex Stop",
        "'/home/my self/bin/hookline' bridge claude",
        "/usr/bin/python3 -I -S /venv/lib/python3.11/site-packages/hookline/bridge/client.py claude PreToolUse",
        "python3 -m hookline bridge gemini BeforeTool",
        "HOOKLINE_SERVE=0 hookline bridge claude 2>/dev/null",
        "env A=1 nice hookline bridge claude",
        "exec uvx hookline bridge claude",
        "cd / && hookline bridge claude || true",
        "sh -c 'hookline bridge claude'",
        'bash -c "exec hookline bridge claude"',
        '"$HOME/bin/hookline" bridge claude',
    ],
)
def test_the_bridge_is_recognized(command: str) -> None:
    """However it is called."""
    assert bridge_use(command) is BridgeUse.ALONE


@pytest.mark.parametrize(
    "command",
    [
        "guard.sh && hookline bridge claude",
        "hookline bridge claude; ./notify.sh",
        "tee input.json | hookline bridge claude",
        "sh -c 'guard.sh; hookline bridge claude'",
    ],
)
def test_other_commands_beside_it_are_seen(command: str) -> None:
    """They may be guards."""
    assert bridge_use(command) is BridgeUse.AMONG_OTHERS


@pytest.mark.parametrize(
    "command",
    [
        "",
        "guard.sh",
        "hookline check",
        "echo hookline-bridge",
        "cat >hookline bridge",
        "./bridge/client.py",
        "hookline",
    ],
)
def test_other_commands_are_not_taken_for_it(command: str) -> None:
    """Or a guard would not run."""
    assert bridge_use(command) is BridgeUse.NO
