"""An HTTP server that Prometheus asks for the figures of all processes."""

import ipaddress
import socket
import threading
from collections.abc import Sequence
from http.server import ThreadingHTTPServer

from prometheus_client import CollectorRegistry, Metric, MetricsHandler
from prometheus_client.registry import Collector

from tslab_tools.failure import Failure
from tslab_tools.live import metrics, processes


def address(text: str) -> tuple[str, int]:
    """HOST:PORT, [HOST]:PORT of IPv6, or :PORT of this machine alone."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise Failure(f"'{text}' is no address to listen at, as 127.0.0.1:9447")
    return host.strip("[]") or "127.0.0.1", int(port)


class Server(ThreadingHTTPServer, Collector):
    """Processes are looked at when somebody asks, and watched no longer: between two scrapes nothing is done."""

    daemon_threads = True

    def __init__(self, listen: tuple[str, int], pids: Sequence[int] = (), patience: float = processes.PATIENCE) -> None:
        self.address_family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        self._pids, self._patience, self._at_work = pids, patience, threading.Lock()
        registry = CollectorRegistry()
        registry.register(self)
        handler = type("Handler", (MetricsHandler,), {"registry": registry, "timeout": 30})
        super().__init__(listen, handler)

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{f'[{host!s}]' if ':' in str(host) else host!s}:{port}/metrics"

    @property
    def is_open_to_others(self) -> bool:
        return not ipaddress.ip_address(str(self.server_address[0])).is_loopback

    def collect(self) -> list[Metric]:
        """What the registry asks for."""
        with self._at_work, processes.Watched(self._pids) as watched:
            found = watched.look_afresh(self._patience)
            return list(metrics.families(found, len(watched.unreadable)))
