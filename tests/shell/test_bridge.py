import pytest

from hookline.shell.bridge import BridgeUse, bridge_use


@pytest.mark.parametrize(
    "command",
    [
        "hookline hook claude",
        "hookline hook claude PreToolUse --deadline 50",
        "/home/me/.venv/bin/hookline hook codex Stop",
        "'/home/my self/bin/hookline' bridge claude",
        "/usr/bin/python3 -I -S /venv/lib/python3.11/site-packages/hookline/bridge/client.py claude PreToolUse",
        "python3 -m hookline hook gemini BeforeTool",
        "HOOKLINE_SERVE=0 hookline hook claude 2>/dev/null",
        "env A=1 nice hookline hook claude",
        "exec uvx hookline hook claude",
        "cd / && hookline hook claude || true",
        "sh -c 'hookline hook claude'",
        'bash -c "exec hookline hook claude"',
        '"$HOME/bin/hookline" bridge claude',
    ],
)
def test_the_bridge_is_recognized(command: str) -> None:
    """However it is called."""
    assert bridge_use(command) is BridgeUse.ALONE


@pytest.mark.parametrize(
    "command",
    [
        "guard.sh && hookline hook claude",
        "hookline hook claude; ./notify.sh",
        "tee input.json | hookline hook claude",
        "sh -c 'guard.sh; hookline hook claude'",
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
