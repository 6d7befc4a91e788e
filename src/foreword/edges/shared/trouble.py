"""Why no service can run on a data folder, in one line with advice.

Uses only the standard library, because `hook_client.py` imports it without site-packages: a session that
begins shows the line at once, instead of waiting for a service that will not start. A service that cannot run
for another reason writes the line to `run/trouble`, if it can.
"""
# Like the client, it does without pathlib:
# ruff: noqa: PTH108, PTH110, PTH114, PTH115, PTH116, PTH118

from __future__ import annotations

import os
from contextlib import suppress

from foreword.edges.shared.private_files import append_to_hook_log, make_private_folder

TROUBLE_NAME = "trouble"
_MAX_CHARACTERS = 600
_ADVICE = "make it writable, or set FOREWORD_HOME to another folder"


def explain_why_service_cannot_run(home: str, since: float | None = None) -> str:
    """Why no service can run here; empty if nothing is known.

    With `since`, in seconds since 1970, also the reason that a service recorded after that time.
    """
    found = describe_wrong_settings(home) or describe_unusable_folder(home)
    return found or ("" if since is None else read_start_failure(home, since))


def describe_wrong_settings(home: str) -> str:
    """What is wrong with the settings of this home, and in which file; empty if nothing is."""
    from foreword.config import load_settings
    from foreword.errors import ValidationError

    try:
        load_settings({**os.environ, "FOREWORD_HOME": home})
    except ValidationError as error:
        return str(error)
    return ""


def describe_unusable_folder(home: str) -> str:
    """Why nothing can be written or locked in this home; empty if it can."""
    import fcntl

    if os.path.islink(home) and not os.path.exists(home):
        return f"{home} is a link to {os.readlink(home)}, which is not there; {_ADVICE}"
    try:
        databases = os.path.join(home, "workspaces")
        for folder in (databases, make_private_folder(home, "spool"), make_private_folder(home, "run")):
            if os.path.exists(folder) and not os.access(folder, os.W_OK | os.X_OK):
                return f"{folder} cannot be written to; {_ADVICE}"
        opened = os.open(folder, os.O_RDONLY)
    except OSError as error:
        return f"{error.filename or home} cannot be used ({error.strerror}); {_ADVICE}"
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pass  # another process has the lock, so locks work
    except OSError as error:
        return describe_lock_failure(folder, error)
    finally:
        os.close(opened)
    return ""


def describe_lock_failure(path: str, error: OSError) -> str:
    """A sentence that a file cannot be locked, with the likely cause and advice."""
    return (
        f"{path} cannot be locked ({error.strerror}): its file system has no locks, or they do not work; "
        "set FOREWORD_HOME to a folder on a local disk"
    )


# The reason that a service recorded ----------------------------------------------------------------------


def record_start_failure(home: str, why: str) -> None:
    """Record why the service could not run, in a line for hooks and `doctor`, and in the hooks' log."""
    line = " ".join(why.split())[:_MAX_CHARACTERS]
    append_to_hook_log(home, f"the service cannot run: {line}")
    with suppress(OSError):
        path = os.path.join(make_private_folder(home, "run"), TROUBLE_NAME)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(file, line.encode(errors="replace"))
        finally:
            os.close(file)


def clear_start_failure(home: str) -> None:
    """Delete the recorded reason, since a service runs."""
    with suppress(OSError):
        os.unlink(os.path.join(home, "run", TROUBLE_NAME))


def read_start_failure(home: str, since: float = 0.0) -> str:
    """The reason that a service recorded after a time, in seconds since 1970; empty if there is none."""
    path = os.path.join(home, "run", TROUBLE_NAME)
    try:
        if os.stat(path).st_mtime < since:
            return ""
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        return os.read(file, 4 * _MAX_CHARACTERS).decode(errors="replace").strip()
    finally:
        os.close(file)
