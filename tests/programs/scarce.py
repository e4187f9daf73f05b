"""Real programs when the system refuses what the library asks for: they may say that they are out of memory, but lose nothing
that they said was done, and never die in the library; and where only a hint fails, they do the same as ever.

FAULTS_INTERPOSER names the library that lets calls fail (tests/faults/interpose.c)."""

import contextlib
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))
from run import PATIENCE, PYTHON, Failed, await_condition, entry, expect, free_port, need, tslab_lines

# What only means that memory comes back later, or a time is not known.
HINTS = ("madvise:0:0:EINVAL,munmap:0:0:ENOMEM", "clock_gettime:0:0:LIE,openat:0:0:EMFILE", "clock_gettime:0:0:EPERM,futex:0:0:EINTR",
         "__register_atfork:0:1:ENOMEM,getrandom:0:0:EAGAIN")
# What means that there is no memory: from some call on, or once.
SHORTAGES = ("mmap:0:0:ENOMEM", "mmap:1:0:ENOMEM", "mmap:5:0:ENOMEM", "mmap:7:0:ENOMEM", "mmap:8:0:ENOMEM", "mmap:9:0:ENOMEM",
             "mmap:11:0:ENOMEM", "mmap:13:0:ENOMEM", "mmap:16:0:ENOMEM", "mmap:20:0:ENOMEM", "mmap:30:0:ENOMEM", "mmap:12:1:ENOMEM",
             "pthread_setspecific:0:0:ENOMEM", "pthread_key_create:0:0:EAGAIN")


def faulty(runner, plan):
    """The environment of a program under a plan of faults."""
    interposer = os.environ["FAULTS_INTERPOSER"]
    return {"LD_PRELOAD": f"{interposer}:{runner.library}", "FAULTS": plan}


def attempt(runner, command, extra, **options):
    """Runs a program that may fail. Returns its exit code, standard output and stderr; to die in the library is a failure."""
    environment = runner.environment(False, extra)
    try:
        done = subprocess.run(command, cwd=options.pop("cwd", runner.directory), env=environment, capture_output=True, text=True,
                              timeout=PATIENCE, check=False, errors="replace", **options)
    except subprocess.TimeoutExpired as hung:
        raise Failed(f"{command} hung with {extra}") from hung
    said = [line for line in done.stderr.splitlines() if line.startswith(("tslab:", "faults:"))]
    expect(not said, f"{command} with {extra}: {said}")
    return done.returncode, done.stdout, done.stderr


def expect_own_words(what, code, stderr, words):
    """A program that failed did so of its own will: it said why, and no signal ended it but its own abort."""
    expect(code != 0 and code not in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL), f"{what}: it died with {code}: {stderr[-500:]}")
    expect(any(word in stderr.lower() for word in words), f"{what}: it ended with {code} and does not say why: {stderr[-500:]}")


# Not by the module threading, whose start() waits for ever for a thread that had no memory to say that it has started.
SCRIPT = """
import hashlib, time, _thread
def work():
    texts = {str(i): "x" * (i % 500) for i in range(40000)}
    digest = hashlib.sha256("".join(sorted(texts.values())).encode()).hexdigest()
    blocks = [bytearray(100000) for _ in range(200)]
    return digest, len(blocks)
done = [False, False]
def in_thread(number):
    try:
        work()
    finally:
        done[number] = True
[_thread.start_new_thread(in_thread, (number,)) for number in range(2)]
print(work())
for _ in range(1000):
    if all(done):
        break
    time.sleep(0.01)
else:
    raise MemoryError("a thread did not come to its end")
"""


@entry
def scarce_python(runner):
    extra = {"PYTHONMALLOC": "malloc"}
    command = [PYTHON, "-S", "-c", SCRIPT]
    plain = runner.run(command, preload=False, extra=extra)
    failed = 0
    for plan in HINTS:
        expect(attempt(runner, command, {**extra, **faulty(runner, plan)}) == (0, plain, ""), f"{plan}: it does something else")
    for plan in SHORTAGES:
        code, stdout, stderr = attempt(runner, command, {**extra, **faulty(runner, plan)})
        if code != 0:
            expect_own_words(plan, code, stderr, ("memory",))
        expect(stdout in ("", plain), f"{plan}: it prints {stdout!r}")
        failed += code != 0
    expect(failed > 0, "no plan left it without memory, so this proves nothing")


@entry
def scarce_sqlite3(runner):
    """Each row is a transaction of its own; those that were said to be there are there, and the file is sound."""
    program = need("sqlite3", "sqlite3")
    rows = "".join(f"insert into t values({i}, randomblob({(i * 7919) % 60000 + 10}));\nselect {i};\n" for i in range(60))
    script = f"pragma synchronous=off;\ncreate table t(i integer primary key, b blob);\n{rows}select count(*), sum(length(b)) from t;\n"
    plain = runner.run([program, runner.path("plain.db")], preload=False, input=script)
    failed = 0
    for number, plan in enumerate(HINTS + SHORTAGES):
        base = runner.path(f"{number}.db")
        code, stdout, stderr = attempt(runner, [program, "-bail", base], faulty(runner, plan), input=script)
        expect(plan not in HINTS or (code == 0 and stdout == plain), f"{plan}: it does something else: {stderr}")
        if code != 0:
            expect_own_words(plan, code, stderr, ("memory",))
        said = len([line for line in stdout.splitlines() if line.isdigit()])
        if os.path.exists(base):
            expect(runner.run([program, base, "pragma integrity_check"], preload=False) == "ok\n", f"{plan}: the file is damaged")
        if said > 0:
            there = int(runner.run([program, base, "select count(*) from t"], preload=False))
            expect(there >= said, f"{plan}: {said} rows were said to be there, and {there} are")
        failed += code != 0
    expect(failed > 0, "no plan left it without memory, so this proves nothing")


def redis_fill(port, count):
    """Sets values until the server is gone; returns which it has acknowledged."""
    acknowledged = []
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        answers = connection.makefile("rb")
        for i in range(count):
            key, value = f"key{i}".encode(), b"v" * ((i * 7919) % 40000 + 1)
            connection.sendall(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value))
            if answers.readline() != b"+OK\r\n":
                break
            acknowledged.append((key, len(value)))
    return acknowledged


@contextlib.contextmanager
def redis(runner, directory, extra):
    port = free_port()
    command = [need("redis-server", "redis-server"), "--port", str(port), "--dir", directory, "--appendonly", "yes", "--appendfsync",
               "always", "--save", "", "--crash-log-enabled", "no", "--crash-memcheck-enabled", "no"]
    with open(os.path.join(directory, "log"), "ab") as log:
        server = subprocess.Popen(command, env=runner.environment(False, extra), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        def is_there():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
                connection.sendall(b"PING\r\n")
                return connection.makefile("rb").readline() == b"+PONG\r\n"
            return server.poll() is not None
        await_condition(is_there, "the server neither answers nor ends")
        yield server, port
    finally:
        server.kill()
        server.wait()


@entry
def scarce_redis(runner):
    """What was acknowledged is there when the server starts again; it ends by its own word alone."""
    failed = 0
    for number, plan in enumerate(HINTS[:2] + ("mmap:14:0:ENOMEM", "mmap:20:0:ENOMEM", "mmap:26:0:ENOMEM")):
        directory = runner.path(f"redis-{number}")
        os.mkdir(directory)
        with redis(runner, directory, faulty(runner, plan)) as (server, port):
            acknowledged = redis_fill(port, 600) if server.poll() is None else []
            if plan in HINTS:
                expect(len(acknowledged) == 600, f"{plan}: only {len(acknowledged)} of 600 values were taken")
            await_condition(lambda s=server, n=len(acknowledged): n == 600 or s.poll() is not None, "the server hangs")
            if len(acknowledged) < 600:
                failed += 1
                with open(os.path.join(directory, "log"), encoding="utf-8", errors="replace") as log:
                    expect_own_words(plan, server.returncode, log.read(), ("out of memory", "oom", "can't allocate"))
        with redis(runner, directory, {}) as (server, port):
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
                answers = connection.makefile("rb")
                for key, length in acknowledged:
                    connection.sendall(b"STRLEN %s\r\n" % key)
                    answer = answers.readline()
                    expect(answer == b":%d\r\n" % length, f"{plan}: {key} was acknowledged, and has {answer} instead of {length} bytes")
    expect(failed > 0, "no plan left it without memory, so this proves nothing")


@entry
def scarce_start(runner):
    """Limits on the address space, from far too small to enough: the loader says so, or the program says so, or it works."""
    command = [PYTHON, "-S", "-c", "print(len([str(i) for i in range(10000)]))"]
    ends = set()
    for kib in (1024, 4096, 8192, *range(9216, 20480, 512), 24576, 32768):
        limits = {"preexec_fn": lambda k=kib: resource.setrlimit(resource.RLIMIT_AS, (k * 1024, k * 1024))}
        code, stdout, stderr = attempt(runner, command, {"PYTHONMALLOC": "malloc", "LD_PRELOAD": runner.library}, **limits)
        if code == -signal.SIGSEGV:  # the kernel could not even begin the program
            plain, _, _ = attempt(runner, command, {"PYTHONMALLOC": "malloc"}, **limits)
            expect(plain == code, f"with {kib} KiB it dies, without the library not: {stderr[-500:]}")
        elif code != 0:
            expect_own_words(f"{kib} KiB", code, stderr, ("memory", "failed to map", "fatal python error"))
        expect(code != 0 or stdout == "10000\n", f"with {kib} KiB it prints {stdout!r}")
        ends.add(code)
    expect(0 in ends and len(ends) > 2, f"with all limits it ended by {ends}")


def report_of(runner, stderr, level, plan="", before=None, file="", profile=""):
    """Has a program end with a report on some stderr. Neither its exit code nor its output may differ by that."""
    extra = {"TSLAB_STATS": f"{level},{file}", "TSLAB_NONSENSE": "1", "PYTHONMALLOC": "malloc", **faulty(runner, plan)}
    if profile:
        extra |= {"TSLAB_PROFILE": f"64K,{profile}"}
    command = [PYTHON, "-S", "-c", "import sys; x = [bytes(i) for i in range(9000)]; print(len(x)); sys.exit(7)"]
    with subprocess.Popen(command, env=runner.environment(False, extra), stdout=subprocess.PIPE, stderr=stderr, text=True,
                          preexec_fn=before, stdin=subprocess.DEVNULL) as process:
        try:
            stdout, said = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired as hung:
            process.kill()
            raise Failed("a program hangs in its report") from hung
    expect(process.returncode == 7 and stdout == "9000\n", f"it ended with {process.returncode} and printed {stdout!r}: {said}")
    return said


@entry
def scarce_reports(runner):
    """Reports that cannot be written, or not at once, are lost in silence, or whole."""
    for level in ("1", "2"):
        with open("/dev/full", "wb") as full:
            report_of(runner, full, level)
        report_of(runner, None, level, before=lambda: os.close(2))
        # Nobody reads.
        reads, writes = os.pipe()
        os.close(reads)
        report_of(runner, writes, level)
        os.close(writes)
        # Nobody reads, and the pipe is full; who writes does not want to wait.
        reads, writes = os.pipe()
        os.set_blocking(writes, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writes, bytes(4096))
        report_of(runner, writes, level)
        os.close(reads)
        os.close(writes)
        # A file that may not grow.
        with open(runner.path("short"), "wb") as short:
            report_of(runner, short, level, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        # Interrupted again and again, a byte at a time, and without what keeps signals away: all of it comes.
        for plan in ("write:0:9:EINTR", "write:0:0:LIE", "rt_sigprocmask:0:0:EINVAL,rt_sigpending:0:0:EINVAL", "rt_sigprocmask:1:1:EINVAL"):
            said = report_of(runner, subprocess.PIPE, level, plan)
            expect("TSLAB_NONSENSE: unknown option" in tslab_lines(said)[0], f"{plan}: {said[:200]!r}")
            report = said.split("\n", 1)[1]
            expect("size classes" in report if level == "1" else json.loads(report)["version"] == 2, f"{plan}: {report[-500:]!r}")
    report_of(runner, subprocess.PIPE, "1", "write:0:0:EPIPE,rt_sigtimedwait:0:0:EAGAIN")
    # Without a second descriptor of stderr, or not knowing what it is; with a file that cannot be opened, or not be closed.
    for plan, wanted in (("fcntl:0:0:EMFILE", True), ("fstat:1:0:EBADF", False), ("fstat:2:0:EBADF", False), ("", True)):
        said = report_of(runner, subprocess.PIPE, "1", plan)
        expect(("size classes" in said) == wanted, f"{plan}: {said!r}")
    for plan, wanted in (("openat:0:0:EMFILE", True), ("fstat:2:1:EBADF", True), ("close:0:0:EINTR", False)):
        said = report_of(runner, subprocess.PIPE, "1", plan, file=runner.path("report"))
        expect(("size classes" in said) == wanted, f"{plan}: {said!r}")
    with open(runner.path("report"), encoding="utf-8") as report:
        expect("size classes" in report.read(), "the file has no report")
    # A profile that cannot be opened, without its mappings, or that cannot be closed.
    for plan in ("", "openat:0:0:EMFILE", *(f"openat:{n}:1:EMFILE" for n in range(1, 8)), "read:0:0:EIO", "close:0:0:EINTR"):
        report_of(runner, subprocess.PIPE, "0", plan, profile=runner.path("profile"))
    with open(runner.path("profile"), encoding="utf-8") as written:
        expect("\nmaps\n" in written.read(), "the file has no profile")
    said = report_of(runner, subprocess.PIPE, "2", "pthread_getcpuclockid:0:0:EPERM,gettid:0:0:EPERM")
    expect(json.loads(said.split("\n", 1)[1])["threads"][0]["name"] == "", f"without numbers, threads have names: {said[:200]!r}")
    # What comes after a part that was lost is lost, too.
    said = report_of(runner, subprocess.PIPE, "2", "write:2:1:ENOSPC")
    expect(said.count("\n") == 1 and said.split("\n")[1].startswith('{"schema"'), f"it goes on after a part that was lost: {said!r}")
    # A slow reader is waited for, as with any program that writes there.
    reads, writes = os.pipe()
    fcntl.fcntl(writes, 1031, 4096)  # F_SETPIPE_SZ
    pid = os.fork()
    if pid == 0:
        os.close(writes)
        time.sleep(0.2)
        text = b""
        while part := os.read(reads, 100):
            text += part
        os._exit(0 if b"size classes" in text else 1)
    os.close(reads)
    report_of(runner, writes, "1")
    os.close(writes)
    expect(os.waitpid(pid, 0)[1] == 0, "a slow reader does not get all of the report")


# Each call that answers other processes, and how the answer to `trim` and `figures` then begins; "": nobody answers in time.
CHANNEL = {
    "dup3:0:0:EMFILE": ("trim: gave back", "figures"),
    "close_range:1:1:EINVAL": ("trim: gave back", "figures"),
    "close_range:2:1:EINVAL": ("trim: gave back", "figures"),
    "ppoll:0:0:EINTR": ("trim: gave back", "figures"),
    "pwritev2:0:0:EAGAIN": ("trim: gave back", "figures"),
    "pwritev2:0:0:ENOSYS,write:0:0:EIO": ("trim: gave back", "figures could not all be written"),
    "fcntl:1:0:EINVAL": ("nobody holds a lock on the file", "nobody holds a lock on the file"),
    "ftruncate:0:0:EINVAL": ("trim: gave back", "figures could not all be written"),
    "lseek:0:0:EINVAL": ("trim: gave back", "figures could not all be written"),
    "pwrite64:1:0:EIO": ("", ""),
    "pwrite64:0:0:EIO": None,  # there is no channel
}


def answer_of(pid, command):
    from tslab_tools.failure import Failure  # pylint: disable=import-outside-toplevel
    from tslab_tools.live.channel import Channel  # pylint: disable=import-outside-toplevel

    try:
        with Channel(pid) as channel:
            said = channel.ask(command, patience=2)
            if command == "figures":
                expect(json.loads(b"".join(channel.body(1 << 20)))["schema"] == "tslab-statistics", "the figures are none")
            return said
    except Failure as failure:
        said = str(failure).partition(": ")[2]
        return "" if "did not answer" in str(failure) else said or str(failure)


@entry
def scarce_channel(runner):
    """Whatever fails while it answers other processes, a program goes on, and what it could not do it says."""
    for plan, wanted in CHANNEL.items():
        extra = {"TSLAB_EXPORT": "1", **faulty(runner, plan)}
        with subprocess.Popen(["sleep", "100"], env=runner.environment(False, extra), stderr=subprocess.PIPE) as program:
            try:
                await_condition(lambda p=program.pid: len(os.listdir(f"/proc/{p}/task")) > 1, "the library's thread begins")
                time.sleep(0.3)
                said = tuple(answer_of(program.pid, command) for command in ("trim", "figures"))
                fits = wanted is None or all(is_said.startswith(begins) and bool(is_said) == bool(begins) for is_said, begins in zip(said, wanted))
                expect(fits and (wanted is not None or "first lines on stderr" in said[0]), f"{plan}: {said}")
                expect(program.poll() is None, f"{plan}: it has ended")
            finally:
                program.kill()
