"""After `Hooks.close()` a program has no child process of hookline, dead or alive."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Each kind of hook, three events, and then the children of this process.
PROGRAM = """
import http.server, json, os, sys, threading, time
from pathlib import Path
from hookline import Hooks

folder = Path(sys.argv[1])

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
    def log_message(self, *words):
        pass

def children():
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has ended and was reaped
            continue
        if int(parent) == os.getpid():
            found[name] = state
    return found

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
(folder / "guard.py").write_text("print('{}')")
(folder / "worker.py").write_text('''
import json, sys
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "output": {}}), flush=True)
''')
warm = {"command": f"{sys.executable} {folder}/guard.py"}
kinds = {
    "cold": {"command": "true"},
    "warm": warm,
    "warm, about to be": warm,
    "worker": {"command": f"{sys.executable} {folder}/worker.py", "worker": True},
    "http": {"type": "http", "url": f"http://127.0.0.1:{server.server_port}/"},
    "in the background": {"command": "sleep 60", "async": True, "dialect": "claude"},
    "with limits": {"command": "true", "limits": {"cpu": 60}},
    "too slow": {"command": "sleep 60 & sleep 60", "timeout": 50},
    "running": {"command": "touch runs; sleep 60"},
}
left = {}
for kind, hook in kinds.items():
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [{"type": "command", **hook}]}]}}
    hooks = Hooks(str(folder), settings=settings)
    session = hooks.session().sync
    def call(times):
        try:
            for number in range(times):
                session.run_tool("t", {"number": number}, lambda arguments: "ran")
        except Exception:
            pass
    if kind == "running":
        threading.Thread(target=call, args=(1,), daemon=True).start()
        while not (folder / "runs").exists():
            time.sleep(0.01)
    else:
        call(3)
    if kind == "warm":
        system = hooks._engine.system
        system._parts.warm_policy._pool.wait_until_idle(30)
        call(3)
    hooks.close()
    if found := children():
        left[kind] = found
print(json.dumps(left))
"""


@pytest.mark.attack("30.F11", "children and zombies that are left after Hooks.close()")
@pytest.mark.req("DELTA-PROC-007")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to list children")
def test_no_child_and_no_zombie_is_left_after_close(tmp_path: Path) -> None:
    """That holds for every kind of hook that ran, still runs, or was about to be started."""
    words = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert json.loads(done.stdout or "null") == {}, done.stdout + done.stderr
