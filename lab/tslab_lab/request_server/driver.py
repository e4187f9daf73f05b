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
SPREAD = "1ms"  # from the start of one connection to the next, so that their requests do not come all at once
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
    """The server, running. Whatever fails meanwhile is told with its last words."""

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


def h2load_argv(load: Load, port: int, directory: Path, count: int, rate: bool) -> list[str]:
    argv = ["h2load", "--h1", "-c", load.clients, "-n", count, "-B", f"http://127.0.0.1:{port}"]
    argv += ["-i", directory / "addresses", "-d", directory / "body"]
    for header in HEADERS:
        argv += ["-H", header]
    if rate:
        per_client = f"{load.rate / load.clients:g}"
        argv += ["-r", 1, "--rate-period", SPREAD, "--rps", per_client, "--log-file", directory / "log"]
    return [str(word) for word in argv]


def drive(load: Load, server: Server, directory: Path, count: int, rate: bool, who: str) -> None:
    """h2load is a program of the system's: it runs on the system's malloc, whatever the server has."""
    argv = h2load_argv(load, server.port, directory, count, rate)
    require_answers(processes.run(argv, processes.environment(), f"h2load against {who}"), count, who)


def require_answers(text: str, count: int, who: str) -> None:
    wanted = f"{count} done, {count} succeeded, 0 failed, 0 errored, 0 timeout"
    if wanted not in text:
        lines = [line for line in text.splitlines() if line.startswith(("requests:", "status codes:"))]
        raise processes.Failure(f"{who} did not answer every request:\n" + "\n".join("  | " + line for line in lines))


def read_log(path: Path) -> tuple[Histogram, float]:
    """The client's view: a histogram, and the rate at which the requests really went out."""
    rows = [line.split("\t") for line in path.read_text(encoding="ascii").splitlines()]
    begins = sorted(int(row[0]) for row in rows)
    seconds = (begins[-1] - begins[0]) / 1e6
    return Histogram.of([int(row[2]) * 1000 for row in rows]), (len(rows) - 1) / seconds if seconds else 0.0


def _rotate_at_half(load: Load, server: Server, failures: list[Exception]) -> None:
    time.sleep(load.requests / load.rate / 2)
    try:
        server.get("/rotate")
    except (OSError, http.client.HTTPException, processes.Failure) as failure:
        failures.append(failure)


def _loaded(load: Load, server: Server, sampler: Sampler, directory: Path, manual: bool, who: str) -> dict[str, int]:
    """What the server weighs before, during and after the load."""
    before = processes.memory_kib(server.process.pid)["rss_kib"]
    sampler.start()
    if load.warm_up:
        drive(load, server, directory, load.warm_up, False, who)
    server.get("/reset")
    failures: list[Exception] = []
    rotator = threading.Thread(target=_rotate_at_half, args=(load, server, failures), daemon=True)
    if manual:
        rotator.start()
    sampler.load_begins()
    drive(load, server, directory, load.requests, True, who)
    if manual:
        rotator.join()
        server.get("/rotate")
    if failures:
        raise failures[0]
    loaded = processes.memory_kib(server.process.pid)
    time.sleep(load.idle_seconds)
    idle = processes.memory_kib(server.process.pid)
    return {
        "before_kib": before,
        "peak_kib": idle["peak_kib"],
        "after_kib": loaded["rss_kib"],
        "idle_kib": idle["rss_kib"],
    }


def run_once(load: Load, environment: Environment, who: str, sessions: str = "paused", manual: bool = False) -> Run:
    """The figures of one run. `manual`: the workers are told to begin new epochs at half of the load and at its end."""
    with tempfile.TemporaryDirectory(prefix="tslab-requests-") as name:
        directory = Path(name)
        (directory / "body").write_text(body())
        (directory / "addresses").write_text("\n".join(addresses(load)) + "\n")
        with serving(load, environment, directory, who, sessions) as server:
            sampler = Sampler(server.process.pid)
            memory = _loaded(load, server, sampler, directory, manual, who)
            series = sampler.stop()
            server.stop()
        try:
            found = json.loads((directory / "stats.json").read_text())
        except ValueError as error:
            raise processes.Failure(f"{who} gave no figures to read: {error}") from None
        client, rate = read_log(directory / "log")
    if found["wall"]["count"] != load.requests:
        raise processes.Failure(f"{who} counted {found['wall']['count']} requests of {load.requests}.")
    return {"memory": memory, "series": series, "client": client.to_json(), "rate": rate, "server": found}
