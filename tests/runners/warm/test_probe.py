"""Before anything is parked, the same start is tried: whatever a start depends on, no script runs without an event."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.runners.warm.conftest import PYTHONS, Garage

import hookline

pytestmark = pytest.mark.req("WARM-001")

COUNTS = "import os\nopen(__file__ + '.runs', 'a').write('x')\n"
# In these, Python imports `site` and the like from files that PYTHONPATH may hide.
OLD_PYTHONS = [path for version, path in PYTHONS if version in {"3.8", "3.9", "3.10"}]


def runs(script: Path) -> int:
    """How often a script has run."""
    path = script.with_name(f"{script.name}.runs")
    return len(path.read_text()) if path.exists() else 0


def environment(garage: Garage) -> tuple[str, Path]:
    """The interpreter of a new virtual environment, and its folder of packages."""
    env = garage.folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    (packages,) = env.glob("lib/python*/site-packages")
    return f"{env}/bin/python", packages


@pytest.mark.parametrize(
    ("condition", "variables", "folder", "arguments"),
    [
        pytest.param("os.environ.get('DEV')", {"DEV": "1"}, "", "", id="variable"),
        pytest.param("os.getcwd().endswith('sub')", {}, "sub", "", id="directory"),
        pytest.param("'--dev' in sys.argv", {}, "", " --dev", id="argument"),
    ],
)
def test_a_start_that_depends_on_something(
    garage: Garage, condition: str, variables: dict[str, str], folder: str, arguments: str
) -> None:
    """A .pth file may put another sitecustomize in front for one script, and not for the one that was tried before."""
    python, packages = environment(garage)
    (garage.folder / "sub").mkdir()
    garage.script("", "first/sitecustomize.py")
    path = f"import os, sys; ({condition}) and sys.path.insert(0, '{garage.folder}/first')\n"
    (packages / "dev.pth").write_text(path)
    one, other = garage.script(COUNTS, "one.py"), garage.script(COUNTS, "other.py")
    assert garage.ways(garage.job(f"{python} {one}"), 3) == ["cold", "warm", "warm"]
    job = garage.job(f"{python} {other}{arguments}", variables, cwd=garage.folder / folder)
    assert garage.ways(job, 3) == ["cold"] * 3
    assert (runs(one), runs(other)) == (3, 3)


@pytest.mark.parametrize("python", OLD_PYTHONS[-1:])
def test_a_site_of_ones_own(tmp_path: Path, python: str) -> None:
    """It appears in PYTHONPATH, and imports no sitecustomize."""
    garage = Garage(tmp_path, python=python)
    (tmp_path / "lib").mkdir()
    one, other = garage.script(COUNTS, "one.py"), garage.script(COUNTS, "other.py")
    jobs = [garage.job(f"{python} {path}", {"PYTHONPATH": f"{tmp_path}/lib"}) for path in (one, other)]
    assert garage.ways(jobs[0], 2) == ["cold", "warm"]
    garage.script("", "lib/site.py")
    assert garage.ways(jobs[0], 3) == ["cold"] * 3
    assert garage.ways(jobs[1], 3) == ["cold"] * 3
    assert (runs(one), runs(other)) == (5, 3)
    garage.pool.close()


@pytest.mark.req("WARM-003")
@pytest.mark.parametrize("python", OLD_PYTHONS[-1:])
def test_a_module_that_python_imports_when_it_starts(tmp_path: Path, python: str) -> None:
    """One that appears in PYTHONPATH hides that of the library, and runs get it from then on, until it is removed."""
    garage = Garage(tmp_path, python=python)
    garage.script("import stat\nprint(getattr(stat, 'WORD', 'std'))")
    (tmp_path / "lib").mkdir()
    job = garage.job(f"{python} hook.py", {"PYTHONPATH": f"{tmp_path}/lib"})
    assert [garage.run(job)[0].stdout for _ in range(3)] == [b"std\n"] * 3
    library = subprocess.run([python, "-c", "import stat; print(stat.__file__)"], capture_output=True, check=True)
    own = garage.script(f"{Path(library.stdout.decode().strip()).read_text()}\nWORD = 'own'\n", "lib/stat.py")
    outcomes = [garage.run(job)[0] for _ in range(4)]
    assert [(o.way.value, o.stdout) for o in outcomes] == [
        *[("cold", b"own\n")] * 2,
        *[("warm", b"own\n")] * 2,
    ]
    own.unlink()
    assert [garage.run(job)[0].stdout for _ in range(4)] == [b"std\n"] * 4
    garage.pool.close()


def test_a_module_in_pythonpath_that_a_pth_file_imports(garage: Garage) -> None:
    """It was there when the interpreter was started, so the run is warm."""
    python, packages = environment(garage)
    (packages / "early.pth").write_text("import early\n")
    garage.script("", "lib/early.py")
    garage.script(COUNTS)
    job = garage.job(f"{python} hook.py", {"PYTHONPATH": f"{garage.folder}/lib"})
    assert garage.ways(job, 4) == ["cold", "warm", "warm", "warm"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="this Python reads no such file")
def test_a_list_of_folders_beside_the_interpreter(garage: Garage) -> None:
    """With a file `python._pth`, Python ignores its environment; it is noticed when that appears."""
    python, _ = environment(garage)
    one, other = garage.script(COUNTS, "one.py"), garage.script(COUNTS, "other.py")
    assert garage.ways(garage.job(f"{python} {one}"), 2) == ["cold", "warm"]
    garage.script(f"{Path(shutil.__file__).parent}\n", "env/bin/python._pth")
    assert garage.ways(garage.job(f"{python} {one}"), 3) == ["cold"] * 3
    assert garage.ways(garage.job(f"{python} {other}"), 3) == ["cold"] * 3
    assert (runs(one), runs(other)) == (5, 3)


@pytest.mark.timeout(60)
def test_hookline_is_removed_while_an_interpreter_starts(garage: Garage) -> None:
    """Without hookline's modules Python would run the script, so they are in memory and are those of this program."""
    python, packages = environment(garage)
    copy = garage.folder / "copy"
    shutil.copytree(Path(hookline.__file__).parent, copy / "hookline", ignore=shutil.ignore_patterns("__pycache__"))
    # The first start is cold, the second one is the trial, and the third one is to be parked.
    garage.script(
        f"""
        import os, shutil
        fd = os.open({str(garage.folder / "starts")!r}, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        os.write(fd, b"x")
        if os.fstat(fd).st_size == 3:
            shutil.rmtree({str(copy / "hookline/runners/warm")!r})
        os.close(fd)
        """.replace("\n        ", "\n"),
        "env/early.py",
    )
    (packages / "early.pth").write_text(f"{garage.folder}/env\nimport early\n")
    script = garage.script(COUNTS)
    program = textwrap.dedent(f"""
        from pathlib import Path
        from tests.runners.warm.conftest import Garage
        garage = Garage(Path({str(garage.folder)!r}))
        for command, times in (({f"{python} {script}"!r}, 3), ({f"{python} {script} again"!r}, 2)):
            print(*garage.ways(garage.job(command), times))
        garage.pool.close()
    """)
    env = {"PYTHONPATH": f"{copy}:{Path.cwd()}", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert (runs(script), done.stderr) == (5, "")
    assert done.stdout == "cold warm warm\ncold warm\n"
