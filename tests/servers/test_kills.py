"""Servers and clients are killed at random moments: nothing acknowledged is lost, nothing done twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from foreword.store.base import PutVectors, Vector
from foreword.store.conformance.suite import DIGEST, HERE, axis, item, views
from foreword.store.postgres.store import PostgresStore
from foreword.store.qdrant import QdrantVectors
from foreword_measure.servers import PostgresServer, QdrantServer

CLIENT = """
import sys
from foreword.store.base import PutVectors, Vector
from foreword.store.conformance.suite import DIGEST, HERE, axis, item, views
from foreword.store.postgres.store import PostgresStore
from foreword.store.qdrant import QdrantVectors
url, vectors, me, first = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
store = PostgresStore(url, views, vectors=QdrantVectors(vectors))
for number in range(first, 1_000_000):
    name = f"{me}-{number}"
    store.put(HERE, [item(f"Ada saw harbour {name}", id=name)])
    print(name, flush=True)
    store.run(PutVectors(HERE, "vectors", DIGEST, (Vector(name, name, axis(number)),)))
"""


class Client:
    """A process that stores items and prints what was acknowledged; a killed one is replaced."""

    def __init__(self, me, postgres, qdrant):
        self._arguments = (postgres.url, qdrant.url, me)
        self.acknowledged = []
        self._start()

    def _start(self):
        first = str(len(self.acknowledged) * 2)
        self._process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, *self._arguments, first],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process):
        self.acknowledged.extend(line.strip() for line in process.stdout if line.endswith("\n"))

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(120)
        self._reader.join(120)
        assert not self._reader.is_alive(), "what a killed process said is read for ever"
        self._process.stdout.close()

    def replace(self):
        self.kill()
        self._start()


def _kill_at_random(kills, seed, report_numbers):
    choice = random.Random(seed)
    with PostgresServer(settings=()) as postgres, QdrantServer() as qdrant:
        with PostgresStore(postgres.url, views) as store:
            store.put(HERE, [item("first", id="first")])
        clients = [Client(f"c{number}", postgres, qdrant) for number in range(2)]
        killed = {"postgres": 0, "qdrant": 0, "client": 0}
        try:
            victims = (list(killed) * kills)[:kills]
            choice.shuffle(victims)
            for victim in victims:
                _wait_for_one_more(clients, choice.uniform(0.0, 0.5))
                killed[victim] += 1
                if victim == "client":
                    choice.choice(clients).replace()
                else:
                    server = postgres if victim == "postgres" else qdrant
                    server.kill()
                    server.start()
            _wait_for_one_more(clients, 0.2)
        finally:
            for client in clients:
                client.kill()
        acknowledged = [name for client in clients for name in client.acknowledged]
        with PostgresStore(postgres.url, views, vectors=QdrantVectors(qdrant.url)) as store:
            stored = [one.id for one in store.scan(HERE)]
            lost = set(acknowledged) - set(stored)
            report_numbers(
                "kills of servers and clients", **killed, acknowledged=len(acknowledged), lost=len(lost)
            )
            assert not lost
            assert len(stored) == len(set(stored))
            while store.run(_missing_vectors(store)):
                pass
            assert store.vector_server.flush(HERE, 60)
            assert store.check(HERE) == ()


def _missing_vectors(store):
    """Give what has no vector one, as an embedder would; the operation returns how many had none."""
    from foreword.store.base import ListUnembedded

    missing = store.run(ListUnembedded(HERE, "vectors", DIGEST, 500))
    return PutVectors(HERE, "vectors", DIGEST, tuple(Vector(one.id, one.id, axis(1)) for one in missing))


def _wait_for_one_more(clients, seconds):
    """Wait until something more was acknowledged, and then a while, so that a kill may fall anywhere."""
    before = sum(len(client.acknowledged) for client in clients)
    until = time.monotonic() + 60
    while sum(len(client.acknowledged) for client in clients) == before:
        assert time.monotonic() < until, "nothing is stored any more"
        time.sleep(0.01)
    time.sleep(seconds)


def test_a_few_kills_lose_nothing(report_numbers):
    _kill_at_random(6, 1, report_numbers)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_kills_lose_nothing(report_numbers):
    _kill_at_random(200, random.randrange(1 << 30), report_numbers)
