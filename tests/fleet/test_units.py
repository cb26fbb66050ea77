"""The units of contrib/, as systemd itself reads them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.apps.cli.main import main

pytestmark = pytest.mark.fleet
CONTRIB = Path(__file__).resolve().parents[2] / "contrib"
UNITS = sorted(file.name for file in CONTRIB.glob("*.service"))
# How much of the machine a unit can do harm to, by systemd's own count, in tenths; 10.0 is everything.
EXPOSED = {"hookline-policy.service": 30, "hookline-worker@.service": 50}
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="no systemd-analyze here: Debian has it in systemd"
)


def copied(unit: str, folder: Path) -> Path:
    """The unit with the command of this installation; a template as one of its instances."""
    command = Path(sys.executable).with_name("hookline")
    text = re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={command}", (CONTRIB / unit).read_text())
    file = folder / unit.replace("@.", "@dlp.")
    file.write_text(text)
    return file


def test_all_units_are_known() -> None:
    assert UNITS == ["hookline-fleet.service", "hookline-policy.service", "hookline-worker@.service"]


@pytest.mark.parametrize("unit", UNITS)
def test_the_command_of_a_unit_exists(unit: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"(?m)^ExecStart=\S*hookline (.+)$", (CONTRIB / unit).read_text())
    assert found is not None
    words = [word for word in found[1].split() if not word.startswith(("-", "%"))]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    assert "usage: hookline" in capsys.readouterr().out


@needs_systemd
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_understands_every_line(unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown key would be ignored, and with it what it should protect."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    manager = ["--user"] if unit == "hookline-fleet.service" else []
    command = ["systemd-analyze", *manager, "verify", "--man=no", str(copied(unit, tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    of_ours = [line for line in done.stderr.splitlines() if "hookline" in line]
    assert (done.returncode, of_ours) == (0, []), done.stderr


@needs_systemd
@pytest.mark.parametrize("unit", EXPOSED)
def test_a_service_of_the_system_is_confined(unit: str, tmp_path: Path) -> None:
    file = copied(unit, tmp_path)
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSED[unit]}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze can't judge a file; 250 and later can")
    assert done.returncode == 0, done.stdout[-200:]
