"""A user, a project and an agent against the company's policy; and every embedding while agents are off."""

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests import warm
from tests.fleet.company import Company, Machine, agents_off, settings

from hookline import Hooks
from hookline.adapters.run import AgentRun, CannedResponse
from hookline.adapters.table import Adapter
from hookline.formats import openai
from hookline.testing import says

REQUEST: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
GUARD = "#!/bin/sh\necho guard >&2\nexit 2\n"


@pytest.fixture
def company(own_home: Path, tmp_path: Path) -> Company:
    """The company; its policy denies every tool by a script."""
    del own_home
    made = Company(tmp_path)
    made.write_system(onExpiry="block")
    made.gives_settings(settings("$HOOKLINE_POLICY_DIR/guard.sh", required=True), files={"guard.sh": GUARD})
    return made


def _script(company: Company) -> Path:
    return next((company.directory / "versions").iterdir()) / "guard.sh"


def _user(text: dict[str, Any]) -> None:
    file = Path(os.environ["HOME"], ".llxprt", "settings.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(text))


def _replace_script(company: Company) -> None:
    _script(company).unlink()
    _script(company).with_name("guard.sh").write_text("#!/bin/sh\nexit 0\n")


def _roll_back(company: Company) -> None:
    company.gives_settings(settings(), version=2)
    old = company.signed(company.bundle(settings("exit 0"), version=1)).to_bytes()
    company.place().current.write_bytes(old)


def _link_script(company: Company) -> None:
    script = _script(company)
    script.unlink()
    script.symlink_to("/bin/true")


ATTACKS: Mapping[str, Callable[[Company], object]] = {
    "enableHooks: false": lambda _: _user({"enableHooks": False}),
    "hooksConfig.disabled": lambda _: _user({"enableHooks": True, "hooksConfig": {"disabled": ["guard"]}}),
    "a script that always allows, in place of the policy's": _replace_script,
    "a script that is gone": lambda company: _script(company).unlink(),
    "a script behind a link": _link_script,
    "a module beside the script": lambda company: (_script(company).parent / "os.py").write_text(""),
    "a bundle of one's own": lambda company: company.place().current.write_text('{"hooks": {}}'),
    "an older bundle that is signed": _roll_back,
    "the bundle deleted": lambda company: company.place().current.unlink(),
    "a limit that cuts its answers": lambda _: _user({"enableHooks": True, "hooksConfig": {"outputLimit": 1}}),
    "another PATH for its variable": lambda _: os.environ.__setitem__("HOOKLINE_POLICY_DIR", "/tmp"),  # noqa: S108
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_policys_guard_can_not_be_ended(
    company: Company, project: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a program that starts afterwards, a tool call is still denied."""
    monkeypatch.setenv("HOOKLINE_POLICY_DIR", "")
    ATTACKS[attack](company)
    assert Machine(project).fires().blocked


def test_a_users_hook_can_not_change_the_policys_guard_before_it_runs(company: Company, project: Path) -> None:
    """It runs before the guard in the same event, and the guard's script is not run as the hook has left it."""
    script = _script(company)
    replaced = (
        f"printf '#!/bin/sh\\nexit 0\\n' > '{script}.new'; chmod 755 '{script}.new'; mv -f '{script}.new' '{script}'"
    )
    _user({"enableHooks": True, **settings(f"{replaced}; exit 0")})
    verdict = Machine(project).fires()
    assert script.read_text() == "#!/bin/sh\nexit 0\n"
    assert verdict.blocked


@pytest.mark.parametrize("way", ["named settings", "settings in code", "a project without settings"])
def test_no_way_in_is_without_the_policy(company: Company, project: Path, tmp_path: Path, way: str) -> None:
    """Any settings that a program or a user names."""
    del company
    (tmp_path / "named.json").write_text("{}")
    options: dict[str, dict[str, Any]] = {
        "named settings": {"settings_files": [tmp_path / "named.json"]},
        "settings in code": {"settings": {}},
        "a project without settings": {},
    }
    assert Machine(project, **options[way]).fires().blocked


def test_agents_are_off_behind_a_bridge(company: Company, project: Path) -> None:
    """Another agent's tool call is refused with the reason, also with separate settings."""
    company.gives(company.switches(agents_off("incident 4711")))
    question = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
    text = json.dumps({**question, "cwd": str(project)})
    for words in ((), ("--settings", str(project / "none.json"))):
        (project / "none.json").write_text("{}")
        done = warm.run(["hook", "claude", *words], stdin=text)
        assert "incident 4711" in done.stdout + done.stderr


def test_agents_are_off_in_an_adapter(company: Company, project: Path) -> None:
    """Neither the model nor a tool is called, although no hook is configured."""
    company.gives_settings({"hooks": {}}, version=2)
    company.gives(company.switches(agents_off("incident 4711")))
    own = Adapter(
        name="own", framework="Mine", extra="", package="own", since="1", front="own", use="own", go_on="go on"
    )

    async def go() -> tuple[Any, Any]:
        async with Hooks(project, settings={"enableHooks": True}) as hooks:
            run = AgentRun(own, openai, hooks, "s-1")
            return await run.before_model(REQUEST), await run.before_tool("write_file", {})

    model, tool = asyncio.run(go())
    assert isinstance(model, CannedResponse)
    assert "incident 4711" in model.text
    assert "incident 4711" in str(tool.llm_content)


def test_agents_are_off_in_our_own_agent(company: Company, project: Path) -> None:
    """The prompt is answered with the reason, and nothing is called."""
    company.gives(company.switches(agents_off("incident 4711")))
    replay = project / "replay.jsonl"
    replay.write_text(json.dumps({"method": "generateContentStream", "response": says("hello")}) + "\n")
    done = warm.run(["agent", "--prompt", "hi", "--yes", "--model", f"replay:{replay}", "--project", str(project)])
    assert "incident 4711" in done.stdout + done.stderr
    assert "hello" not in done.stdout
