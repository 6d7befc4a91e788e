"""Why no service can run on a data folder, in one line with what to do about it.

Stands on the standard library alone, because `hook_client.py` imports it without site-packages: a session
that begins is told the line at once, instead of waiting for a service that will not come. A service that
cannot run for another reason leaves the line in `run/trouble`, if it can write there.
"""
# Like the client, it does without pathlib:
# ruff: noqa: PTH108, PTH116, PTH118

from __future__ import annotations

import os
from contextlib import suppress

from foreword.edges.shared.private_files import append_to_log, make_private_folder

TROUBLE_NAME = "trouble"
_MAX_CHARACTERS = 600
_ADVICE = "make it writable, or set FOREWORD_HOME to another folder"


def find_trouble(home: str, since: float | None = None) -> str:
    """Why no service can run here; empty if nothing is known.

    With `since`, in seconds since 1970, also what a service said that failed after that.
    """
    found = describe_wrong_settings(home) or describe_unusable_folder(home)
    return found or ("" if since is None else read_start_failure(home, since))


def describe_wrong_settings(home: str) -> str:
    """What is wrong with the settings of this home, and where; empty if nothing is."""
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

    try:
        folder = make_private_folder(home, "run")
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"{folder} cannot be written to; {_ADVICE}"
        opened = os.open(folder, os.O_RDONLY)
    except OSError as error:
        return f"{home} cannot be used ({error.strerror}); {_ADVICE}"
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pass  # somebody has it: locks work
    except OSError as error:
        return describe_lock_failure(folder, error)
    finally:
        os.close(opened)
    return ""


def describe_lock_failure(path: str, error: OSError) -> str:
    """What it means that a file cannot be locked, and what to do."""
    return (
        f"{path} cannot be locked ({error.strerror}): its file system has no locks, or they do not work; "
        "set FOREWORD_HOME to a folder on a local disk"
    )


# What a service said -------------------------------------------------------------------------------------


def record_start_failure(home: str, why: str) -> None:
    """Leave a line for hooks and `doctor` that says why the service could not run; also in the hook's log."""
    line = " ".join(why.split())[:_MAX_CHARACTERS]
    append_to_log(home, f"the service cannot run: {line}")
    with suppress(OSError):
        path = os.path.join(make_private_folder(home, "run"), TROUBLE_NAME)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(file, line.encode(errors="replace"))
        finally:
            os.close(file)


def clear_start_failure(home: str) -> None:
    """Take the line away: a service runs."""
    with suppress(OSError):
        os.unlink(os.path.join(home, "run", TROUBLE_NAME))


def read_start_failure(home: str, since: float = 0.0) -> str:
    """What the service that could not run left after a time, in seconds since 1970; empty if nothing."""
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
