"""The fallback for a hook that gets no answer: put its event into the spool, start the service, log why.

Uses only the standard library, because `hook_client.py` imports it without site-packages; the service and the
command line use the same functions. The reason for each missing answer is in `run/hook.log`.
"""
# Like the client, it does without pathlib:
# ruff: noqa: PTH118

from __future__ import annotations

import os
import time

from foreword.edges.shared.private_files import append_to_hook_log, make_private_folder
from foreword.edges.shared.spool_files import describe_lost_event_to_user, write_to_spool
from foreword.edges.shared.trouble import (
    explain_why_service_cannot_run,
    read_start_failure,
    record_start_failure,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.edges.hook_client import HookEvent

LOCK_NAME, STARTING_NAME = "service.lock", "starting"
__all__ = [
    "explain_why_service_cannot_run",
    "read_start_failure",
    "spool_event_and_start_service",
    "start_and_watch_service",
]  # what the client calls
_INHERITED_VARIABLES = frozenset(
    ("HOME", "PATH", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE",
     "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
)  # fmt: skip
"""The variables, beside FOREWORD_*, that the service gets from an agent, whose others may hold secrets."""
_START_EVERY_SECONDS = 3.0
_WATCH_SECONDS, _LOOK_EVERY_SECONDS = 3.0, 0.02


def spool_event_and_start_service(
    hook: HookEvent, payload: bytes, why: str, report: Callable[[bytes], object]
) -> None:
    """Put the event into the spool if it must be stored, log why, and start the service if none runs.

    `report` is called as soon as the event is on the disk, with the message for the agent's user.
    """
    import json

    notice = ""
    if hook.is_kept:
        why += "; the service has kept the event"
    elif payload and has_something_to_store(hook, payload):
        try:
            file, notice = write_to_spool(hook.home, hook.at, payload)
            why += "; the event waits in the spool" if file else ""
        except Exception as failure:  # noqa: BLE001  (whatever it is, the log says it)
            why += f"; the event is lost: {type(failure).__name__}: {failure}"
            notice = describe_lost_event_to_user(hook.home, failure)
    trouble = hook.trouble or (
        explain_why_service_cannot_run(hook.home) if hook.event.lower() == "sessionstart" else ""
    )
    notice = f"Foreword is off: {trouble}. For more: foreword doctor" if trouble else notice
    report(json.dumps({"systemMessage": notice}).encode() if notice else b"")
    append_to_hook_log(hook.home, f"{hook.event or 'an event'} of {hook.agent}: {why}")
    if not is_service_running(hook.home):
        start_and_watch_service(hook.home, hook.python)


def has_something_to_store(hook: HookEvent, payload: bytes) -> bool:
    """Whether an event holds something to store, as does a session's start whose context was emptied."""
    return hook.must_be_stored or (
        hook.event.lower() == "sessionstart" and is_start_after_compact_or_clear(payload)
    )


def is_start_after_compact_or_clear(payload: bytes) -> bool:
    """Whether the start of a session says that its context was compacted or cleared."""
    from foreword.capture.event_json import parse_event_json

    try:
        event = parse_event_json(payload)
    except ValueError:
        return False
    return isinstance(event, dict) and event.get("source") in ("compact", "clear")


# The service ---------------------------------------------------------------------------------------------


def is_service_running(home: str) -> bool:
    """Whether a service holds the lock of this home, even if it does not answer."""
    import fcntl  # (not on every system; where it is missing, this is not called)

    path = os.path.join(home, "run", LOCK_NAME)
    try:
        file = os.open(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # without locks no service runs; `explain_why_service_cannot_run` reports it
    finally:
        os.close(file)
    return False


def start_and_watch_service(home: str, python: str) -> None:
    """Start the service, and record why it ended if it does so at once without a reason of its own.

    An interpreter that was removed, or has no Foreword any more, would else cost every session its deadline.
    """
    began = time.time()
    process = start_service(home, python)
    while process and not is_service_running(home) and time.time() < began + _WATCH_SECONDS:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            if code > 0 and not read_start_failure(home, began - 1):  # not if it was killed
                why = f"{python} -m foreword.edges.service ended at once, with {code}; install Foreword again"
                record_start_failure(home, why)
            return
        time.sleep(_LOOK_EVERY_SECONDS)


def start_service(home: str, python: str, *options: str) -> int:
    """Start the service in the background; returns its process id.

    Returns 0 if it cannot be started, or if another process tried in the last few seconds.
    """
    import fcntl

    file = -1
    try:
        path = os.path.join(make_private_folder(home, "run"), STARTING_NAME)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        last = os.fstat(file)
        if last.st_size and 0 <= time.time() - last.st_mtime < _START_EVERY_SECONDS:
            return 0
        os.pwrite(file, b"\n", 0)
        command = [python, "-P", "-m", "foreword.edges.service", *options]
        streams = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
        return os.posix_spawn(python, command, service_environment(home), file_actions=streams, setsid=True)
    except BlockingIOError:
        return 0  # another process is starting it
    except OSError as error:
        record_start_failure(home, f"it cannot be started with {python}: {error}; install Foreword again")
        return 0
    finally:
        if file >= 0:
            os.close(file)


def service_environment(home: str) -> dict[str, str]:
    """The part of this process's environment that a service is started with."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in _INHERITED_VARIABLES or name.startswith(("FOREWORD_", "LC_", "XDG_"))
    }
    inherited.pop("FOREWORD_WORKSPACE", None)  # one service serves every workspace
    return inherited | {"FOREWORD_HOME": home}
