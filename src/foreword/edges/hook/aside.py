"""What is done when the hook gets no answer: keep the event, start the service, say why. Nobody waits for it.

Like `hook_client.py`, which loads it by its path, it stands alone on the standard library. An event goes into
the spool without its secrets; when they cannot be taken out, it does not go there. Why there was no answer is
in `run/hook.log`.
"""
# Like the client, it does without pathlib:
# ruff: noqa: PTH100, PTH101, PTH102, PTH103, PTH104, PTH108, PTH116, PTH118, PTH120, PTH208

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from foreword.edges.hook_client import Hook

LOCK, LOG, STARTING = "service.lock", "hook.log", "starting"
SPOOL_BYTES, SPOOL_FILES = 64_000_000, 10_000
CAPTURED = frozenset(
    ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStop",
     "PreCompact", "PostCompact", "SessionEnd", "BeforeAgent", "AfterAgent", "AfterTool", "PreCompress",
     "beforeSubmitPrompt", "postToolUse", "stop", "sessionEnd")
)  # fmt: skip
"""The events that hold something to keep; the others only ask, and asking later is of no use."""
_INHERITED = frozenset(
    ("HOME", "PATH", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE",
     "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
)  # fmt: skip
"""What the service gets of an agent's environment, beside FOREWORD_*: agents keep their own secrets there."""
_ATTEMPT_EVERY = 3.0


def afterwards(hook: Hook, payload: bytes, why: str) -> None:
    """Keep what would be lost, say what happened, start the service where none runs."""
    if payload and hook.event in CAPTURED:
        try:
            spool(hook.home, hook.at, payload)
            why += "; the event waits in the spool"
        except Exception as failure:  # noqa: BLE001  (whatever it is, the log says it)
            why += f"; the event is lost: {type(failure).__name__}: {failure}"
    note(hook.home, f"{hook.event or 'an event'} of {hook.agent}: {why}")
    if not running(hook.home):
        start(hook.home, hook.python)


# The spool -----------------------------------------------------------------------------------------------


def spool(home: str, at: str, payload: bytes) -> str:
    """Leave an event for the service, without its secrets, whole or not at all; gives the file."""
    safe = redacted(payload)
    folder = private(home, "spool")
    for name in overflow(folder, len(safe)):
        remove(os.path.join(folder, name))
        note(home, f"the spool is full; its oldest event was dropped: {name}")
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


def redacted(payload: bytes) -> bytes:
    """The same event without its secrets; raises whatever keeps it from being read or cleaned."""
    import json

    return json.dumps(_redaction().redact_json(json.loads(payload))).encode()


def overflow(folder: str, more: int = 0) -> list[str]:
    """The oldest events, as many as must go for one of so many bytes to have room."""
    sizes: dict[str, int] = {}
    for name in os.listdir(folder):
        try:
            if name.endswith(".event"):
                sizes[name] = os.lstat(os.path.join(folder, name)).st_size
        except FileNotFoundError:
            continue  # it was stored this moment
    count, total = len(sizes) + bool(more), sum(sizes.values()) + more
    going: list[str] = []
    for name in sorted(sizes):
        if count <= SPOOL_FILES and total <= SPOOL_BYTES:
            break
        going.append(name)
        count, total = count - 1, total - sizes[name]
    return going


def _redaction() -> ModuleType:
    """The module that takes out secrets; a hook, which has no package, loads it by its path."""
    try:
        from foreword.capture import redact
    except ImportError:
        return _loaded("foreword_redact", "..", "..", "capture", "redact.py")
    return redact


def _loaded(name: str, *path: str) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    here = os.path.dirname(os.path.abspath(__file__))
    spec = spec_from_file_location(name, os.path.join(here, *path))
    if spec is None or spec.loader is None:
        raise ImportError(f"{path[-1]} cannot be loaded")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The service ---------------------------------------------------------------------------------------------


def running(home: str) -> bool:
    """Whether a service holds the lock of this home, be it asleep or stuck."""
    import fcntl  # (not on every system; there, nothing here is called)

    try:
        file = os.open(os.path.join(home, "run", LOCK), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def start(home: str, python: str, *options: str) -> bool:
    """Start the service and leave it alone; at most one attempt every few seconds, whoever makes it."""
    import fcntl

    file = os.open(os.path.join(private(home, "run"), STARTING), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        last = os.fstat(file)
        if last.st_size and 0 <= time.time() - last.st_mtime < _ATTEMPT_EVERY:
            return False
        os.pwrite(file, b"\n", 0)
        command = [python, "-P", "-m", "foreword.edges.service", *options]
        streams = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
        os.posix_spawn(python, command, environment(home), file_actions=streams, setsid=True)
    except BlockingIOError:
        return False  # somebody else is at it
    except OSError as error:
        note(home, f"the service cannot be started with {python}: {error}")
        return False
    finally:
        os.close(file)
    return True


def environment(home: str) -> dict[str, str]:
    """What the service may know of the environment it is started from."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _INHERITED or name.startswith(("FOREWORD_", "LC_", "XDG_"))
    }
    kept.pop("FOREWORD_WORKSPACE", None)  # one service, every workspace
    return kept | {"FOREWORD_HOME": home}


# Files ---------------------------------------------------------------------------------------------------


def remove(path: str) -> None:
    """Remove a file, unless somebody was quicker."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def note(home: str, line: str) -> None:
    """Add a line to the hook's own log, which begins anew when it is long."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    file = os.open(os.path.join(private(home, "run"), LOG), flags, 0o600)
    try:
        if os.fstat(file).st_size > 100_000:
            os.ftruncate(file, 0)
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        os.write(file, f"{when} {line}\n".encode(errors="replace"))
    finally:
        os.close(file)


def private(home: str, name: str) -> str:
    """A folder under the home that nobody else may enter."""
    folder = os.path.join(home, name)
    os.makedirs(home, 0o700, exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if os.stat(folder).st_mode & 0o077:
            os.chmod(folder, 0o700)
    return folder
