"""An HTTP server that Prometheus asks for the figures of all processes."""

import ipaddress
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tslab_tools.failure import Failure
from tslab_tools.live import metrics, processes

_INDEX = b'<!doctype html><title>tslab</title><p>Metrics of processes that run on tslab: <a href="/metrics">/metrics</a>\n'


def address(text):
    """HOST:PORT, [HOST]:PORT of IPv6, or :PORT of this machine alone."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise Failure(f"'{text}' is no address to listen at, as 127.0.0.1:9447")
    return host.strip("[]") or "127.0.0.1", int(port)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/metrics":
            plain = "openmetrics" not in self.headers.get("Accept", "openmetrics")
            self._answer(200, metrics.PLAIN if plain else metrics.OPENMETRICS, self.server.scrape(plain).encode())
        elif path == "/":
            self._answer(200, "text/html; charset=utf-8", _INDEX)
        else:
            self._answer(404, "text/plain; charset=utf-8", b"only /metrics is here\n")

    do_HEAD = do_GET

    def _answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """Processes are looked at when somebody asks, and watched no longer: between two scrapes nothing is done."""

    daemon_threads = True

    def __init__(self, listen, pids=(), patience=processes.PATIENCE):
        self.address_family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        self._pids, self._patience, self._one = pids, patience, threading.Lock()
        super().__init__(listen, _Handler)

    @property
    def url(self):
        host, port = self.server_address[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"

    @property
    def is_open_to_others(self):
        return not ipaddress.ip_address(self.server_address[0]).is_loopback

    def scrape(self, plain):
        with self._one, processes.Watched(self._pids) as watched:
            found = watched.look_afresh(self._patience)
            return metrics.text(found, len(watched.unreadable), plain)
