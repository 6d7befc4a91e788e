"""The hook client: sends one event of an agent to the service and prints the answer, in a fresh interpreter.

    /abs/python -I -S /abs/hook_client.py --home H --agent claude-code --event UserPromptSubmit
                                          --deadline-ms 250 --python /abs/venv/bin/python

Users' settings name this file by its path, so it stays here. It runs without site-packages and is compiled
each time, so it imports nothing that takes time: no json, re, socket or subprocess. It knows the protocol of
the socket and reads neither events nor answers.

Whatever goes wrong, stdout stays empty and the exit code is 0: an agent never waits or fails because of us.
What is done then (`shared/hook_fallback.py`) is done in a process that nobody waits for.
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

SOCKET_NAME = "service.sock"
PROTOCOL = b"FWD1"
MAX_EVENT_BYTES = 8_000_000
"""At most this many bytes of an event are taken; a longer one could not be stored."""
MAX_ANSWER_CHARACTERS = 9_900
"""At most this long is an answer: an agent puts a longer one into a file and shows the model its name."""
_ANSWER_MARGIN_SECONDS = 0.015
_WRITE_GRACE_SECONDS = 0.02
_RETRY_SECONDS = 0.02
_START_EVERY_SECONDS = 1.0
_DETACHED_SECONDS = 10.0


class NoAnswer(Exception):
    """Why there is no answer."""


class HookEvent:
    """One event on its way: what the command line says of it, and by when it must be answered."""

    __slots__ = ("agent", "at", "deadline", "event", "home", "python")

    def __init__(self, arguments: list[str], began: float) -> None:
        options = dict(zip(arguments[::2], arguments[1::2], strict=False))
        self.home = os.path.abspath(options.get("--home", ""))
        self.agent = options.get("--agent", "-")
        self.event = options.get("--event", "")
        self.python = options.get("--python", sys.executable)
        self.deadline = began + float(options.get("--deadline-ms", "250")) / 1000
        self.at = f"{time.time():.6f}"

    def seconds_left(self) -> float:
        """How many seconds are left; NoAnswer when none are."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise NoAnswer("the deadline passed")
        return left


def main(arguments: list[str]) -> None:
    """Ask, print the answer, exit with 0: in time, whatever happens."""
    hook = None
    parts: list[bytes] = []
    try:
        hook = HookEvent(arguments, process_start())
        answer = ask_service(hook, read_event(parts, hook.seconds_left))
        left = max(hook.deadline - time.monotonic(), 0.0)
        _exit_after_seconds(left + _WRITE_GRACE_SECONDS)  # if nobody reads it
        while answer:
            answer = answer[os.write(1, answer) :]
    except BaseException as error:  # noqa: BLE001  (nothing at all may reach the agent)
        why = str(error) or type(error).__name__
        if hook is not None:
            run_in_detached_process(lambda: _hand_to_fallback(hook, parts, why))
    finally:
        os._exit(0)  # an interpreter that tidies up takes a millisecond more


def process_start() -> float:
    """When this process was made, on the monotonic clock: starting the interpreter counts, too."""
    now, spent = time.monotonic(), time.process_time()
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        spent = max(spent, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (AttributeError, OSError, ValueError, IndexError):
        pass  # not Linux: the time it has computed is the least it can have taken
    return now - min(spent, 60.0)


def read_event(parts: list[bytes], seconds_left: Callable[[], float] | None = None) -> bytes:
    """Stdin to its end, while there is time; what is too long is thrown away, not left in the pipe."""
    size = sum(map(len, parts))
    while True:
        if seconds_left and not select.select([0], [], [], seconds_left())[0]:
            raise NoAnswer("the event did not end in time")
        part = os.read(0, 1 << 18)
        if not part:
            break
        size += len(part)
        if size <= MAX_EVENT_BYTES:
            parts.append(part)
    if size > MAX_EVENT_BYTES:
        parts.clear()
        raise NoAnswer(f"the event has {size} bytes; the most is {MAX_EVENT_BYTES}")
    return b"".join(parts)


# Asking --------------------------------------------------------------------------------------------------


def ask_service(hook: HookEvent, payload: bytes) -> bytes:
    """The service's answer to an event; NoAnswer or OSError when there is none."""
    service = _connect_or_start_service(hook)
    try:
        if peer_user(service) not in (None, os.geteuid()):
            raise NoAnswer("somebody else's process answers on the socket")
        milliseconds = max(1, int((hook.seconds_left() - _ANSWER_MARGIN_SECONDS) * 1000))
        head = f" {milliseconds} {hook.at} {hook.agent} {len(payload)}\n"
        service.sendall(PROTOCOL + head.encode() + payload)
        answer = _read_answer(service, hook)
    finally:
        service.close()
    text = answer.decode()
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise NoAnswer(f"the answer has {len(text)} characters; the most is {MAX_ANSWER_CHARACTERS}")
    if text and not (text.startswith("{") and text.rstrip().endswith("}")):
        raise NoAnswer("the answer is not JSON")
    return answer


def _connect_or_start_service(hook: HookEvent) -> _socket.socket:
    """A connection to the service; the first event of a session starts one that is missing, and waits."""
    start_at = 0.0
    while True:
        try:
            return connect(os.path.join(hook.home, "run"), hook.seconds_left())
        except (FileNotFoundError, ConnectionRefusedError):
            if hook.event not in ("SessionStart", "sessionStart"):
                raise NoAnswer("no service is there") from None
            if time.monotonic() >= start_at:
                start_at = time.monotonic() + _START_EVERY_SECONDS
                run_in_detached_process(lambda: _import_fallback().start_service(hook.home, hook.python))
            time.sleep(min(_RETRY_SECONDS, hook.seconds_left()))


def connect(folder: str, timeout: float) -> _socket.socket:
    """A connection to the socket in a folder. Changes to that folder, as a socket's name must be short."""
    os.chdir(folder)
    service = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    service.settimeout(timeout)
    try:
        service.connect(SOCKET_NAME)
    except BaseException:
        service.close()
        raise
    return service


def peer_user(connection: _socket.socket) -> int | None:
    """The id of the user at the other end; None where the system does not tell."""
    for level, option in (("SOL_SOCKET", "SO_PEERCRED"), ("SOL_LOCAL", "LOCAL_PEERCRED")):
        if hasattr(_socket, option):
            peer = connection.getsockopt(getattr(_socket, level, 0), getattr(_socket, option), 12)
            return int.from_bytes(peer[4:8], sys.byteorder)
    return None


def _read_answer(service: _socket.socket, hook: HookEvent) -> bytes:
    """An answer that is exactly as long as its first line says."""
    length, received = -1, b""
    while length < 0 or len(received) < length:
        service.settimeout(hook.seconds_left())
        part = service.recv(1 << 16)
        if not part:
            raise NoAnswer("the service hung up")
        received += part
        if length < 0 and (b"\n" in received or len(received) > 40):
            head, _, received = received.partition(b"\n")
            length = _read_length(head)
    if len(received) > length:
        raise NoAnswer("the answer is longer than it said")
    return received


def _read_length(head: bytes) -> int:
    word, _, digits = head.partition(b" ")
    if word != PROTOCOL or not digits.isdigit() or len(digits) > 9:
        raise NoAnswer("what answers is not the service")
    if int(digits) > MAX_ANSWER_CHARACTERS * 4:
        raise NoAnswer(f"the answer has {int(digits)} bytes")
    return int(digits)


# Without an answer ---------------------------------------------------------------------------------------


def _hand_to_fallback(hook: HookEvent, parts: list[bytes], why: str) -> None:
    """Read what is still to come of the event, and hand it to the fallback."""
    payload = b""
    try:
        payload = read_event(parts)
    except NoAnswer as error:
        why = str(error)
    _import_fallback().handle_unanswered(hook, payload, why)


def run_in_detached_process(work: Callable[[], object]) -> None:
    """Do something in a process that nobody waits for and that ends by itself. It may read all of stdin."""
    if os.fork():
        return
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        os.closerange(3, 1024)
        _exit_after_seconds(_DETACHED_SECONDS)
        work()
    finally:
        os._exit(0)


def _import_fallback() -> ModuleType:
    """The fallback, from the package around this file, which an interpreter without site-packages lacks."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.append(os.path.dirname(package))
    from foreword.edges.shared import hook_fallback

    return hook_fallback


def _exit_after_seconds(seconds: float) -> None:
    """Exit after so many seconds, whatever is being done then."""
    _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
