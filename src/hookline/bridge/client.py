"""The hook command that agents run: asks the server, and becomes `hookline bridge` where there is none.

It starts for every event of an agent, so it loads nothing but built-in modules: `python -I -S client.py AGENT [EVENT]`.
"""

import posix
import sys

# Built in, and quicker to load than `socket` and `signal`.
from _signal import ITIMER_REAL, SIG_DFL, SIGALRM, SIGINT, setitimer, signal  # type: ignore[import-not-found]
from _socket import AF_UNIX, MSG_PEEK, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET, socket
from time import monotonic

SOCKET = b"serve.sock"
ACCEPTED, REFUSED = b"+", b"-"
EXIT_BLOCK = 2

# The server says at once whether it takes a call; the answer itself takes as long as the hooks do.
_ACCEPT_S = 5.0
_DEADLINE_S = 50.0
# An answer is needed soon after the deadline, also when stdin does not end.
_LATE_S = 0.3
_LONGEST_S = 1e6
# Hooks that do not end at once are given five seconds after the deadline.
_SPARE_S = 6.0
# How often to look whether the agent still waits for the answer.
_LOOK_S = 0.5
# The longest path that fits into the address of a socket; a longer one is reached through its directory's descriptor.
_LONGEST_PATH = 100
_STDERR = 2
_NO = (b"0", b"no", b"off", b"false")


class NoServerError(Exception):
    """Nobody listens, so nothing has been read from stdin."""


class LostServerError(Exception):
    """The server does not take the call, or went away; `stdin` is what was read so far."""

    def __init__(self, stdin: bytes, *, is_late: bool = False, left_s: float | None = None) -> None:
        super().__init__()
        self.stdin = stdin
        self.is_late = is_late
        self.left_s = 0.0 if is_late else left_s
        """The rest of the deadline, if it is known."""


def identity() -> bytes:
    """Which hookline this is; a server of another one must not answer."""
    status = posix.stat(__file__)
    return b"%d:%d:%d:%d" % (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


def state_directory(environ: "dict[bytes, bytes]") -> bytes:
    """Where `hookline.files.state_path` keeps files; KeyError when the environment does not say."""
    if given := environ.get(b"HOOKLINE_STATE_DIR"):
        return given
    if sys.platform == "darwin":
        return environ[b"HOME"] + b"/Library/Application Support/hookline"
    return (environ.get(b"XDG_STATE_HOME", b"").strip() or environ[b"HOME"] + b"/.local/state") + b"/hookline"


def may_serve(words: "list[bytes]", environ: "dict[bytes, bytes]") -> bool:
    """True if neither the command line nor the environment turns the server off."""
    return b"--no-serve" not in words and environ.get(b"HOOKLINE_SERVE", b"").lower() not in _NO


def connect(folder: bytes) -> socket:
    """A connection to the server of a state directory, if it is the same user's; OSError when there is none."""
    connection = socket(AF_UNIX, SOCK_STREAM)
    connection.settimeout(_ACCEPT_S)
    directory = -1
    path = folder + b"/" + SOCKET
    try:
        if len(path) > _LONGEST_PATH:
            directory = posix.open(folder, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
            path = b"/proc/self/fd/%d/%s" % (directory, SOCKET)
        connection.connect(path)
        owner = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)[4:8]
        if int.from_bytes(owner, sys.byteorder) != posix.geteuid():
            raise PermissionError  # noqa: TRY301 - another user's server must not answer
    except BaseException:
        connection.close()
        raise
    finally:
        if directory >= 0:
            posix.close(directory)
    return connection


def request(words: "list[bytes]", environ: "dict[bytes, bytes]", stdin: bytes) -> bytes:
    """A call as the server reads it: two sizes, the facts of this process, and stdin."""
    mask = posix.umask(0o077)
    posix.umask(mask)
    variables = [name + b"=" + value for name, value in environ.items()]
    facts = [identity(), b"%o" % mask, posix.getcwdb(), b"%d" % len(words), *words, *variables]
    head = b"\0".join(facts)
    return b"%d %d\n%s%s" % (len(head), len(stdin), head, stdin)


def ask(words: "list[bytes]", environ: "dict[bytes, bytes]") -> "tuple[int, bytes, bytes]":
    """Exit code, stdout and stderr, from the server; NoServerError or LostServerError when it has to be done here."""
    try:
        connection = connect(state_directory(environ))
    except (OSError, KeyError) as error:
        raise NoServerError from error
    stdin = b""
    until: float | None = None
    is_accepted = False
    parent = posix.getppid()
    try:
        stdin, left_s = _read_stdin(_deadline_s(words))
        until = monotonic() + left_s
        connection.sendall(request(words, environ, stdin))
        is_accepted = connection.recv(1) == ACCEPTED
        if is_accepted:
            _wait(connection, left_s + _SPARE_S, parent)
            return read_reply(connection)
    except TimeoutError as error:
        raise LostServerError(stdin, is_late=is_accepted, left_s=_left(until)) from error
    except (OSError, ValueError) as error:
        raise LostServerError(stdin, left_s=_left(until)) from error
    finally:
        # A server that is not done ends the hooks of a client that has gone.
        connection.close()
    raise LostServerError(stdin, left_s=_left(until))


def _left(until: float | None) -> float | None:
    return None if until is None else max(0.0, until - monotonic())


def main() -> None:
    """Prints the server's answer, or becomes the command that finds one by itself."""
    signal(SIGINT, SIG_DFL)
    can_answer = sys.stdout is not None
    _open_missing()
    environ = posix.environ
    words = [_bytes(word) for word in sys.argv[1:]]
    more: list[bytes] = []
    try:
        if may_serve(words, environ):
            code, stdout, stderr = ask(words, environ)
            is_delivered = _write_all(1, stdout) and (can_answer or not stdout)
            _write_all(2, stderr)
            posix._exit(code if is_delivered else EXIT_BLOCK)  # noqa: SLF001 - nothing is left to do, and an orderly end takes a millisecond
    except NoServerError:
        pass
    except LostServerError as unsupported:
        # Ask there once only. What it could not judge in all its time is refused, in the agent's own words.
        more = [b"--no-serve", *([] if unsupported.left_s is None else [b"--deadline", b"%.3f" % unsupported.left_s])]
        _give_back(unsupported.stdin)
    program = _bytes(sys.executable)
    posix.execve(program, [program, b"-I", b"-m", b"hookline", b"hook", *words, *more], environ)


def _wait(connection: socket, longest_s: float, parent: int) -> None:
    """Returns when the reply comes; ends this process when the shell or agent that started it is gone.

    An agent that has waited long enough may end the shell alone, and would then wait for us to close the pipes.
    """
    while longest_s > 0:
        connection.settimeout(min(_LOOK_S, longest_s))
        try:
            connection.recv(1, MSG_PEEK)
        except TimeoutError:
            longest_s -= _LOOK_S
            if posix.getppid() != parent:
                posix._exit(EXIT_BLOCK)  # noqa: SLF001 - no process reads the output any more
        else:
            connection.settimeout(_ACCEPT_S)
            return
    raise TimeoutError


def read_reply(connection: socket) -> "tuple[int, bytes, bytes]":
    """Exit code, stdout and stderr of a call that was accepted."""
    received = b""
    while b"\n" not in received:
        received += _some(connection)
    head, _, body = received.partition(b"\n")
    code, stdout_size, stderr_size = map(int, head.split())
    parts = [body]
    missing = stdout_size + stderr_size - len(body)
    while missing > 0:
        parts.append(_some(connection))
        missing -= len(parts[-1])
    body = b"".join(parts)
    return code, body[:stdout_size], body[stdout_size:]


def _some(connection: socket) -> bytes:
    data: bytes = connection.recv(1 << 16)
    if not data:
        raise OSError("the server went away")
    return data


def _deadline_s(words: "list[bytes]") -> float:
    given = [words[at] for at in range(1, len(words)) if words[at - 1] == b"--deadline"]
    given += [word[len(b"--deadline=") :] for word in words if word.startswith(b"--deadline=")]
    return min(map(float, given), default=_DEADLINE_S)


def _read_stdin(deadline_s: float) -> "tuple[bytes, float]":
    """All of stdin, and the time that is left then; LostServerError if it does not end by the deadline."""

    def stop(*_: object) -> None:
        raise LostServerError(b"", is_late=True)

    parts = []
    before = signal(SIGALRM, stop)
    try:
        setitimer(ITIMER_REAL, min(deadline_s, _LONGEST_S) + _LATE_S)
        while data := posix.read(0, 1 << 16):
            parts.append(data)
        left_s: float = setitimer(ITIMER_REAL, 0)[0]
    finally:
        # A program that this process becomes would inherit the timer.
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, before)
    return b"".join(parts), left_s


def _open_missing() -> None:
    """Put the null device in place of each closed standard stream, or the server's socket would get its number.

    A program that this process becomes gets them closed again, and so knows that they were.
    """
    while (descriptor := posix.open("/dev/null", posix.O_RDWR)) <= _STDERR:
        pass
    posix.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> bool:
    try:
        while data:
            data = data[posix.write(descriptor, data) :]
    except OSError:  # no process reads it
        return False
    return True


def _give_back(stdin: bytes) -> None:
    """Makes what was read from stdin readable there again."""
    descriptor = posix.memfd_create("stdin", 0)
    _write_all(descriptor, stdin)
    posix.lseek(descriptor, 0, 0)
    posix.dup2(descriptor, 0)


def _bytes(text: str) -> bytes:
    return text.encode(sys.getfilesystemencoding(), "surrogateescape")


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # noqa: BLE001 - an agent continues when its hook command fails, so this must refuse
        _write_all(2, _bytes(f"hookline: the bridge could not be started ({type(error).__name__}: {error})\n"))
        sys.exit(0 if "--fail-open" in sys.argv else EXIT_BLOCK)
