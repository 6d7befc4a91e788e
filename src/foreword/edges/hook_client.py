"""The hook client: sends one event of an agent to the service and prints the answer, in a fresh interpreter.

    /abs/python -I -S /abs/hook_client.py --home H --agent claude-code --event UserPromptSubmit
                                          --deadline-ms 250 --python /abs/venv/bin/python

Users' settings name this file by its path, so it stays here. It runs without site-packages and is compiled
each time, so it imports nothing that takes time: no json, os, re, socket or subprocess. It knows the
protocol of the socket and reads neither events nor answers.

If anything fails, stdout stays empty and the exit code is 0: an agent never fails because of us. An event
that holds something to store is on the disk before this ends: the service confirms it, or the client itself
writes it to the spool (`shared/hook_fallback.py`), in a process that outlives it if need be. An answer counts
as shown only when the client has written all of it and has told the service so.
"""
# pathlib alone would double the time this takes:
# ruff: noqa: PTH100, PTH109, PTH120, PTH123

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import select
import sys
import time

try:
    import posix as os  # the system's own part of `os`: the rest is a seventh of a bare interpreter's time
except ImportError:  # another system, where this is only imported
    import os  # type: ignore[no-redef]

TYPE_CHECKING = False  # (typing takes longer to import than all of the above)
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SOCKET_NAME = "service.sock"
PROTOCOL = b"FWD2"
KEPT_LINE, SHOWN_LINE = PROTOCOL + b" kept", b"shown\n"
STORED_EVENTS = frozenset(
    ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStop",
     "PreCompact", "PostCompact", "SessionEnd", "BeforeAgent", "AfterAgent", "AfterTool", "PreCompress",
     "beforeSubmitPrompt", "postToolUse", "stop", "sessionEnd")
)  # fmt: skip
"""The events that hold something to store. The others only ask, so they are not spooled for later."""
SESSION_STARTS = ("SessionStart", "sessionStart")
SPOOL_SECONDS = 0.05
"""How many seconds before its deadline a client spools an event that the service has not stored yet."""
MAX_EVENT_BYTES = 8_000_000
"""The most bytes that an event may have; a longer one could not be stored."""
MAX_ANSWER_CHARACTERS = 9_900
"""The most characters of an answer: an agent writes a longer one to a file and shows the model its name."""
_ANSWER_MARGIN_SECONDS = 0.015
_WRITE_GRACE_SECONDS = 0.02
_MAX_SPOOL_SECONDS = 2.0
"""For how many seconds after its deadline a client waits until its event is in the spool."""
_RETRY_SECONDS = 0.02
_START_EVERY_SECONDS = 1.0
_DETACHED_SECONDS = 10.0


class NoAnswer(Exception):
    """There is no answer; the message says why."""


class HookEvent:
    """One event to be answered: its options from the command line, and its deadline."""

    __slots__ = (
        *("agent", "at", "deadline", "event", "home", "python"),
        *("is_kept", "must_be_stored", "spool_at", "trouble"),
    )

    def __init__(self, arguments: list[str], began: float) -> None:
        options = dict(zip(arguments[::2], arguments[1::2], strict=False))
        self.home = options.get("--home", "")
        if not self.home.startswith("/"):
            self.home = f"{os.getcwd()}/{self.home}"
        self.agent = options.get("--agent", "-")
        self.event = options.get("--event", "")
        self.python = options.get("--python", sys.executable)
        allowed = float(options.get("--deadline-ms", "250")) / 1000
        self.deadline = began + allowed
        self.at = f"{time.time():.6f}"
        self.must_be_stored = self.event in STORED_EVENTS
        self.is_kept = False
        self.trouble = ""
        self.spool_at = self.deadline - min(SPOOL_SECONDS, allowed / 2)

    def seconds_left(self) -> float:
        """How many seconds are left until the deadline; NoAnswer if none are."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise NoAnswer("the deadline passed")
        return left

    def seconds_to_wait_for_service(self) -> float:
        """How many seconds to wait for the service: fewer while the event may still have to be spooled."""
        left = self.seconds_left()
        if self.must_be_stored and not self.is_kept:
            left = self.spool_at - time.monotonic()
            if left <= 0:
                raise NoAnswer("the service did not keep the event in time")
        return left


def main(arguments: list[str]) -> None:
    """Ask the service, print its answer, and exit with 0, in time, whatever happens."""
    hook = None
    parts: list[bytes] = []
    try:
        hook = HookEvent(arguments, find_process_start())
        ask_service(
            hook, read_event_from_stdin(parts, hook.seconds_left), lambda answer: _write_answer(hook, answer)
        )
    except BaseException as error:  # noqa: BLE001  (nothing at all may reach the agent)
        why = str(error) or type(error).__name__
        if hook is not None:
            _run_fallback_and_wait(hook, parts, why)
    finally:
        os._exit(0)  # a normal exit of the interpreter takes a millisecond more


def _write_answer(hook: HookEvent, answer: bytes) -> None:
    """Write all of an answer to stdout; exit at the deadline if the agent does not read it."""
    left = max(hook.deadline - time.monotonic(), 0.0)
    _exit_after_seconds(left + _WRITE_GRACE_SECONDS)
    while answer:
        answer = answer[os.write(1, answer) :]


def find_process_start() -> float:
    """When this process started, on the monotonic clock, so that starting the interpreter counts, too."""
    now, spent = time.monotonic(), time.process_time()
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        spent = max(spent, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (AttributeError, OSError, ValueError, IndexError):
        pass  # not Linux: the processor time is a lower bound
    return now - min(spent, 60.0)


def read_event_from_stdin(parts: list[bytes], seconds_left: Callable[[], float] | None = None) -> bytes:
    """Read stdin to its end; NoAnswer if that takes too long or the event is too long.

    `parts` collects what was read. An event that is too long is read all the same, so that the pipe is empty,
    but not all of it is collected.
    """
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
        raise NoAnswer(f"the event has {size} bytes; the most is {MAX_EVENT_BYTES}")
    return b"".join(parts)


# Asking --------------------------------------------------------------------------------------------------


def ask_service(hook: HookEvent, payload: bytes, deliver: Callable[[bytes], object] | None = None) -> bytes:
    """The service's answer to an event, after it was passed to `deliver`; NoAnswer or OSError without one."""
    service = _connect_or_start_service(hook)
    try:
        if find_peer_user_id(service) not in (None, os.geteuid()):
            raise NoAnswer("somebody else's process answers on the socket")
        milliseconds = max(1, int((hook.seconds_left() - _ANSWER_MARGIN_SECONDS) * 1000))
        head = f" {milliseconds} {hook.at} {hook.agent} {len(payload)}\n"
        service.sendall(PROTOCOL + head.encode() + payload)
        answer = _read_answer(service, hook)
        _check_answer(answer.decode())
        if answer:
            if deliver is not None:
                deliver(answer)
            try:  # noqa: SIM105  (contextlib takes time to import)
                service.sendall(SHOWN_LINE)
            except OSError:
                pass  # the service is gone: the same will be shown again
    finally:
        service.close()
    return answer


def _check_answer(text: str) -> None:
    """Raise NoAnswer if an answer is too long for an agent, or not JSON."""
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise NoAnswer(f"the answer has {len(text)} characters; the most is {MAX_ANSWER_CHARACTERS}")
    if text and not (text.startswith("{") and text.rstrip().endswith("}")):
        raise NoAnswer("the answer is not JSON")


def _connect_or_start_service(hook: HookEvent) -> _socket.socket:
    """A connection to the service; when a session starts, a missing service is started and waited for."""
    start_at = 0.0
    while True:
        try:
            return connect_to_service(f"{hook.home}/run", hook.seconds_left())
        except (FileNotFoundError, ConnectionRefusedError):
            if hook.event not in SESSION_STARTS:
                raise NoAnswer("no service is there") from None
            if time.monotonic() >= start_at:
                start_at = time.monotonic() + _START_EVERY_SECONDS
                run_in_detached_process(
                    lambda: _import_fallback().start_and_watch_service(hook.home, hook.python)
                )
                hook.trouble = _import_fallback().explain_why_service_cannot_run(hook.home)
            hook.trouble = hook.trouble or _import_fallback().read_start_failure(hook.home, float(hook.at))
            if hook.trouble:
                raise NoAnswer(hook.trouble) from None
            time.sleep(min(_RETRY_SECONDS, hook.seconds_left()))


def connect_to_service(folder: str, timeout: float) -> _socket.socket:
    """A connection to the socket in a folder. Changes to that folder, as a socket's path must be short."""
    os.chdir(folder)
    service = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    service.settimeout(timeout)
    try:
        service.connect(SOCKET_NAME)
    except BaseException:
        service.close()
        raise
    return service


def find_peer_user_id(connection: _socket.socket) -> int | None:
    """The id of the user at the other end; None if the system does not know."""
    for level, option in (("SOL_SOCKET", "SO_PEERCRED"), ("SOL_LOCAL", "LOCAL_PEERCRED")):
        if hasattr(_socket, option):
            peer = connection.getsockopt(getattr(_socket, level, 0), getattr(_socket, option), 12)
            return int.from_bytes(peer[4:8], sys.byteorder)
    return None


def _read_answer(service: _socket.socket, hook: HookEvent) -> bytes:
    """Read the answer, and set `hook.is_kept` once the event is stored; NoAnswer if the answer is broken."""
    length, received = -1, b""
    while length < 0 or len(received) < length:
        if length < 0 and (b"\n" in received or len(received) > 40):
            head, _, received = received.partition(b"\n")
            if head == KEPT_LINE:
                hook.is_kept = True
            else:
                length = _read_answer_length(head)
            continue
        service.settimeout(hook.seconds_to_wait_for_service())
        part = service.recv(1 << 16)
        if not part:
            raise NoAnswer("the service hung up")
        received += part
    if len(received) > length:
        raise NoAnswer("the answer is longer than it said")
    hook.is_kept = True  # the service answers only after it has stored the event
    return received


def _read_answer_length(head: bytes) -> int:
    """The length that the first line of an answer states; NoAnswer if it is not of our protocol."""
    word, _, digits = head.partition(b" ")
    if word != PROTOCOL or not digits.isdigit() or len(digits) > 9:
        raise NoAnswer("what answers is not the service")
    if int(digits) > MAX_ANSWER_CHARACTERS * 4:
        raise NoAnswer(f"the answer has {int(digits)} bytes")
    return int(digits)


# Without an answer ---------------------------------------------------------------------------------------


def _run_fallback_and_wait(hook: HookEvent, parts: list[bytes], why: str) -> None:
    """Have another process store the event, and print what the user should know about that.

    The other process goes on if it takes longer than this one may wait.
    """
    reading, writing = os.pipe()
    run_in_detached_process(lambda: _hand_to_fallback(hook, parts, why, writing), writing)
    os.close(writing)
    if hook.is_kept or not (hook.must_be_stored or hook.event in SESSION_STARTS):
        return
    ends = hook.deadline + _MAX_SPOOL_SECONDS
    message = b""
    while select.select([reading], [], [], max(0.0, ends - time.monotonic()))[0]:
        part = os.read(reading, 1 << 12)
        if not part:
            break
        message += part
    if message:
        _write_answer(hook, message)


def _hand_to_fallback(hook: HookEvent, parts: list[bytes], why: str, writing: int) -> None:
    """Read the rest of the event, and pass it to the fallback; its message goes into the pipe `writing`."""

    def report(message: bytes) -> None:
        try:  # noqa: SIM105  (contextlib takes time to import)
            os.write(writing, message)
        except OSError:
            pass  # the hook could not wait any longer
        os.close(writing)

    try:
        payload = read_event_from_stdin(parts)
    except NoAnswer as error:
        payload, why = b"".join(parts), str(error)
    _import_fallback().spool_event_and_start_service(hook, payload, why, report)


def run_in_detached_process(work: Callable[[], object], kept_open: int = 2) -> None:
    """Do some work in a process of its own, which goes on when this one ends and may read stdin."""
    if os.fork():
        return
    try:
        os.setsid()
        nowhere = os.open("/dev/null", os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        os.closerange(3, kept_open)
        os.closerange(kept_open + 1, 1024)
        _exit_after_seconds(_DETACHED_SECONDS)
        work()
    finally:
        os._exit(0)


def _import_fallback() -> ModuleType:
    """Import the fallback from the package around this file, which need not be on the path."""
    from os.path import abspath, dirname

    folder = dirname(dirname(dirname(abspath(__file__))))
    if folder not in sys.path:
        sys.path.append(folder)
    from foreword.edges.shared import hook_fallback

    return hook_fallback


def _exit_after_seconds(seconds: float) -> None:
    """Make this process exit after so many seconds, even in the middle of its work."""
    _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
