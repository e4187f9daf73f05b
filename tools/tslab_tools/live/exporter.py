"""An HTTP server that Prometheus asks for the figures of all processes. Who asks may be anybody on this machine, so the
number of connections, the bytes of a request and the time of each are bounded. One thread has all connections and never
waits for one of them; another looks at the processes."""

import collections
import contextlib
import gzip
import io
import ipaddress
import os
import selectors
import socket
import threading
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from types import SimpleNamespace
from typing import Any, Self

from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder

from tslab_tools.failure import Failure
from tslab_tools.live import metrics, processes
from tslab_tools.live.processes import now

PATH = "/metrics"
DEADLINE = 5.0  # seconds in which processes are looked for; Prometheus waits for ten
CONNECTIONS_MOST, HEAD_MOST = 128, 8192
REQUEST_SECONDS, ANSWER_SECONDS = 2.0, 10.0  # for a whole request to come, and for its whole answer to go
_BACKLOG, _PART = 128, 1 << 16
READING, WAITING, WRITING = range(3)


def address(text: str) -> tuple[str, int]:
    """HOST:PORT, [HOST]:PORT of IPv6, or :PORT of this machine alone."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise Failure(f"'{text}' is no address to listen at, as 127.0.0.1:9447")
    return host.strip("[]") or "127.0.0.1", int(port)


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_meant(host: str | None, names: Collection[str]) -> bool:
    """Whether a request with this Host is for us. A page in a browser may give its own name the address of this
    machine: then it asks for that name, and never for an address."""
    if host is None:
        return True
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return name.lower().rstrip(".") in names


def _why(problem: OSError) -> str:
    return os.strerror(problem.errno) if problem.errno else str(problem)


class _Request(BaseHTTPRequestHandler):
    """What is asked for. The answer is made in memory: its reader may be slow."""

    def __init__(self, head: bytes, server: "Server") -> None:
        self.rfile, self._written = io.BytesIO(head), io.BytesIO()
        self.wfile = self._written
        self.server, self.client_address = server, ("", 0)  # type: ignore[assignment]
        self.raw_requestline = self.rfile.readline()
        self.requestline, self.request_version, self.command = "", "HTTP/0.9", ""
        self.is_for_figures = self.parse_request() and self._is_meant_and_known(head, server)

    def _is_meant_and_known(self, head: bytes, server: "Server") -> bool:
        if b"\r\n\r\n" not in head:
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif not is_meant(self.headers.get("Host"), server.names):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "Ask by address, or by the name given to --listen")
        elif self.command != "GET":
            self.send_error(HTTPStatus.NOT_IMPLEMENTED)
        elif self.path.partition("?")[0] != PATH:
            self.send_error(HTTPStatus.NOT_FOUND, f"The figures are at {PATH}")
        else:
            return True
        return False

    def tell(self, written: "_Written") -> bytes:
        """Ends the head of the answer, and returns what is behind it."""
        encoder, kind = choose_encoder(self.headers.get("Accept", ""))
        is_packed = "gzip" in self.headers.get("Accept-Encoding", "")
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        if is_packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        return written.text(encoder, kind, is_packed)

    @property
    def answer(self) -> bytes:
        return self._written.getvalue()

    def log_message(self, *_: Any) -> None:
        pass


class _Written:
    """The figures of one scrape, in each form that somebody asks for, once."""

    def __init__(self, found: Collection[Metric]) -> None:
        self._found = SimpleNamespace(collect=lambda: found)
        self._texts: dict[tuple[str, bool], bytes] = {}

    def text(self, encoder: Callable[[Any], bytes], kind: str, is_packed: bool) -> bytes:
        if (kind, is_packed) not in self._texts:
            plain = encoder(self._found)
            self._texts[kind, is_packed] = gzip.compress(plain) if is_packed else plain
        return self._texts[kind, is_packed]


class _Connection:
    """Its request comes, waits for figures, and its answer goes."""

    def __init__(self, file: socket.socket) -> None:
        file.setblocking(False)
        self.file, self.state, self.since = file, READING, now()
        self.is_half_closed = False  # nobody may be there any more
        self.head, self.figures, self.answer = b"", b"", memoryview(b"")
        self.request: _Request | None = None

    @property
    def end(self) -> float:
        """When its time is over."""
        return self.since + (REQUEST_SECONDS, float("inf"), ANSWER_SECONDS)[self.state]

    @property
    def rank(self) -> tuple[bool, int, float]:
        """The first makes room for another: one that may be gone, one that asks for long, one that reads slowly."""
        return not self.is_half_closed, (0, 2, 1)[self.state], self.since

    def enter(self, state: int) -> None:
        self.state, self.since = state, now()


class Server:
    """Processes are looked at when somebody asks, and watched no longer: between two scrapes nothing is done."""

    def __init__(
        self,
        listen: tuple[str, int],
        pids: Sequence[int] = (),
        per_process: bool = False,
        patience: float = processes.PATIENCE_WITH_ALL,
    ) -> None:
        self._pids, self._patience = pids, patience
        self._sums = None if per_process else metrics.Sums()
        self._at_work = threading.Lock()
        self._scraped: tuple[float, list[Metric]] = (float("-inf"), [])  # when that was done, and what was found
        self._connections: dict[socket.socket, _Connection] = {}
        self._asked: collections.deque[_Connection] = collections.deque()
        self._answered: collections.deque[_Connection] = collections.deque()
        self._is_asked, self._is_over, self._has_ended = threading.Event(), threading.Event(), threading.Event()
        family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        try:
            self._listener = socket.create_server(listen, family=family, backlog=_BACKLOG)
        except OSError as problem:
            raise Failure(f"cannot listen at {_written(*listen)}: {_why(problem)}") from problem
        self._listener.setblocking(False)
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self.server_address: tuple[Any, ...] = self._listener.getsockname()
        self.names = {"localhost", listen[0].lower()}
        if self.is_open_to_others:
            self.names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server_close()

    def server_close(self) -> None:
        for connection in list(self._connections.values()):
            self._close(connection)
        for file in (self._listener, self._bell, self._ringer):
            file.close()
        self._selector.close()

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{_written(str(host), port)}{PATH}"

    @property
    def is_open_to_others(self) -> bool:
        return not ipaddress.ip_address(str(self.server_address[0])).is_loopback

    def serve_forever(self, interval: float = 0.5) -> None:
        threading.Thread(target=self._work, daemon=True).start()
        try:
            while not self._is_over.is_set():
                ready = [key.fileobj for key, _ in self._selector.select(interval)]
                for file in sorted(ready, key=lambda file: file is self._listener):  # new ones make nobody go unheard
                    self._handle(file)
                while self._answered:
                    self._begin_to_write(self._answered.popleft())
                for connection in [each for each in self._connections.values() if each.end < now()]:
                    self._close(connection)
        finally:
            self._is_over.set()
            self._is_asked.set()
            self._has_ended.set()

    def shutdown(self) -> None:
        self._is_over.set()
        self._ring()
        self._has_ended.wait()

    def _ring(self) -> None:
        with contextlib.suppress(OSError):
            self._ringer.send(b"x")

    def _handle(self, file: Any) -> None:
        if file is self._listener:
            self._accept()
        elif file is self._bell:
            with contextlib.suppress(BlockingIOError):
                self._bell.recv(_PART)
        elif connection := self._connections.get(file):
            try:
                (self._read, self._look, self._write)[connection.state](connection)
            except BlockingIOError:
                pass
            except OSError:  # a client that goes away is no news
                self._close(connection)
            except Exception:  # one request must not end the others
                traceback.print_exc()
                self._close(connection)

    def _accept(self) -> None:
        if len(self._connections) >= CONNECTIONS_MOST:
            first = min(self._connections.values(), key=lambda connection: connection.rank)
            if first.state == WAITING and not first.is_half_closed:
                self._selector.unregister(
                    self._listener
                )  # who comes now waits, in turn, until one of these has its answer
                return
            self._close(first)
        try:
            file, _ = self._listener.accept()
        except OSError:  # it has gone again, or there are no descriptors left
            time.sleep(0.01)
            return
        self._connections[file] = _Connection(file)
        self._selector.register(file, selectors.EVENT_READ)

    def _close(self, connection: _Connection) -> None:
        if self._connections.pop(connection.file, None) is None:
            return
        self._watch(connection.file, 0)
        connection.file.close()
        self._watch(self._listener, selectors.EVENT_READ)

    def _watch(self, file: socket.socket, events: int) -> None:
        """For these events, or for none. The listener again wherever a connection may make room."""
        is_watched = file in self._selector.get_map()
        if is_watched and events:
            self._selector.modify(file, events)
        elif events:
            self._selector.register(file, events)
        elif is_watched:
            self._selector.unregister(file)

    def _read(self, connection: _Connection) -> None:
        part = connection.file.recv(HEAD_MOST - len(connection.head))
        if not part:
            self._close(connection)
            return
        connection.head += part
        if b"\r\n\r\n" not in connection.head and len(connection.head) < HEAD_MOST:
            return
        connection.request = _Request(connection.head, self)
        if not connection.request.is_for_figures:
            self._begin_to_write(connection)
            return
        connection.enter(WAITING)
        self._asked.append(connection)
        self._is_asked.set()

    def _look(self, connection: _Connection) -> None:
        """Something comes from one that waits: its end, mostly. It may have closed one direction alone."""
        connection.is_half_closed = not connection.file.recv(_PART)
        self._watch(connection.file, 0)
        self._watch(self._listener, selectors.EVENT_READ)

    def _begin_to_write(self, connection: _Connection) -> None:
        if connection.file not in self._connections or connection.request is None:
            return  # it has made room
        connection.answer = memoryview(connection.request.answer)
        connection.enter(WRITING)
        self._watch(connection.file, selectors.EVENT_WRITE)
        self._watch(self._listener, selectors.EVENT_READ)

    def _write(self, connection: _Connection) -> None:
        connection.answer = connection.answer[connection.file.send(connection.answer) :]
        if not connection.answer:
            connection.answer, connection.figures = memoryview(connection.figures), b""  # many share them
        if not connection.answer:
            with contextlib.suppress(OSError):
                connection.file.shutdown(socket.SHUT_WR)
            self._close(connection)

    def _work(self) -> None:
        """The other thread: one scrape for all who wait for one."""
        while True:
            self._is_asked.wait()
            self._is_asked.clear()
            if self._is_over.is_set():
                return
            waiting = [self._asked.popleft() for _ in range(len(self._asked))]
            if not waiting:  # the scrape before was for them, too
                continue
            try:
                written = _Written(self.collect())
                for connection in waiting:
                    assert connection.request
                    connection.figures = connection.request.tell(written)
            except Exception:  # these get no answer, and the next do
                traceback.print_exc()
            self._answered.extend(waiting)
            self._ring()

    def collect(self) -> list[Metric]:
        """Those who come while somebody is being served get the same."""
        asked = now()
        with self._at_work:
            if self._scraped[0] < asked:
                found = self._scrape()
                self._scraped = (now(), found)
            return self._scraped[1]

    def _scrape(self) -> list[Metric]:
        first = self._sums.pids if self._sums else ()
        with processes.Watched(self._pids, first) as watched:
            found = watched.look(DEADLINE, self._patience)
            each = self._sums.metrics(found) if self._sums else metrics.of_each(found)
            return [*each, *metrics.of_exporter(len(found), len(watched.unreadable), watched.unseen)]
