"""The hook itself: one event goes to the service, its answer to stdout, in a fresh interpreter.

    /abs/python -I -S /abs/hook_client.py --home H --agent claude-code --event UserPromptSubmit
                                          --deadline-ms 250 --python /abs/venv/bin/python

It is run by its path, without site-packages, is compiled each time, and imports nothing that takes time: no
json, re, socket or subprocess. It knows the words of the socket, and understands neither events nor answers.
Its path stands in the settings of agents, and so it stays here, beside the package `hook` and not in it.

Whatever goes wrong, stdout stays empty and the exit code is 0: an agent never waits or fails because of us.
What is to be done then (`hook/aside.py`) is done in a process that nobody waits for.
"""
# pathlib alone would double the time this takes:
# ruff: noqa: PTH100, PTH118, PTH120, PTH123

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import os
import select
import sys
import time

TYPE_CHECKING = False  # (typing takes longer to import than all of the above)
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SOCKET = "service.sock"
WORD = b"FWD1"
MOST_BYTES = 8_000_000
"""An event that is longer is nothing we could store."""
MOST_CHARACTERS = 9_900
"""An agent puts a longer answer into a file, and gives the model the file's name."""
_MARGIN = 0.015
_GRACE = 0.02
_AGAIN = 0.02
_START_EVERY = 1.0
_PATIENCE = 10.0


class Trouble(Exception):
    """Why there is no answer."""


class Hook:
    """One event on its way: what the command line said of it, and by when it must be over."""

    __slots__ = ("agent", "at", "ends", "event", "home", "python")

    def __init__(self, arguments: list[str], began: float) -> None:
        said = dict(zip(arguments[::2], arguments[1::2], strict=False))
        self.home = os.path.abspath(said.get("--home", ""))
        self.agent = said.get("--agent", "-")
        self.event = said.get("--event", "")
        self.python = said.get("--python", sys.executable)
        self.ends = began + float(said.get("--deadline-ms", "250")) / 1000
        self.at = f"{time.time():.6f}"

    def left(self) -> float:
        """How many seconds there still are; no time left is trouble."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise Trouble("the deadline passed")
        return left


def main(arguments: list[str]) -> None:
    """Ask, answer, leave with 0: in time, whatever happens."""
    hook = None
    parts: list[bytes] = []
    try:
        hook = Hook(arguments, began())
        answer = ask(hook, read_event(parts, hook.left))
        _alarm(max(hook.ends - time.monotonic(), 0.0) + _GRACE)  # in case that nobody reads it
        while answer:
            answer = answer[os.write(1, answer) :]
    except BaseException as error:  # noqa: BLE001  (nothing at all may reach the agent)
        why = str(error) or type(error).__name__
        if hook is not None:
            aside(lambda: _afterwards(hook, parts, why))
    finally:
        os._exit(0)  # an interpreter that tidies up takes a millisecond more


def began() -> float:
    """When this process was made, on the monotonic clock: starting the interpreter counts, too."""
    now, spent = time.monotonic(), time.process_time()
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        spent = max(spent, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (AttributeError, OSError, ValueError, IndexError):
        pass  # not Linux: the time it has computed is the least it can have taken
    return now - min(spent, 60.0)


def read_event(parts: list[bytes], left: Callable[[], float] | None = None) -> bytes:
    """Stdin to its end, while there is time; what is too long is thrown away, not left in the pipe."""
    size = sum(map(len, parts))
    while True:
        if left and not select.select([0], [], [], left())[0]:
            raise Trouble("the event did not end in time")
        part = os.read(0, 1 << 18)
        if not part:
            break
        size += len(part)
        if size <= MOST_BYTES:
            parts.append(part)
    if size > MOST_BYTES:
        parts.clear()
        raise Trouble(f"the event has {size} bytes; the most is {MOST_BYTES}")
    return b"".join(parts)


# Asking --------------------------------------------------------------------------------------------------


def ask(hook: Hook, payload: bytes) -> bytes:
    """The service's answer to an event; Trouble or OSError when there is none."""
    service = _met(hook)
    try:
        if peer(service) not in (None, os.geteuid()):
            raise Trouble("somebody else's process answers on the socket")
        deadline = max(1, int((hook.left() - _MARGIN) * 1000))
        head = f" {deadline} {hook.at} {hook.agent} {len(payload)}\n"
        service.sendall(WORD + head.encode() + payload)
        answer = _received(service, hook)
    finally:
        service.close()
    text = answer.decode()
    if len(text) > MOST_CHARACTERS:
        raise Trouble(f"the answer has {len(text)} characters; the most is {MOST_CHARACTERS}")
    if text and not (text.startswith("{") and text.rstrip().endswith("}")):
        raise Trouble("the answer is not JSON")
    return answer


def _met(hook: Hook) -> _socket.socket:
    """A connection to the service; a session that begins waits for one that has yet to start."""
    start_at = 0.0
    while True:
        try:
            return connected(os.path.join(hook.home, "run"), hook.left())
        except (FileNotFoundError, ConnectionRefusedError):
            if hook.event not in ("SessionStart", "sessionStart"):
                raise Trouble("no service is there") from None
            if time.monotonic() >= start_at:
                start_at = time.monotonic() + _START_EVERY
                aside(lambda: sibling("hook", "aside.py").start(hook.home, hook.python))
            time.sleep(min(_AGAIN, hook.left()))


def connected(folder: str, timeout: float) -> _socket.socket:
    """A connection to the socket in a folder. It goes there, as the name of a socket must be short."""
    os.chdir(folder)
    service = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    service.settimeout(timeout)
    try:
        service.connect(SOCKET)
    except BaseException:
        service.close()
        raise
    return service


def peer(connection: _socket.socket) -> int | None:
    """The user at the other end, where the system tells."""
    for level, option in (("SOL_SOCKET", "SO_PEERCRED"), ("SOL_LOCAL", "LOCAL_PEERCRED")):
        if hasattr(_socket, option):
            told = connection.getsockopt(getattr(_socket, level, 0), getattr(_socket, option), 12)
            return int.from_bytes(told[4:8], sys.byteorder)
    return None


def _received(service: _socket.socket, hook: Hook) -> bytes:
    """An answer as long as it says it is."""
    length, got = -1, b""
    while length < 0 or len(got) < length:
        service.settimeout(hook.left())
        part = service.recv(1 << 16)
        if not part:
            raise Trouble("the service hung up")
        got += part
        if length < 0 and (b"\n" in got or len(got) > 40):
            head, _, got = got.partition(b"\n")
            length = _promised(head)
    if len(got) > length:
        raise Trouble("the answer is longer than it said")
    return got


def _promised(head: bytes) -> int:
    word, _, digits = head.partition(b" ")
    if word != WORD or not digits.isdigit() or len(digits) > 9:
        raise Trouble("what answers is not the service")
    if int(digits) > MOST_CHARACTERS * 4:
        raise Trouble(f"the answer has {int(digits)} bytes")
    return int(digits)


# In trouble ----------------------------------------------------------------------------------------------


def _afterwards(hook: Hook, parts: list[bytes], why: str) -> None:
    """Read what is still to come of the event, and see to it."""
    payload = b""
    try:
        payload = read_event(parts)
    except Trouble as error:
        why = str(error)
    sibling("hook", "aside.py").afterwards(hook, payload, why)


def aside(work: Callable[[], object]) -> None:
    """Do something in a process that nobody waits for and that cannot stay. It may read stdin to its end."""
    if os.fork():
        return
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        os.closerange(3, 1024)
        _alarm(_PATIENCE)
        work()
    finally:
        os._exit(0)


def sibling(*path: str) -> ModuleType:
    """A module beside or below this file, loaded by its path: there is no package here."""
    from importlib.util import module_from_spec, spec_from_file_location

    here = os.path.dirname(os.path.abspath(__file__))
    spec = spec_from_file_location(f"foreword_{path[-1].removesuffix('.py')}", os.path.join(here, *path))
    if spec is None or spec.loader is None:
        raise ImportError(f"{path[-1]} cannot be loaded")
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _alarm(seconds: float) -> None:
    """Leave after so many seconds, wherever we are then."""
    _signal.signal(_signal.SIGALRM, _leave)
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def _leave(*_: object) -> None:
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
