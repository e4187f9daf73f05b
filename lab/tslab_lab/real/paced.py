"""Loads of a fixed rate, for `lab latency`: how long requests take from when they are due, so that a server that stalls is
charged with all that waited meanwhile. The clients run on the system's malloc."""

from collections.abc import Collection, Iterable
from pathlib import Path

from tslab_lab.base import compiling, places, processes
from tslab_lab.base.shapes import Record, Words
from tslab_lab.estimates.histogram import Histogram
from tslab_lab.real import spending

OPERATION = "request"
REDIS_RATE, NGINX_RATE, POSTGRES_RATE = (
    20_000,
    4_000,
    250,
)  # a second: about a third of what each does at most on two processors
SECONDS, POSTGRES_SECONDS = (2, 1), (6, 1)  # and quick
NGINX_CLIENTS = 50
_CLIENT = places.BUILT / "paced"


def prepare() -> None:
    """Compiles the client of redis."""
    compiling.build(_CLIENT, [spending.JOBS / "paced.c"], ["-std=gnu17", "-O2"], ("-lm",))


def line_of(values_ns: Collection[int]) -> Record:
    """Of a file of results, from the times of all requests."""
    return Histogram.of(values_ns).line(OPERATION, timer="wall")


def redis(path: str, quick: bool) -> tuple[int, float, Record]:
    """Requests, seconds and the line of a load on the server at this socket."""
    count = REDIS_RATE * SECONDS[quick]
    text = processes.run([_CLIENT, path, REDIS_RATE, count, 20_000], processes.environment(), "the client")
    seconds, *values = text.split()
    return count, float(seconds), line_of(list(map(int, values)))


def h2load(
    port: int, clients: int, count: int, words: Words, directory: Path, rate: float = 0
) -> list[tuple[int, int]]:
    """Sends `count` requests to a server over HTTP. `words` say which. `rate` is how many go out a second. With a rate it returns
    when each began, and how long it took, in microseconds."""
    log = directory / "log"
    argv = ["h2load", "--h1", "-c", clients, "-n", count, "-B", f"http://127.0.0.1:{port}", *words]
    # The period is from the start of one connection to the next, so that their requests do not come all at once.
    paced = ("-r", 1, "--rate-period", "1ms", "--rps", f"{rate / clients:g}", "--log-file", log) if rate else ()
    text = processes.run([*argv, *paced], processes.environment(), "h2load")
    if f"{count} done, {count} succeeded, 0 failed, 0 errored, 0 timeout" not in text:
        raise processes.Failure(f"not every request was answered:\n{text.strip()}")
    rows = [row.split("\t") for row in log.read_text(encoding="ascii").splitlines()] if rate else []
    return [(int(row[0]), int(row[2])) for row in rows]


def nginx(port: int, paths: Iterable[str], quick: bool, directory: Path) -> tuple[int, float, Record]:
    """The same for the server at this port; `paths`: to ask for, in turns."""
    count, addresses = NGINX_RATE * SECONDS[quick], directory / "addresses"
    addresses.write_text("".join(f"{path}\n" for path in paths))
    words = ("-i", addresses, "-H", "accept-encoding: gzip")
    begins, took = zip(*h2load(port, NGINX_CLIENTS, count, words, directory, NGINX_RATE))
    return count, (max(begins) - min(begins)) / 1e6, line_of([1000 * each for each in took])


def postgres_words(quick: bool) -> list[str]:
    """For pgbench, which then writes how long each transaction took."""
    return ["-R", str(POSTGRES_RATE), "-T", str(POSTGRES_SECONDS[quick]), "-l", "--log-prefix", "took"]


def postgres(directory: Path) -> Record:
    """The line, of what pgbench wrote: the third word of a row is the time in microseconds from when the transaction was due."""
    rows = [row.split() for file in directory.glob("took*") for row in file.read_text(encoding="ascii").splitlines()]
    return line_of([1000 * int(row[2]) for row in rows])
