"""One run of the request server under a load of a fixed rate: starts it, drives it by h2load, samples its memory."""

import contextlib
import dataclasses
import http.client
import json
import math
import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tslab_lab.base import compiling, places, processes
from tslab_lab.base.shapes import Environment, Point, Run
from tslab_lab.estimates.histogram import Histogram
from tslab_lab.real import paced

SOURCES, BUILT = Path(__file__).with_name("c"), places.BUILT / "server"
SERVER = BUILT / "server"
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O3", "-g", "-pthread", "-fno-builtin-malloc", "-fno-builtin-free"]
HINT = (
    "\nIf libmicrohttpd or jansson is missing: run `make setup`, or: apt-get install libmicrohttpd-dev libjansson-dev"
)
SAMPLE_SECONDS = 0.02
READY_SECONDS = 15
STOP_SECONDS = 30
CLIENT_RATE = 50  # requests a second of one connection: h2load's timers tick no faster than every 10 ms
ADDRESSES = 1200  # at least
USERS = 100_000
HEADERS = (
    "accept: application/json, text/plain;q=0.9, */*;q=0.8",
    "accept-language: en-GB,en;q=0.7,de;q=0.3",
    "authorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIyMDQ5MSIsImlhdCI6MTUxNjIzOTAyMn0.c2lnbmF0dXJl",
    "content-type: application/json",
    "cookie: session=4f1c8e0b7a6d2f3910aa; theme=dark; consent=yes",
    "x-request-id: 7d9f2c41-0a6b-4e3c-9f55-1be0a7c3d2e8",
)


@dataclasses.dataclass(frozen=True)
class Load:
    requests: int
    rate: int  # a second
    workers: int
    session_percent: int  # of requests that make a session
    session_limit: int
    warm_up: int  # requests, before anything is measured
    idle_seconds: float  # after the load

    @property
    def clients(self) -> int:
        return max(1, round(self.rate / CLIENT_RATE))


def body() -> str:
    """An order, as a shop's page would send it."""
    items = [
        {"sku": f"SKU-{i:06}", "title": f"An article with a long and descriptive title, number {i}", "count": i + 1}
        | {"price": round(9.99 * (i + 1), 2)}
        for i in range(5)
    ]
    customer = {"name": "Ada Example", "email": "ada@example.org", "street": "12 Long Lane", "city": "Example Town"}
    note = "Leave the parcel with the neighbours on the second floor if nobody answers; the bell is broken, so knock."
    order = {"id": "o-20491", "currency": "EUR", "express": True, "note": note, "items": items}
    order["customer"] = customer | {"zip": "04109", "country": "DE"}
    order["tags"] = ["gift", "fragile", "returning customer"]
    return json.dumps(order, indent=1)


def addresses(load: Load) -> Iterator[str]:
    """The same for every allocator. Each of h2load's connections begins at the first and goes on one by one: a place in
    this list is a time of the load, and so many of every hundred make a session."""
    generator = random.Random(1)
    of_each_client = math.ceil(load.requests / load.clients)
    for i in range(max(ADDRESSES, of_each_client)):
        query = f"user={generator.randrange(USERS)}&fields=price,stock,rating,delivery&currency=EUR"
        if (i + 1) * load.session_percent // 100 > i * load.session_percent // 100:
            query += "&login=1"
        yield f"http://127.0.0.1/order?{query}"


def prepare() -> None:
    """Compiles the programs, and sees that the client is here."""
    if shutil.which("h2load") is None:
        raise processes.Failure("There is no h2load here. Run `make setup`, or: apt-get install nghttp2-client")
    sources = [SOURCES / f"{name}.c" for name in ("server", "request", "session", "measure")]
    compiling.build(SERVER, sources, FLAGS, ["-lmicrohttpd", "-ljansson", "-lm"], hint=HINT)


class Sampler(threading.Thread):
    """Reads the RSS of a process every 20 ms."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self._done, self._zero = pid, threading.Event(), time.monotonic()
        self._samples: list[tuple[float, int]] = []

    def run(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS) and (kib := processes.rss_kib(self._pid)):
            self._samples.append((time.monotonic(), kib))  # else it has ended: whoever waits for it says why

    def load_begins(self) -> None:
        self._zero = time.monotonic()

    def stop(self) -> list[Point]:
        """Since the start of the load."""
        self._done.set()
        self.join()
        return [(round(1000 * (at - self._zero)), kib) for at, kib in self._samples]


class Server:
    """The server while it runs. An error in that time is raised with the last lines of its log."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self._log = process, log
        self.port = int(processes.answered(self._port, process))

    def _said(self, how: str) -> list[str]:
        """Lines that begin so."""
        return [line for line in self._log.read_text(errors="replace").splitlines() if line.startswith(how)]

    def _port(self) -> str:
        if not (lines := self._said("port ")):
            raise processes.Failure("it did not begin to serve")
        return lines[0].removeprefix("port ")

    def get(self, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=READY_SECONDS)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if response.status != 200:
            raise processes.Failure(f"it answered {response.status} to GET {path}")
        return text

    def stop(self) -> None:
        self.process.terminate()
        if self.process.wait(STOP_SECONDS) != 0:
            raise processes.Failure("it did not end well")
        if complaints := self._said("tslab:"):
            raise processes.Failure(complaints[0])


@contextlib.contextmanager
def serving(load: Load, environment: Environment, directory: Path, who: str, sessions: str) -> Iterator[Server]:
    argv = [SERVER, load.workers, load.session_limit, sessions, directory / "stats.json"]
    log = directory / "log-of-server"
    with processes.serving([str(word) for word in argv], environment, who, log) as process:
        yield Server(process, log)


def _rotate_at_half(load: Load, server: Server, failures: list[Exception]) -> None:
    time.sleep(load.requests / load.rate / 2)
    try:
        server.get("/rotate")
    except (OSError, http.client.HTTPException, processes.Failure) as failure:
        failures.append(failure)


def _loaded(
    load: Load, server: Server, sampler: Sampler, directory: Path, manual: bool
) -> tuple[dict[str, int], list[tuple[int, int]]]:
    """What the server weighs before, during and after the load, and when each request began and how long it took."""
    words = ["-i", directory / "addresses", "-d", directory / "body"]
    words += [word for header in HEADERS for word in ("-H", header)]
    before = processes.memory_kib(server.process.pid)["rss_kib"]
    sampler.start()
    if load.warm_up:
        paced.h2load(server.port, load.clients, load.warm_up, words, directory)
    server.get("/reset")
    failures: list[Exception] = []
    rotator = threading.Thread(target=_rotate_at_half, args=(load, server, failures), daemon=True)
    if manual:
        rotator.start()
    sampler.load_begins()
    rows = paced.h2load(server.port, load.clients, load.requests, words, directory, load.rate)
    if manual:
        rotator.join()
        server.get("/rotate")
    if failures:
        raise failures[0]
    loaded = processes.memory_kib(server.process.pid)
    time.sleep(load.idle_seconds)
    idle = processes.memory_kib(server.process.pid)
    weights = {"before_kib": before, "peak_kib": idle["peak_kib"], "after_kib": loaded["rss_kib"]}
    return weights | {"idle_kib": idle["rss_kib"]}, rows


def run_once(load: Load, environment: Environment, who: str, sessions: str = "paused", manual: bool = False) -> Run:
    """The figures of one run. `manual`: the workers are told to begin new epochs at half of the load and at its end."""
    with tempfile.TemporaryDirectory(prefix="tslab-requests-") as name:
        directory = Path(name)
        (directory / "body").write_text(body())
        (directory / "addresses").write_text("\n".join(addresses(load)) + "\n")
        with serving(load, environment, directory, who, sessions) as server:
            sampler = Sampler(server.process.pid)
            memory, rows = _loaded(load, server, sampler, directory, manual)
            series = sampler.stop()
            server.stop()
        try:
            found = json.loads((directory / "stats.json").read_text())
        except ValueError as error:
            raise processes.Failure(f"{who} gave no figures to read: {error}") from None
    if found["wall"]["count"] != load.requests:
        raise processes.Failure(f"{who} counted {found['wall']['count']} requests of {load.requests}.")
    begins, took = zip(*rows)
    seconds = (max(begins) - min(begins)) / 1e6
    client = Histogram.of([1000 * each for each in took]).to_json()
    rate = (len(rows) - 1) / seconds if seconds else 0.0  # at which the requests really went out
    return {"memory": memory, "series": series, "client": client, "rate": rate, "server": found}
