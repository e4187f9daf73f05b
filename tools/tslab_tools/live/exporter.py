"""An HTTP server that Prometheus asks for the figures of all processes. Who asks may be anybody on this machine, so the
number of connections, the bytes of a request and the time of each are bounded. A connection has a thread."""

import contextlib
import gzip
import io
import ipaddress
import os
import select
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Collection, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from types import SimpleNamespace
from typing import Any

from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder

from tslab_tools.failure import Failure
from tslab_tools.live import metrics, processes
from tslab_tools.live.processes import now

PATH = "/metrics"
DEADLINE = 5.0  # seconds in which processes are looked for; Prometheus waits for ten
CONNECTIONS_MOST, HEAD_MOST = 128, 8192
REQUEST_SECONDS, ANSWER_SECONDS = 2.0, 10.0  # for a whole request to come, and for its whole answer to go
_GRACE_SECONDS = 0.1  # in which nobody has to make room who is there
READING, WRITING, WAITING = range(3)  # the first make room for others


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


class _Scrape:
    """The figures of one look, in each form that somebody asks for, once."""

    def __init__(self, found: list[Metric]) -> None:
        self.found, self.done = found, now()
        self._texts: dict[tuple[str, bool], bytes] = {}
        self._lock = threading.Lock()

    def text(self, encoder: Callable[[Any], bytes], kind: str, is_packed: bool) -> bytes:
        with self._lock:
            if (kind, is_packed) not in self._texts:
                plain = encoder(SimpleNamespace(collect=lambda: self.found))
                self._texts[kind, is_packed] = gzip.compress(plain) if is_packed else plain
            return self._texts[kind, is_packed]


class _Request(BaseHTTPRequestHandler):
    server: "Server"

    def handle(self) -> None:
        head = b""
        while b"\r\n\r\n" not in head and len(head) < HEAD_MOST:
            part = self.request.recv(HEAD_MOST - len(head))
            if not part:
                return
            head += part
        self.rfile = io.BytesIO(head)
        self.raw_requestline = self.rfile.readline()
        self.requestline, self.request_version, self.command = "", "HTTP/0.9", ""
        if not self.parse_request():
            return
        if b"\r\n\r\n" not in head:
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif not is_meant(self.headers.get("Host"), self.server.names):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "Ask by address, or by the name given to --listen")
        elif self.command != "GET":
            self.send_error(HTTPStatus.NOT_IMPLEMENTED)
        elif self.path.partition("?")[0] != PATH:
            self.send_error(HTTPStatus.NOT_FOUND, f"The figures are at {PATH}")
        else:
            self._tell()

    def _tell(self) -> None:
        self.server.enter(self.request, WAITING)
        scrape = self.server.scrape(self.request)
        if scrape is None:  # it has made room
            return
        encoder, kind = choose_encoder(self.headers.get("Accept", ""))
        is_packed = "gzip" in self.headers.get("Accept-Encoding", "")
        text = scrape.text(encoder, kind, is_packed)
        self.server.enter(self.request, WRITING)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        if is_packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Processes are looked at when somebody asks, and watched no longer: between two scrapes nothing is done."""

    daemon_threads = allow_reuse_address = True
    request_queue_size = 128

    def __init__(
        self,
        listen: tuple[str, int],
        pids: Sequence[int] = (),
        per_process: bool = False,
        patience: float = processes.PATIENCE_WITH_ALL,
    ) -> None:
        self._pids, self._patience = pids, patience
        self._sums = None if per_process else metrics.Sums()
        self._changed = threading.Condition()  # what follows
        self._connections: dict[socket.socket, tuple[int, float]] = {}  # the state of each, and since when
        self._is_scraping = self._is_over = False
        self._last: _Scrape | None = None
        self.address_family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        try:
            super().__init__(listen, _Request)
        except OSError as problem:
            why = os.strerror(problem.errno) if problem.errno else str(problem)
            raise Failure(f"cannot listen at {_written(*listen)}: {why}") from problem
        self.names = {"localhost", listen[0].lower()}
        if self.is_open_to_others:
            self.names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    @property
    def url(self) -> str:
        return f"http://{_written(str(self.server_address[0]), self.server_address[1])}{PATH}"

    @property
    def is_open_to_others(self) -> bool:
        return not ipaddress.ip_address(str(self.server_address[0])).is_loopback

    def get_request(self) -> tuple[socket.socket, Any]:
        try:
            return super().get_request()
        except OSError:  # it has gone again, or there are no descriptors left
            time.sleep(0.01)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changed:
            while len(self._connections) >= CONNECTIONS_MOST and not self._is_over:
                first = min(self._connections, key=self._rank)
                is_there, state, since = self._rank(first)
                if is_there and (state == WAITING or now() < since + _GRACE_SECONDS):  # who comes now waits in turn
                    self._changed.wait(_GRACE_SECONDS)
                else:
                    self._end(first)
            while threading.active_count() > 2 * CONNECTIONS_MOST:  # those that have made room end soon
                self._changed.wait(_GRACE_SECONDS)
            self._connections[request] = READING, now()
        super().process_request(request, client_address)

    def _rank(self, request: socket.socket) -> tuple[bool, int, float]:
        """The first makes room for another: one that may be gone, one that asks for long, one that reads slowly."""
        poll = select.poll()
        poll.register(request, select.POLLRDHUP)
        return not poll.poll(0), *self._connections[request]

    def _end(self, request: socket.socket) -> None:
        """Its thread wakes."""
        del self._connections[request]
        with contextlib.suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)
        self._changed.notify_all()

    def enter(self, request: socket.socket, state: int) -> None:
        with self._changed:
            if request in self._connections:
                self._connections[request] = state, now()
                self._changed.notify_all()

    def service_actions(self) -> None:
        seconds = {READING: REQUEST_SECONDS, WRITING: ANSWER_SECONDS, WAITING: float("inf")}
        with self._changed:
            for request, (state, since) in list(self._connections.items()):
                if now() > since + seconds[state]:
                    self._end(request)

    def shutdown_request(self, request: Any) -> None:
        with self._changed:
            self._connections.pop(request, None)
            self._changed.notify_all()
        super().shutdown_request(request)

    def finish_request(self, request: Any, client_address: Any) -> None:
        with contextlib.suppress(OSError):  # a client that goes away is no news
            super().finish_request(request, client_address)

    def shutdown(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        super().shutdown()

    def scrape(self, request: socket.socket | None = None) -> _Scrape | None:
        """Those who come while somebody is being served get the same. None: the request has made room meanwhile."""
        asked = now()
        with self._changed:
            while self._is_scraping and (request is None or request in self._connections):
                self._changed.wait()
            if self._last and self._last.done >= asked:
                return self._last
            if request is not None and request not in self._connections:
                return None
            self._is_scraping = True
        try:
            self._last = _Scrape(self._look())
            return self._last
        finally:
            with self._changed:
                self._is_scraping = False
                self._changed.notify_all()

    def _look(self) -> list[Metric]:
        first = self._sums.pids if self._sums else ()
        with processes.Watched(self._pids, first) as watched:
            found = watched.look(DEADLINE, self._patience)
            each = self._sums.metrics(found) if self._sums else metrics.of_each(found)
            return [*each, *metrics.of_exporter(len(found), len(watched.unreadable), watched.unseen)]
