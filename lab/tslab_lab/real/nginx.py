"""Work: nginx under wrk, which always runs on the system's malloc: files, compressed pages, pages put together of
others, and pages that it fetches from itself as a proxy."""

import gzip
import http.client
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment, Figures, Record
from tslab_lab.real import paced, spending

CONNECTIONS = 32
_SCRIPT = Path(__file__).with_name("jobs") / "requests.lua"
_PARTS = 6

# One process serves, so that it is all of the memory and of the processor time. A connection ends after some requests,
# as those of browsers do.
_CONFIGURATION = """
daemon off;
master_process off;
pid {directory}/pid;
error_log {directory}/errors warn;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {directory}/client;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    keepalive_requests {requests};
    gzip on;
    gzip_types text/plain;
    gzip_min_length 2000;
    gzip_proxied any;
    default_type text/plain;
    upstream self {{ server 127.0.0.1:{port}; keepalive 8; }}
    server {{
        listen 127.0.0.1:{port};
        root {directory}/files;
        location / {{ }}
        location /page {{ ssi on; ssi_types text/plain; }}
        location /again/ {{ proxy_pass http://self/; proxy_http_version 1.1; proxy_set_header Connection ""; }}
    }}
}}
"""


Done = tuple[int, float, list[Record]]  # requests, seconds, and the times of all where they were taken
Load = Callable[[int, Path], Done]  # on the server at this port, with a folder for its files


def files() -> dict[str, str]:
    """name -> contents, as they are on the disk."""
    found = {f"part{n}": f"part {n}, of the same words each time\n" * (n + 1) for n in range(_PARTS)}
    found["small"] = "a small file\n"
    found["large"] = "".join(f"line {n} of the large file: {n * n * 7919 % 100_003}\n" for n in range(600))
    found["page"] = "the page begins\n" + "".join(f'<!--#include virtual="/part{n}" -->' for n in range(_PARTS))
    return found


def answers() -> dict[str, str]:
    """path -> what the server is to answer."""
    found = {f"/{name}": text for name, text in files().items()}
    found["/page"] = "the page begins\n" + "".join(found[f"/part{n}"] for n in range(_PARTS))
    return found | {f"/again/{name}": found[f"/{name}"] for name in ("small", "large", "page")}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def check(port: int) -> None:
    """Asks for everything once, and compares."""
    for path, wanted in answers().items():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=processes.TIMEOUT_SECONDS)
        try:
            connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
            response = connection.getresponse()
            body = response.read()
            if response.getheader("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
        finally:
            connection.close()
        if response.status != 200 or body.decode(errors="replace") != wanted:
            raise processes.Failure(f"it answered wrongly to {path} (status {response.status}, {len(body)} bytes)")


def _load(client: str, port: int, seconds: int) -> Done:
    url = f"http://127.0.0.1:{port}"
    argv = [client, "-t", "1", "-c", CONNECTIONS, "-d", f"{seconds}s", "-s", _SCRIPT, url, "--", *answers()]
    text = processes.run(argv, processes.environment(), "wrk")
    try:
        found = json.loads(text.strip().rpartition("\n")[2])
    except ValueError:
        raise processes.Failure(f"wrk gave no figures to read:\n{text.strip()}") from None
    if found["requests"] == 0 or found["refused"] or found["lost"]:
        refused, lost = found["refused"], found["lost"]
        raise processes.Failure(f"of {found['requests']} requests {refused} were refused and {lost} lost")
    return found["requests"], found["seconds"], []


def _measure(server: subprocess.Popen[bytes], port: int, directory: Path, load: Load) -> Figures:
    processes.answered(lambda: socket.create_connection(("127.0.0.1", port), timeout=1), server).close()
    check(port)
    before = spending.processor_seconds(server.pid)
    requests, seconds, latency = load(port, directory)
    spent = spending.processor_seconds(server.pid) - before
    check(port)
    time.sleep(1)
    return {
        "operations": requests,
        "seconds": spent,
        "hash": spending.hash_of(*answers().values()),
        **processes.memory_kib(server.pid),
        **processes.spent_by(server.pid),
        "requests_per_second": requests / seconds,
        **({"latency": latency} if latency else {}),
    }


def run(program: str, client: str, seconds: int, environment: Environment, who: str) -> Figures:
    """Under wrk."""
    return _serve(program, 25, lambda port, _: _load(client, port, seconds), environment, who)


def run_paced(program: str, quick: bool, environment: Environment, who: str) -> Figures:
    """Under a load of a fixed rate."""

    def load(port: int, directory: Path) -> Done:
        requests, seconds, line = paced.nginx(port, answers(), quick, directory)
        return requests, seconds, [line]

    return _serve(program, 1_000_000, load, environment, who)


def _serve(program: str, requests: int, load: Load, environment: Environment, who: str) -> Figures:
    """`requests`: of a connection."""
    with tempfile.TemporaryDirectory(prefix="tslab-") as name:
        directory = Path(name)
        (directory / "files").mkdir()
        for file, text in files().items():
            (directory / "files" / file).write_text(text)
        port = _free_port()
        configuration, log = directory / "nginx.conf", directory / "errors"
        configuration.write_text(_CONFIGURATION.format(directory=directory, port=port, requests=requests))
        argv = [program, "-c", str(configuration), "-p", str(directory), "-e", str(log)]
        with processes.serving(argv, environment, who, log) as server:
            return _measure(server, port, directory, load)
