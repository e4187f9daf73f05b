"""An HTTP server that Prometheus asks for the figures of all processes. Who asks may be anybody on this machine, so the
number of connections, the bytes of a request and the time of each are bounded."""

import contextlib
import io
import ipaddress
import socket
import sys
import threading
from collections.abc import Collection, Sequence
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry, Metric, MetricsHandler
from prometheus_client.registry import Collector

from tslab_tools.failure import Failure
from tslab_tools.live import metrics, processes
from tslab_tools.live.processes import now

PATH = "/metrics"
DEADLINE = 5.0  # seconds in which processes are looked for; Prometheus waits for ten
CONNECTIONS_MOST, HEAD_MOST = 16, 8192
REQUEST_SECONDS, ANSWER_SECONDS, ROOM_SECONDS = 2.0, 10.0, 1.0


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


class _Handler(MetricsHandler):
    server: "Server"

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BytesIO(self._head())
        self.connection.settimeout(ANSWER_SECONDS)

    def _head(self) -> bytes:
        """Of the request, up to its empty line; nothing if it does not come in time."""
        head, end = b"", now() + REQUEST_SECONDS
        try:
            while b"\r\n\r\n" not in head and len(head) < HEAD_MOST:
                self.connection.settimeout(max(0.001, end - now()))
                part = self.connection.recv(HEAD_MOST - len(head))
                if not part:
                    return b""
                head += part
            return head
        except OSError:
            return b""
        finally:
            self.server.reading.pop(self.connection, None)

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        if b"\r\n\r\n" not in self.rfile.getvalue():  # type: ignore[attr-defined]
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif not is_meant(self.headers.get("Host"), self.server.names):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "Ask by address, or by the name given to --listen")
        elif self.path.partition("?")[0] != PATH:
            self.send_error(HTTPStatus.NOT_FOUND, f"The figures are at {PATH}")
        else:
            return True
        return False


class Server(ThreadingHTTPServer, Collector):
    """Processes are looked at when somebody asks, and watched no longer: between two scrapes nothing is done."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        listen: tuple[str, int],
        pids: Sequence[int] = (),
        per_process: bool = False,
        patience: float = processes.PATIENCE_WITH_ALL,
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        self._pids, self._patience = pids, patience
        self._sums = None if per_process else metrics.Sums()
        self._at_work, self._room = threading.Lock(), threading.BoundedSemaphore(CONNECTIONS_MOST)
        self.reading: dict[socket.socket, None] = {}  # connections without a whole request yet, the oldest first
        self._scraped: tuple[float, list[Metric]] = (float("-inf"), [])  # when that was done, and what was found
        registry = CollectorRegistry()
        registry.register(self)
        try:
            super().__init__(listen, type("Handler", (_Handler,), {"registry": registry}))
        except OSError as problem:
            raise Failure(f"cannot listen at {_written(*listen)}: {problem.strerror}") from problem
        self.names = {"localhost", listen[0].lower()}
        if self.is_open_to_others:
            self.names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{_written(str(host), port)}{PATH}"

    @property
    def is_open_to_others(self) -> bool:
        return not ipaddress.ip_address(str(self.server_address[0])).is_loopback

    def process_request(self, request: Any, client_address: Any) -> None:
        """Where there is no room, the request that has been coming for the longest time makes some."""
        if not self._room.acquire(blocking=False):
            for oldest in list(self.reading)[:1]:
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RD)
            if not self._room.acquire(timeout=ROOM_SECONDS):
                self.shutdown_request(request)
                return
        self.reading[request] = None
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.reading.pop(request, None)
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that goes away is no news
            super().handle_error(request, client_address)

    def collect(self) -> list[Metric]:
        """What the registry asks for. Those who come while somebody is being served get the same."""
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
