"""Changes between the start of an interpreter and its event: a run is then as a cold one would be."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.runners.warm.conftest import PYTHONS, Garage
from tests.runners.warm.test_pool import COUNTS, count

from hookline.runners.process.batch import ChildJob, run_children
from hookline.runners.process.command import Invocation
from hookline.runners.warm import slot
from hookline.runners.warm.launch_spec import launch_spec_of

pytestmark = pytest.mark.req("WARM-003")

WHICH = "import decimal\nprint(getattr(decimal, 'WORD', 'std'))\n"


def outputs(garage: Garage, job: ChildJob, times: int) -> list[str]:
    """Return the output of so many runs, the last one of which has to be warm."""
    outcomes = [garage.run(job)[0] for _ in range(times)]
    assert outcomes[-1].way == "warm"
    return [outcome.stdout.decode().strip() for outcome in outcomes]


def point(link: Path, target: str) -> None:
    """Have a symbolic link lead somewhere else."""
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def test_other_arguments_and_directories(garage: Garage) -> None:
    """Each has a separate interpreter."""
    path = garage.script("import os, sys\nprint(sys.argv[1:], os.getcwd())")
    (garage.folder / "other").mkdir()
    for words, folder in (("one", garage.folder), ("one two", garage.folder), ("one", garage.folder / "other")):
        job = garage.job(f"{garage.python} {path} {words}", cwd=folder)
        assert outputs(garage, job, 2) == [f"{words.split()} {folder}"] * 2


def test_the_directory_is_another_one(garage: Garage) -> None:
    """Python makes the script's path absolute when it starts: a link to another release must not run the old one."""
    for name in ("one", "two"):
        garage.script("import os\nprint(__file__, os.getcwd())", f"{name}/hook.py")
    current = garage.folder / "current"
    point(current, "one")
    job = garage.job(f"{garage.python} hook.py", cwd=current)
    assert outputs(garage, job, 2) == [f"{garage.folder}/one/hook.py {garage.folder}/one"] * 2
    point(current, "two")
    assert outputs(garage, job, 4) == [f"{garage.folder}/two/hook.py {garage.folder}/two"] * 4


def test_the_directory_is_gone(garage: Garage) -> None:
    """The message is that of a cold start."""
    folder = garage.folder / "folder"
    folder.mkdir()
    job = garage.job(f"{garage.python} {garage.script('')}", cwd=folder)
    assert garage.ways(job, 2) == ["cold", "warm"]
    folder.rmdir()
    outcomes = [garage.run(job)[0] for _ in range(2)]
    assert {(o.way.value, o.error) for o in outcomes} == {
        ("cold", f"could not be started: its working directory {folder} can't be used: No such file or directory")
    }


def test_the_script_is_a_link_to_another_folder(garage: Garage) -> None:
    """The folder that it leads to is the first one in which modules are looked for."""
    garage.script(WHICH, "one/hook.py")
    garage.script(WHICH, "two/hook.py")
    garage.script("WORD = 'two'", "two/decimal.py")
    point(garage.folder / "hook.py", "one/hook.py")
    job = garage.job(f"{garage.python} hook.py")
    assert outputs(garage, job, 3) == ["std"] * 3
    point(garage.folder / "hook.py", "two/hook.py")
    assert outputs(garage, job, 4) == ["two"] * 4


def test_path_leads_to_another_python(garage: Garage) -> None:
    """For `#!/usr/bin/env python3`: with another PATH, and with a program that appears in a folder of it."""
    for folder in ("first", "second", "third"):
        (garage.folder / folder).mkdir()
    point(garage.folder / "second/python3", os.path.realpath(sys.executable))
    point(garage.folder / "third/python3", os.path.realpath(sys.executable))
    garage.script("#!/usr/bin/env python3\nimport sys\nprint(sys.executable)", mode=0o755)

    def job(*folders: str) -> ChildJob:
        return garage.job("./hook.py", {"PATH": ":".join([*(f"{garage.folder}/{each}" for each in folders), "/bin"])})

    assert outputs(garage, job("second"), 2) == [f"{garage.folder}/second/python3"] * 2
    assert outputs(garage, job("first", "third"), 3) == [f"{garage.folder}/third/python3"] * 3
    point(garage.folder / "first/python3", os.path.realpath(sys.executable))
    assert outputs(garage, job("first", "third"), 3) == [f"{garage.folder}/first/python3"] * 3
    garage.script("#!/usr/bin/env python3\nimport sys\nprint('%d.%d' % sys.version_info[:2])", mode=0o755)
    for version, python in PYTHONS[-2:]:  # the program is another one, and its path is the same
        point(garage.folder / "first/python3", python)
        assert outputs(garage, job("first", "third"), 3) == [version] * 3


def test_a_script_that_may_no_longer_be_executed(tmp_path: Path) -> None:
    """The system refuses to start it, so it is not parked either."""
    garage = Garage(tmp_path)
    path = garage.script(f"#!{sys.executable}\n", mode=0o755)
    invocation = Invocation(b"./hook.py", ("./hook.py",), ())
    assert launch_spec_of(invocation, str(tmp_path)) is not None
    path.chmod(0o644)
    assert launch_spec_of(invocation, str(tmp_path)) is None


def test_a_folder_that_the_script_searches_first(garage: Garage) -> None:
    """A module in such a folder is never loaded before the event, and one that appears there later is found."""
    garage.script("WORD = 'vendor'", "vendor/decimal.py")
    garage.script(f"import sys\nsys.path.insert(0, 'vendor')\nimport colorsys\n{WHICH}print(colorsys.__file__)")
    job = garage.job(f"{garage.python} hook.py")
    found = outputs(garage, job, 4)
    assert (len({*found}), found[0].startswith("vendor\n")) == (1, True)
    later = garage.script("", "vendor/colorsys.py")
    assert outputs(garage, job, 4) == [f"vendor\n{later}"] * 4


def test_a_package_that_can_not_be_loaded_as_a_whole(garage: Garage) -> None:
    """One of the modules that it takes is beside the script: then the script imports each part of it, as always."""
    garage.script("fnmatch = fnmatchcase = None\n", "fnmatch.py")
    garage.script("import unittest\nprint(unittest.case.__name__, unittest.loader.fnmatch)")
    assert outputs(garage, garage.job(f"{garage.python} hook.py"), 4) == ["unittest.case None"] * 4


def test_archives(garage: Garage) -> None:
    """A script that is an archive, and one in PYTHONPATH: what they have hides the standard library, also later."""

    def write(name: str, *, hides: bool) -> str:
        with zipfile.ZipFile(garage.folder / name, "w") as archive:
            archive.writestr("__main__.py", WHICH)
            if hides:
                archive.writestr("decimal.py", f"WORD = {name!r}")
        return f"{garage.folder}/{name}"

    write("app.zip", hides=True)
    job = garage.job(f"{garage.python} app.zip")
    assert outputs(garage, job, 4) == ["app.zip"] * 4
    write("app.zip", hides=False)
    assert outputs(garage, job, 4) == ["std"] * 4
    write("app.zip", hides=True)
    assert outputs(garage, job, 3) == ["app.zip"] * 3
    garage.script(WHICH)
    job = garage.job(f"{garage.python} hook.py", {"PYTHONPATH": write("lib.zip", hides=False)})
    assert outputs(garage, job, 3) == ["std"] * 3
    write("lib.zip", hides=True)
    assert outputs(garage, job, 3) == ["lib.zip"] * 3


def test_files_that_site_reads(garage: Garage) -> None:
    """A module that a .pth file imports, and a user's folder of packages that did not exist."""
    env = garage.folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(env)], check=True)
    (packages,) = env.glob("lib/python*/site-packages")
    module = garage.script("WORD = 'one'", "lib/finder.py")
    (packages / "more.pth").write_text(f"{module.parent}\nimport finder\n")
    garage.script("import finder, sys\nprint(finder.WORD, getattr(sys, 'user', None))")
    job = garage.job("env/bin/python hook.py")
    assert outputs(garage, job, 2) == ["one None"] * 2
    module.write_text("WORD = 'other'")
    assert outputs(garage, job, 3) == ["other None"] * 3
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    garage.script("import sys; sys.user = 1\n", f".local/lib/{version}/site-packages/user.pth")
    assert outputs(garage, job, 3) == ["other 1"] * 3


def test_another_sitecustomize_comes_first(garage: Garage) -> None:
    """After the interpreter was tried: it would run the script when it is parked, so it is tried again."""
    env = garage.folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    garage.script(COUNTS)
    job = garage.job("env/bin/python hook.py")
    assert garage.ways(job, 2) == ["cold", "warm"]
    (packages,) = env.glob("lib/python*/site-packages")
    garage.script("", "first/sitecustomize.py")
    (packages / "first.pth").write_text(f"import sys; sys.path.insert(0, '{garage.folder}/first')\n")
    assert garage.ways(job, 4) == ["cold"] * 4
    assert count(garage) == 6


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
def test_a_program_that_chooses_an_interpreter(garage: Garage) -> None:
    """Such as the shims of some version managers: what it looks at is not known, so its scripts run cold."""
    source = garage.script(f"""
        #include <unistd.h>
        int main(int count, char **words) {{ return execv("{os.path.realpath(sys.executable)}", words); }}
    """, "python3.c")  # fmt: skip
    subprocess.run(["cc", "-o", str(garage.folder / "python3"), str(source)], check=True)
    garage.script(COUNTS)
    assert garage.ways(garage.job("./python3 hook.py"), 3) == ["cold"] * 3
    assert (count(garage), garage.pool.pids) == (3, ())


def test_a_file_of_the_library_is_edited(garage: Garage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second later at the latest, runs have the new one."""
    monkeypatch.setattr(slot, "_LIBRARY_S", 0.0)
    python = own_installation(garage.folder / "python")
    garage.script("import json, encodings\nprint([getattr(each, 'WORD', 'old') for each in (json.decoder, encodings)])")
    job = garage.job(f"{python} hook.py")
    assert outputs(garage, job, 4) == ["['old', 'old']"] * 4
    (library,) = garage.folder.glob("python/lib/python*")
    for module, words in (("json/decoder", "['new', 'old']"), ("encodings/__init__", "['new', 'new']")):
        with (library / f"{module}.py").open("a") as file:
            file.write("\nWORD = 'new'\n")
        assert outputs(garage, job, 4) == [words] * 4


def own_installation(folder: Path) -> Path:
    """A Python whose library has other files for some packages, and links for everything else."""
    base = Path(os.__file__).parent
    library = folder / "lib" / base.name
    library.mkdir(parents=True)
    for path in base.iterdir():
        if path.name in {"json", "encodings"}:
            shutil.copytree(path, library / path.name)
        elif path.name not in {"site-packages", "__pycache__"}:
            (library / path.name).symlink_to(path)
    (library / "site-packages").mkdir()
    (folder / "bin").mkdir()
    return Path(shutil.copy2(os.path.realpath(sys.executable), folder / "bin/python3"))


ORDER = """
import os, subprocess
print(*os.environ)
print(*subprocess.run(['env'], capture_output=True, text=True).stdout.split())
# Python may set this one itself when it starts, and then it is not in this file.
names = [each.partition('=')[0] for each in open('/proc/self/environ').read().split(chr(0))]
print(*[name for name in names if name != 'LC_CTYPE'])
"""


@pytest.mark.parametrize(
    "names", ["X Z", "X Y Z", "Y X Z", "Z X", "X Z Y", "Z Y", ""], ids=lambda names: names or "none"
)
def test_the_order_of_variables(garage: Garage, names: str) -> None:
    """It is that of a cold start, however the variables were ordered when the interpreter was parked."""
    garage.script(ORDER)
    command = f"{garage.python} hook.py"
    assert garage.ways(garage.job(command, {"X": "1", "Z": "1"}), 2) == ["cold", "warm"]
    job = garage.job(command, dict.fromkeys(names.split(), "2"))
    outcomes = [garage.run(job)[0], asyncio.run(run_children([job]))[0]]
    assert [outcome.way for outcome in outcomes] == ["warm", "cold"]
    warm, cold = [re.sub("HOOKLINE_RUN=\\S+", "", outcome.stdout.decode()).split() for outcome in outcomes]
    assert warm == cold


# A script may do all of this before it ends, and hear nothing of what is reported then.
DEAF = """
import decimal, os, resource, signal, sys
def never(*_): raise SystemError
for name in ("open", "write", "close", "getpid", "fsencode"): setattr(os, name, never)
sys.modules[1] = sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
sys.addaudithook(lambda name, arguments: never() if name == "open" else None)
"""


@pytest.mark.parametrize("python", [sys.executable, *(path for _, path in PYTHONS[-1:])])
def test_the_report_of_a_run_is_not_noticed(tmp_path: Path, python: str) -> None:
    """The report does not depend on functions that a script can replace."""
    garage = Garage(tmp_path, python=python)
    garage.script(DEAF)
    outcomes = [garage.run(garage.job(f"{python} hook.py"))[0] for _ in range(7)]
    garage.pool.close()
    assert {(o.exit_code, o.signal, o.stdout, o.stderr) for o in outcomes} == {(0, None, b"", b"")}
    assert outcomes[-1].way == "warm"
