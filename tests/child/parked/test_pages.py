"""Which pages of memory a spare copies before its event."""

import subprocess
from pathlib import Path

import pytest
from tests.child.parked.conftest import PYTHONS

from hookline.child.parked.archive import SITE

# Whatever these do when Python ends, others would notice.
TRIED = """
import atexit, os, sys
sys.path.insert(0, {site!r})
from _hookline_pages import pages_of_the_end
atexit.register(lambda: open('from atexit', 'w'))
class Deleted:
    def __init__(self):
        self.calls = (open, 'from del', 'w'), (os.mkdir, 'made'), (os.unlink, 'kept'), (os.kill, {pid}, 9)
    def __del__(self):
        for call, *given in self.calls:
            try: call(*given)
            except Exception: pass
here = Deleted()
found = pages_of_the_end()
print(sum(end - start for start, end in found) > 100 * 4096, found == sorted(found))
sys.stdout.flush()
os._exit(0)
"""


# A copy of a process begins without the pages of files that it only reads.
PREPARED = """
import os, sys
sys.path.insert(0, {site!r})
from _hookline_pages import Pages, _PAGE
pages = Pages([])
def mapped():
    with open('/proc/self/pagemap', 'rb') as file:
        def is_there(page): return os.pread(file.fileno(), 8, page // _PAGE * 8)[7] >> 7
        return [sum(is_there(page) for page in range(start, end, _PAGE)) for start, end in pages._read]
if pid := os.fork():
    os.waitpid(pid, 0)
else:
    before = mapped()
    pages.prepare()
    wanted = [(end - start) // _PAGE for start, end in pages._read]
    print(sum(before) < sum(wanted), mapped() == wanted)
    sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("python", [pytest.param(path, id=name) for name, path in PYTHONS[-1:]])
def test_a_spare_has_the_pages_of_its_program(python: str) -> None:
    """Those of the program and its libraries, which would be found one after another during the event."""
    command = [python, "-B", "-c", PREPARED.format(site=SITE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("True True\n", "", 0)


@pytest.mark.parametrize("python", [pytest.param(path, id=name) for name, path in PYTHONS[-3:]])
def test_the_end_of_python_is_tried_without_effects(tmp_path: Path, python: str) -> None:
    """A copy of the interpreter ends to show what it writes to; nothing outside of it may change."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "kept").touch()
    victim = subprocess.Popen(["sleep", "60"])
    try:
        script = TRIED.format(site=SITE, pid=victim.pid)
        done = subprocess.run(
            [python, "-B", "-c", script], cwd=folder, capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.stdout, done.stderr, done.returncode) == ("True True\n", "", 0)
        assert [path.name for path in folder.iterdir()] == ["kept"]
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()
