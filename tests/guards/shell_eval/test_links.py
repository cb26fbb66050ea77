"""Links, copies and other names that a command makes for files and programs before it uses them."""

import pytest

from hookline.guards.command_rules import evaluate_command

PLACE = ("/home/me/project", "/home/me", "/home/me/project")


@pytest.mark.attack("30.B4", "a link or a copy that the same command makes, used in place of the original")
@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("ln -s ~ h; rm -rf h/", "delete-system"),
        ("ln -s / r && cat r/etc/shadow", "secret-files"),
        ("ln -s ~ h; echo x >> h/.bashrc", "change-startup"),
        ("ln -s ~ h; cd h; rm -rf *", "delete-system"),
        ("ln -s /bin/rm ./x; ./x -rf ~", "delete-system"),
        ("cp /bin/rm /tmp/x && /tmp/x -rf ~", "delete-system"),
        ("hash -p /bin/rm ls; ls -rf ~", "delete-system"),
        (";".join(f"ln -s a b{i}" for i in range(16)) + "; ln -s ~ h; rm -rf h/", "delete-system"),
        ("ln -s /etc /usr .; rm -rf etc/x", "delete-system"),
        ("ln -s /etc; rm -rf etc/x", "delete-system"),
        ("ln -st . /etc; rm -rf etc/x", "delete-system"),
        ("ln -s --target=links ~; rm -rf links/me/", "delete-system"),
        ("link ~/.bashrc b; echo x >> b", "change-startup"),
        ("cp /bin/rm bin/; bin/rm -rf ~", "delete-system"),
    ],
)
def test_the_original_is_judged(command: str, rule: str) -> None:
    assert rule in {each.rule for each in evaluate_command("shell", command, *PLACE)}


@pytest.mark.parametrize(
    "command",
    [
        "ln -s ~ h; rm h",
        "ln -sfn releases/v2 current && ls current/ && cat current/app.py",
        "cp -r src/a src/b && rm -rf src/b/x",
        "hash -r",
        "ln -s dist/app app && ./app --version",
    ],
)
def test_removing_a_link_leaves_its_target_alone(command: str) -> None:
    assert evaluate_command("shell", command, *PLACE) == ()
