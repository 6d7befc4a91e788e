"""What is done for a hook that gets no answer: keep its event in the spool, start the service, log why.

Stands on the standard library alone, because `hook_client.py` imports it without site-packages; the service
and the command line use the same functions. An event goes into the spool without its secrets, or, when they
cannot be taken out, not at all. Why there was no answer is in `run/hook.log`.
"""
# Like the client, it does without pathlib:
# ruff: noqa: PTH101, PTH102, PTH103, PTH104, PTH108, PTH116, PTH118, PTH208

from __future__ import annotations

import os
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from foreword.edges.hook_client import HookEvent

LOCK_NAME, LOG_NAME, STARTING_NAME = "service.lock", "hook.log", "starting"
MAX_SPOOL_BYTES, MAX_SPOOL_FILES = 64_000_000, 10_000
STORED_EVENTS = frozenset(
    ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStop",
     "PreCompact", "PostCompact", "SessionEnd", "BeforeAgent", "AfterAgent", "AfterTool", "PreCompress",
     "beforeSubmitPrompt", "postToolUse", "stop", "sessionEnd")
)  # fmt: skip
"""The events that hold something to store; the others only ask, and asking later is of no use."""
_INHERITED = frozenset(
    ("HOME", "PATH", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE",
     "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
)  # fmt: skip
"""What the service gets of an agent's environment, beside FOREWORD_*: agents keep their own secrets there."""
_START_EVERY_SECONDS = 3.0
_MAX_LOG_BYTES = 100_000


def handle_unanswered(hook: HookEvent, payload: bytes, why: str) -> None:
    """Keep what would be lost, log what happened, start the service where none runs."""
    if payload and hook.event in STORED_EVENTS:
        try:
            if write_to_spool(hook.home, hook.at, payload):
                why += "; the event waits in the spool"
        except Exception as failure:  # noqa: BLE001  (whatever it is, the log says it)
            why += f"; the event is lost: {type(failure).__name__}: {failure}"
    append_to_log(hook.home, f"{hook.event or 'an event'} of {hook.agent}: {why}")
    if not is_running(hook.home):
        start_service(hook.home, hook.python)


# The spool -----------------------------------------------------------------------------------------------


def write_to_spool(home: str, at: str, payload: bytes) -> str:
    """Leave an event for the service, without its secrets, complete or not at all; gives the file.

    What may not be kept (see `capture.privacy`) is not left here either: then it gives "".
    """
    from pathlib import Path

    from foreword.capture.privacy import may_wait_on_disk
    from foreword.workspace import workspace_of

    if not may_wait_on_disk(Path(home), payload, float(at), workspace_of):
        return ""
    safe = redact_payload(payload)
    folder = make_private_folder(home, "spool")
    for name in list_overflow(folder, len(safe)):
        with suppress(FileNotFoundError):  # somebody may be quicker
            os.unlink(os.path.join(folder, name))
        append_to_log(home, f"the spool is full; its oldest event was dropped: {name}")
    name = f"{at}-{os.getpid():x}{os.urandom(4).hex()}"
    temporary, final = os.path.join(folder, f".{name}.tmp"), os.path.join(folder, f"{name}.event")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        left = safe
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    finally:
        os.close(file)
    os.rename(temporary, final)
    return final


def redact_payload(payload: bytes) -> bytes:
    """The same event without its secrets; raises whatever keeps it from being read or cleaned."""
    import json

    from foreword.capture.redact import redact_json

    return json.dumps(redact_json(json.loads(payload))).encode()


def list_overflow(folder: str, new_bytes: int = 0) -> list[str]:
    """The oldest events, as many as must go for a new one of so many bytes to have room."""
    sizes: dict[str, int] = {}
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # it was stored this moment
            if name.endswith(".event"):
                sizes[name] = os.lstat(os.path.join(folder, name)).st_size
    count, total = len(sizes) + bool(new_bytes), sum(sizes.values()) + new_bytes
    overflow: list[str] = []
    for name in sorted(sizes):
        if count <= MAX_SPOOL_FILES and total <= MAX_SPOOL_BYTES:
            break
        overflow.append(name)
        count, total = count - 1, total - sizes[name]
    return overflow


# The service ---------------------------------------------------------------------------------------------


def is_running(home: str) -> bool:
    """Whether a service holds the lock of this home, be it asleep or stuck."""
    import fcntl  # (not on every system; there, nothing here is called)

    try:
        file = os.open(os.path.join(home, "run", LOCK_NAME), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def start_service(home: str, python: str, *options: str) -> bool:
    """Start the service and leave it alone; at most one attempt every few seconds, whoever makes it."""
    import fcntl

    path = os.path.join(make_private_folder(home, "run"), STARTING_NAME)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        last = os.fstat(file)
        if last.st_size and 0 <= time.time() - last.st_mtime < _START_EVERY_SECONDS:
            return False
        os.pwrite(file, b"\n", 0)
        command = [python, "-P", "-m", "foreword.edges.service", *options]
        streams = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
        os.posix_spawn(python, command, service_environment(home), file_actions=streams, setsid=True)
    except BlockingIOError:
        return False  # somebody else is at it
    except OSError as error:
        append_to_log(home, f"the service cannot be started with {python}: {error}")
        return False
    finally:
        os.close(file)
    return True


def service_environment(home: str) -> dict[str, str]:
    """The part of this environment that a service is started with."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in _INHERITED or name.startswith(("FOREWORD_", "LC_", "XDG_"))
    }
    inherited.pop("FOREWORD_WORKSPACE", None)  # one service, every workspace
    return inherited | {"FOREWORD_HOME": home}


# Files ---------------------------------------------------------------------------------------------------


def append_to_log(home: str, line: str) -> None:
    """Add a line to the hook's own log, which begins anew when it is long."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    file = os.open(os.path.join(make_private_folder(home, "run"), LOG_NAME), flags, 0o600)
    try:
        if os.fstat(file).st_size > _MAX_LOG_BYTES:
            os.ftruncate(file, 0)
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        os.write(file, f"{when} {line}\n".encode(errors="replace"))
    finally:
        os.close(file)


def make_private_folder(home: str, name: str) -> str:
    """Make a folder under the home that nobody else may enter, if it is not there; gives its path."""
    folder = os.path.join(home, name)
    os.makedirs(home, 0o700, exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if os.stat(folder).st_mode & 0o077:
            os.chmod(folder, 0o700)
    return folder
