"""The folder of a running service: its lock, its socket, its token, the port of its HTTP side.

There is one service for each user and home: the process that holds the lock on `service.lock`. The kernel
releases the lock when that process dies, so a socket without a lock is a leftover and is replaced. All files
are readable by their owner alone; files of another user are refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import socket
import stat
from pathlib import Path

from foreword.edges.hook_client import SOCKET_NAME
from foreword.edges.shared.hook_fallback import LOCK_NAME, is_service_running
from foreword.edges.shared.private_files import make_private_folder
from foreword.edges.shared.trouble import describe_lock_failure
from foreword.errors import ForewordError

HTTP_NAME = "http.json"
_BACKLOG = 128
_TOKEN_BYTES = 32
_MIN_TOKEN_CHARACTERS = 32


class RunFolder:
    """The files of one home's service. Only the holder of the lock may change them."""

    def __init__(self, home: Path) -> None:
        self.home = home.absolute()
        self.folder = self.home / "run"
        self.socket = self.folder / SOCKET_NAME
        self.log = self.folder / "service.log"
        self.http_file = self.folder / HTTP_NAME
        self._port_file = self.folder / "port"
        self.token_file = self.folder / "token"
        self._lock: int | None = None
        self._inode: int | None = None

    # The lock

    def acquire_lock(self) -> bool:
        """Take the lock, and write the id of this process into its file; False if another process has it.

        ForewordError if the file system has no locks.
        """
        make_private_folder(str(self.home), "run")
        self._refuse_foreign_owner(self.folder)
        lock = os.open(self.folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        except OSError as error:
            os.close(lock)
            raise ForewordError(describe_lock_failure(str(self.folder / LOCK_NAME), error)) from error
        os.ftruncate(lock, 0)
        os.pwrite(lock, b"%d\n" % os.getpid(), 0)
        self._lock = lock
        return True

    def holds_lock(self) -> bool:
        """Whether the lock that others look at is still the one this process holds."""
        with contextlib.suppress(OSError):
            if self._lock is not None:
                return os.path.samestat(os.fstat(self._lock), (self.folder / LOCK_NAME).stat())
        return False

    def release_lock(self) -> None:
        """Release the lock. The file stays: removing it would let two processes lock two files."""
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def running_pid(self) -> int | None:
        """The id of the process that serves this home; None if there is none, 0 if it is not written yet."""
        if not is_service_running(str(self.home)):
            return None
        number = (self.folder / LOCK_NAME).read_text().strip()
        return int(number) if number.isdigit() else 0

    # The socket

    def listen_on_socket(self) -> socket.socket:
        """A new listening socket in the folder; one that a dead service left there is replaced."""
        with contextlib.suppress(FileNotFoundError):
            self._refuse_foreign_owner(self.socket)
            if not stat.S_ISSOCK(self.socket.lstat().st_mode):
                raise ForewordError(f"{self.socket} is not a socket; remove it, then start the service again")
            self.socket.unlink()
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.chdir(self.folder):  # the path of a socket must be short; that of a folder need not
            listening.bind(self.socket.name)
        self.socket.chmod(0o600)
        listening.listen(_BACKLOG)
        self._inode = self.socket.lstat().st_ino
        return listening

    def owns_socket(self) -> bool:
        """Whether the socket in the folder is still the one this process listens on."""
        with contextlib.suppress(OSError):
            return self.socket.lstat().st_ino == self._inode
        return False

    def remove_socket_and_address(self) -> None:
        """Remove the socket, unless it is another process's by now, and the file with the address of HTTP."""
        if self.owns_socket():
            self.socket.unlink(missing_ok=True)
        self.http_file.unlink(missing_ok=True)

    # HTTP

    def read_or_create_token(self) -> str:
        """The token that HTTP requests must have; created once, in a file that its owner alone can read."""
        with contextlib.suppress(FileNotFoundError):
            self._refuse_foreign_owner(self.token_file)
            mode = self.token_file.lstat().st_mode
            if stat.S_ISREG(mode) and not mode & 0o077:
                token = self.token_file.read_text().strip()
                if len(token) >= _MIN_TOKEN_CHARACTERS:
                    return token
            self.token_file.unlink()
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        _write_private_file(self.token_file, token + "\n")
        return token

    def write_http_address(self, port: int) -> None:
        """Write the port of HTTP, and where the token is, to the file that clients read."""
        temporary = self.http_file.with_suffix(".tmp")
        temporary.unlink(missing_ok=True)
        _write_private_file(temporary, json.dumps({"port": port, "token_file": str(self.token_file)}) + "\n")
        temporary.replace(self.http_file)
        self._port_file.unlink(missing_ok=True)
        _write_private_file(self._port_file, f"{port}\n")

    def read_last_port(self) -> int:
        """The port on which HTTP was last served; 0 if that is not known."""
        with contextlib.suppress(OSError, ValueError):
            return int(self._port_file.read_text())
        return 0

    def _refuse_foreign_owner(self, path: Path) -> None:
        """Raise ForewordError if a file belongs to another user."""
        if path.lstat().st_uid != os.geteuid():
            raise ForewordError(f"{path} belongs to another user; remove it, or choose another FOREWORD_HOME")


def find_receipt_address(home: str, receipt_id: str) -> str:
    """The address of a receipt's page, without the page's key; empty while no HTTP is served."""
    try:
        port = json.loads((Path(home) / "run" / HTTP_NAME).read_text())["port"]
    except (OSError, ValueError, KeyError):
        return ""
    return f"http://127.0.0.1:{port}/view/r/{receipt_id}"


def _write_private_file(path: Path, text: str) -> None:
    """Write a new file that its owner alone may read; FileExistsError if it exists."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
