"""Runs programs on a chosen allocator: a clean environment, a time limit, no survivors, errors that are sentences."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from tslab_lab.base.shapes import Environment, Figures, Words
from tslab_tools.failure import Failure as Failure

TIMEOUT_SECONDS = 100
START_SECONDS = 30  # of a server
STDERR_LINES = 8
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024
Answer = TypeVar("Answer")

# These change the behaviour of a libc, a Python or a loader; the figures would not be those of the plain program.
_FOREIGN = re.compile(r"^(LD_|MALLOC_|GLIBC_TUNABLES$|PYTHON|TSLAB_LIBRARY$)")
_BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `(\w+)'")


def environment(preload: Path | str | None = None) -> Environment:
    clean = {name: value for name, value in os.environ.items() if not _FOREIGN.match(name)}
    if preload:
        clean["LD_PRELOAD"] = str(preload)
    return clean


def tail(path: Path | str, lines: int = STDERR_LINES) -> str:
    text = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join("  | " + line[:200] for line in text[-lines:]) or "  | (it wrote nothing)"


def how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"died of {signal.Signals(-code).name}"
    except ValueError:
        return f"died of signal {-code}"


@contextlib.contextmanager
def started(
    argv: Sequence[Path | str], env: Environment, stdout: int | IO[bytes], stderr: int | IO[bytes], **more: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """The process, killed with all its children when the block is left. `more`: of subprocess.Popen."""
    process = subprocess.Popen(
        argv, env=env, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True, **more
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def serving(
    argv: Sequence[Path | str],
    env: Environment,
    who: str,
    log: Path,
    stop: Callable[[subprocess.Popen[bytes]], None] = lambda server: None,
    **more: Any,
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that runs, and writes to the file `log`. Whatever fails meanwhile tells how it ended, and its last words. `stop`: what
    is tried before it is killed."""
    with log.open("ab") as out, started(argv, env, out, out, **more) as server:
        try:
            yield server
        except (OSError, http.client.HTTPException, subprocess.TimeoutExpired, Failure, ValueError) as error:
            time.sleep(0.2)  # a server that dies may still be on its way out
            code = server.poll()
            reason = f"it {how_it_ended(code)}" if code else error
            raise Failure(f"{who}: {reason}. The server's last words:\n{tail(log)}") from None
        finally:
            stop(server)


def answered(ask: Callable[[], Answer], server: subprocess.Popen[bytes]) -> Answer:
    """Asks until a server answers that has just begun."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return ask()
        except (OSError, Failure):
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def run(argv: Words, env: Environment, who: str, **more: Any) -> str:
    """Standard output of a program that ends well. `who` names program and allocator in the error."""
    return outputs(argv, env, who, **more)[0]


def outputs(argv: Words, env: Environment, who: str, **more: Any) -> tuple[str, str]:
    """The same, and standard error."""
    with tempfile.TemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        with started([str(a) for a in argv], env, out, err, **more) as process:
            try:
                code = process.wait(TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                raise Failure(f"{who} hung for {TIMEOUT_SECONDS} s. Its last words:\n{tail(err.name)}") from None
        if code != 0:
            raise Failure(f"{who} {how_it_ended(code)}. Its last words:\n{tail(err.name)}")
        out.seek(0)
        err.seek(0)
        return out.read().decode(), err.read().decode(errors="replace")


def ends_well(argv: Words, environment: Environment) -> bool:
    """Whether a program that does next to nothing can do it: as where the library must have epochs."""
    words = [str(a) for a in argv]
    return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def figures(argv: Words, env: Environment, who: str) -> Figures:
    """What a program of the lab's prints: a line of JSON."""
    text = run(argv, env, who)
    try:
        found: Figures = json.loads(text)
    except ValueError:
        raise Failure(f"{who} gave no figures to read:\n{text.strip()}") from None
    return found


def bindings(text: str, program: str) -> dict[str, str]:
    """From the dynamic linker's debug output: which file serves each symbol of the program itself. (In a program at a
    fixed address, malloc as a pointer is bound to the program's own stub, which leads on to the file wanted here.)"""
    return {symbol: target for user, target, symbol in _BINDING.findall(text) if user == program and target != program}


def allocator_of(argv: Words, env: Environment, who: str) -> str:
    """The file that malloc and free of this program come from, by the word of the dynamic linker."""
    program = str(argv[0])
    with tempfile.TemporaryDirectory() as directory:
        debug = {"LD_DEBUG": "bindings", "LD_BIND_NOW": "1", "LD_DEBUG_OUTPUT": directory + "/bindings"}
        run(argv, env | debug, who)
        found: dict[str, str] = {}
        for path in Path(directory).iterdir():
            found |= bindings(path.read_text(errors="replace"), program)
    if "malloc" not in found or found.get("free") != found["malloc"]:
        raise Failure(f"Cannot tell which allocator {who} uses: the dynamic linker names none for its malloc and free.")
    return found["malloc"]


def is_libc(path: Path | str) -> bool:
    return Path(path).name.startswith("libc.so")


def system_preload(argv: Words, name: str) -> str | None:
    """What puts this program on the C library's malloc: nothing, or the C library itself, in front of the allocator
    that the program is linked against."""
    linked = allocator_of(argv, environment(), f"{name} by itself")
    if is_libc(linked):
        return None
    served = allocator_of(argv, environment("libc.so.6"), f"{name} on the system's malloc")
    if not is_libc(served):
        raise Failure(f"{name} is linked against {linked}, and LD_PRELOAD=libc.so.6 does not bring it back to libc.")
    return "libc.so.6"


def require_served_by(library: Path, argv: Words, name: str, env: Environment) -> None:
    served = allocator_of(argv, env, f"{name} on {Path(library).name}")
    if not os.path.samefile(served, library):
        raise Failure(f"{name} does not run on {library} although it is preloaded, but on {served}.")


_MEMORY = {
    "peak_kib": ("status", ("VmHWM:",)), "rss_kib": ("smaps_rollup", ("Rss:",)), "pss_kib": ("smaps_rollup", ("Pss:",)),
    "private_kib": ("smaps_rollup", ("Private_Clean:", "Private_Dirty:")), "huge_kib": ("smaps_rollup", ("AnonHugePages:",)),
}  # fmt: skip


def memory_kib(pid: int) -> dict[str, int]:
    """Peak and present RSS, and of this the proportional share, what is private and what lies in huge pages. smaps_rollup counts
    page by page; VmRSS in status may lag by many pages per processor."""
    texts = {file: Path(f"/proc/{pid}/{file}").read_text().splitlines() for file in ("status", "smaps_rollup")}
    return {name: sum(_kib_in(texts[file], key, pid) for key in keys) for name, (file, keys) in _MEMORY.items()}


def _kib_in(lines: Iterable[str], key: str, pid: int) -> int:
    for line in lines:
        if line.startswith(key):
            return int(line.split()[1])
    raise Failure(f"/proc/{pid} tells no {key}")


def rss_kib(pid: int) -> int:
    """At little cost; 0: it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_KIB
    except OSError:
        return 0


def spent_by(pid: int) -> dict[str, float]:
    """What a process has taken of the system until now, with all its threads: page faults, and seconds in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return {"faults": int(fields[7]) + int(fields[9]), "system_seconds": int(fields[12]) / os.sysconf("SC_CLK_TCK")}
