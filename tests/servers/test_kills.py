"""Servers and clients are killed at random moments: nothing acknowledged is lost, nothing done twice."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from foreword.config import Settings
from foreword.edges.http.team.members import Members
from foreword.engine.context_engine import ContextEngine
from foreword.store.base import PutVectors, Vector
from foreword.store.conformance.suite import DIGEST, HERE, item, unit_vector, views
from foreword.store.postgres.store import PostgresStore
from foreword.store.qdrant import QdrantVectors
from foreword.types import Filters
from foreword_measure.servers import PostgresServer, QdrantServer

CLIENT = """
import sys
from foreword.store.base import PutVectors, Vector
from foreword.store.conformance.suite import DIGEST, HERE, unit_vector, item, views
from foreword.store.postgres.store import PostgresStore
from foreword.store.qdrant import QdrantVectors
url, vectors, me, first = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
store = PostgresStore(url, views, vectors=QdrantVectors(vectors))
for number in range(first, 1_000_000):
    name = f"{me}-{number}"
    store.put(HERE, [item(f"Ada saw harbour {name}", id=name)])
    print(name, flush=True)
    store.run(PutVectors(HERE, "vectors", DIGEST, (Vector(name, name, unit_vector(number)),)))
"""


MEMBER = """
import sys, time
import httpx
url, token, me, first = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
headers = {"Authorization": f"Bearer {token}"}
for number in range(first, 1_000_000):
    mark = f"order-{me}-{number:06}"
    event = {"name": "UserPromptSubmit", "agent": "claude-code", "session": me,
             "prompt": f"Please look at {mark} of the shop, it was paid twice."}
    body = {"workspace": sys.argv[5], "event": event, "at": 1_790_000_000 + number}
    while True:
        try:
            if httpx.post(f"{url}/v1/hook/keep", json=body, headers=headers, timeout=30).status_code == 200:
                break
        except httpx.HTTPError:
            time.sleep(0.05)
    print(mark, flush=True)
"""
MARK = re.compile(r"order-c\d-\d{6}")


class Client:
    """A process that stores items and prints what was acknowledged; a killed one is replaced."""

    def __init__(self, program, me, *arguments):
        self._command = [sys.executable, "-c", program, *arguments[:2], me]
        self._rest = arguments[2:]
        self.acknowledged = []
        self._start()

    def _start(self):
        first = str(len(self.acknowledged) * 2)
        self._process = subprocess.Popen(
            [*self._command, first, *self._rest],
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


def _kill_victims(kills, seed, clients, servers):
    """Kill servers and clients in turn at random moments; returns how often each was killed."""
    choice = random.Random(seed)
    killed = dict.fromkeys([*servers, "client"], 0)
    try:
        victims = (list(killed) * kills)[:kills]
        choice.shuffle(victims)
        for victim in victims:
            _wait_for_one_more(clients, choice.uniform(0.0, 0.5))
            killed[victim] += 1
            if victim == "client":
                choice.choice(clients).replace()
            else:
                servers[victim].kill()
                servers[victim].start()
        _wait_for_one_more(clients, 0.2)
    finally:
        for client in clients:
            client.kill()
    return killed


def _check_kills_of_stores(kills, seed, report_fault):
    with PostgresServer(settings=()) as postgres, QdrantServer() as qdrant:
        with PostgresStore(postgres.url, views) as store:
            store.put(HERE, [item("first", id="first")])
        clients = [Client(CLIENT, f"c{number}", postgres.url, qdrant.url) for number in range(2)]
        killed = _kill_victims(kills, seed, clients, {"postgres": postgres, "qdrant": qdrant})
        acknowledged = [name for client in clients for name in client.acknowledged]
        with PostgresStore(postgres.url, views, vectors=QdrantVectors(qdrant.url)) as store:
            stored = [one.id for one in store.scan(HERE)]
            lost = set(acknowledged) - set(stored)
            report_fault(
                1,
                {f"kills of a {who}": count for who, count in killed.items()},
                acknowledged=len(acknowledged),
                lost=len(lost),
                doubled=len(stored) - len(set(stored)),
            )
            while store.run(_missing_vectors(store)):
                pass
            assert store.vector_server.flush(HERE, 60)
            assert store.check(HERE) == ()


def _check_kills_of_service(kills, seed, report_fault, home, start_team_service):
    token = Members(home).add("mara", "write", ("acme/*",), None)[1]
    with PostgresServer(settings=()) as postgres, QdrantServer() as qdrant:
        service = start_team_service(postgres, qdrant)
        servers = {"service": service, "postgres": postgres, "qdrant": qdrant}
        try:
            clients = [Client(MEMBER, f"c{number}", service.url, token, "acme/shop") for number in range(3)]
            killed = _kill_victims(kills, seed, clients, servers)
        finally:
            service.kill()
        acknowledged = {name for client in clients for name in client.acknowledged}
        settings = Settings(home=home, embedding="none", store=postgres.url, vectors=qdrant.url)
        with ContextEngine(settings=settings) as engine:
            turns = engine.store.scan("acme/shop", Filters(kinds=("turn",)))
            stored = Counter(mark for turn in turns for mark in MARK.findall(turn.text))
            doubled = sum(count > 1 for count in stored.values())
            lost = acknowledged - stored.keys()
            report_fault(
                1,
                {f"kills of a {who} beside a team's service": count for who, count in killed.items()},
                acknowledged=len(acknowledged),
                lost=len(lost),
                doubled=doubled,
            )
            assert engine.store.check("acme/shop") == ()


def _missing_vectors(store):
    """Give what has no vector one, as an embedder would; the operation returns how many had none."""
    from foreword.store.base import ListUnembedded

    missing = store.run(ListUnembedded(HERE, "vectors", DIGEST, 500))
    return PutVectors(
        HERE, "vectors", DIGEST, tuple(Vector(one.id, one.id, unit_vector(1)) for one in missing)
    )


def _wait_for_one_more(clients, seconds):
    """Wait until something more was acknowledged, and then a while, so that a kill may fall anywhere."""
    before = sum(len(client.acknowledged) for client in clients)
    until = time.monotonic() + 60
    while sum(len(client.acknowledged) for client in clients) == before:
        assert time.monotonic() < until, "nothing is stored any more"
        time.sleep(0.01)
    time.sleep(seconds)


def test_a_few_kills_lose_nothing(report_fault):
    _check_kills_of_stores(6, 1, report_fault)


def test_a_few_kills_of_a_teams_service_lose_and_double_nothing(report_fault, home, start_team_service):
    _check_kills_of_service(8, 2, report_fault, home, start_team_service)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_kills_lose_nothing(report_fault):
    _check_kills_of_stores(200, random.randrange(1 << 30), report_fault)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_kills_of_a_teams_service_lose_and_double_nothing(report_fault, home, start_team_service):
    _check_kills_of_service(200, random.randrange(1 << 30), report_fault, home, start_team_service)
