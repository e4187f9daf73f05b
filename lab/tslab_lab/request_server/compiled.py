"""Compiles the request server and the program of the scattered survivors."""

from pathlib import Path

from tslab_lab.base import compiling, places

SOURCES = Path(__file__).with_name("c")
BUILT = places.BUILT / "server"
SERVER, SCATTERED = BUILT / "server", BUILT / "scattered"
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O3", "-g", "-pthread", "-fno-builtin-malloc", "-fno-builtin-free"]
PARTS: dict[Path, tuple[list[str], list[str]]] = {
    SERVER: (["server.c", "request.c", "session.c", "measure.c", "json.c"], ["-lmicrohttpd", "-lm"]),
    SCATTERED: (["scattered.c"], []),
}
HINT = "\nIf libmicrohttpd is missing: run `make setup`, or: apt-get install libmicrohttpd-dev"


def build(target: Path) -> None:
    """Compiles a program when any source changed."""
    names, libraries = PARTS[target]
    sources = [SOURCES / name for name in names]
    inputs = [places.ROOT / "include/tslab/tslab.h"] if places.ROOT else []
    hint = HINT if target == SERVER else ""
    compiling.build(target, sources, [*FLAGS, *places.HEADERS], libraries, inputs, hint)
