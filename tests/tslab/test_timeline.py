"""`tslab timeline`: files that are made up, and files of programs on the library; the page keeps the Trace Event format.
usage: test_timeline.py LIBRARY"""

import json
import struct

from tslab_test import TslabTest, main
from tslab_tools.failure import Failure
from tslab_tools.timeline import ringfile, trace_events

PYTHON = "/usr/bin/python3"
NAMES = ["live_slots", "dirty_runs", "always_zero"]
OPEN, CLOSE, END = ringfile.EPOCH_OPEN, ringfile.EPOCH_CLOSE, ringfile.EPOCH_END

# The Trace Event format, of its public description: the fields of each phase, with their types. Times are microseconds.
NUMBER = (int, float)
COMMON = {"ph": str, "name": str, "pid": int, "tid": int, "ts": NUMBER}
PHASES = {
    "X": {"dur": NUMBER, "cat": str, "args": dict},
    "b": {"id": str, "cat": str, "args": dict},
    "e": {"id": str, "cat": str, "args": dict},
    "i": {"s": str, "cat": str, "args": dict},
    "C": {"args": dict},
    "M": {"args": dict},
}


def complaints(document):
    """What the format does not allow."""
    if set(document) != {"traceEvents", "displayTimeUnit", "otherData"} or document["displayTimeUnit"] not in (
        "ms",
        "ns",
    ):
        yield f"the document has {sorted(document)}"
    opened = {}
    for event in document["traceEvents"]:
        fields = COMMON | PHASES.get(event.get("ph"), {})
        if event.get("ph") not in PHASES or set(event) != set(fields):
            yield f"an event has other fields: {event}"
            continue
        for name, kind in fields.items():
            if not isinstance(event[name], kind) or isinstance(event[name], bool):
                yield f"{name} is of another type: {event}"
        if event["ts"] < 0 or event.get("dur", 0) < 0:
            yield f"a time below 0: {event}"
        if event["ph"] == "C" and not all(isinstance(value, NUMBER) and value >= 0 for value in event["args"].values()):
            yield f"a counter is no number: {event}"
        if event["ph"] == "i" and event["s"] not in ("g", "p", "t"):
            yield f"an instant has no scope: {event}"
        if event["ph"] == "M" and (
            event["name"] not in ("process_name", "thread_name") or list(event["args"]) != ["name"]
        ):
            yield f"metadata: {event}"
        if event["ph"] in "be":
            key = event["cat"], event["id"], event["name"]
            opened[key] = opened.get(key, 0) + (1 if event["ph"] == "b" else -1)
    for key, count in opened.items():
        if count != 0:
            yield f"{key} has {count} beginnings more than ends"
    yield from overlaps(document["traceEvents"])


def overlaps(events):
    """Slices of a thread lie inside of each other, or apart."""
    stacks = {}
    for event in sorted((event for event in events if event["ph"] == "X"), key=lambda event: event["ts"]):
        stack = stacks.setdefault(event["tid"], [])
        while stack and stack[-1] <= event["ts"]:
            stack.pop()
        end = event["ts"] + event["dur"]
        if stack and end > stack[-1] + 0.001:
            yield f"a slice ends after the one around it: {event}"
        stack.append(end)


def record(number, when_ns, kind, *words, thread=7, part=0, sequence=None):
    words = [*words, *[0] * (5 - len(words))]
    return struct.pack(
        "<8Q", 2 * number + 2 if sequence is None else sequence, when_ns, kind | part << 8 | thread << 32, *words
    )


def label(text):
    return struct.unpack("<4Q", text.encode().ljust(32, b"\0"))


def file_of(records, places=16, version=1, written=None):
    names = "".join(name + "\n" for name in NAMES).encode()
    head = struct.pack(
        "<8s4I3Q64s2000s", b"tslabrng", version, 4096, 64, places, 1234, 1000, 5_000_000, b"server", names
    )
    head = head.ljust((len(head) + 63) // 64 * 64, b"\0") + struct.pack(
        "<2Q", len(records) if written is None else written, 0
    )
    return head.ljust(4096, b"\0") + b"".join(records).ljust(places * 64, b"\0")


def parsed(*records, **options):
    raw = file_of(records, **options)
    return ringfile.parse(raw, raw)


class Files(TslabTest):
    def test_records(self):
        ring = parsed(
            record(1, 3000, OPEN, 99, *label("request")), record(0, 2000, ringfile.PURGE, 1, 2, 3, 1), written=40
        )
        self.assertEqual((ring.process, ring.program, ring.names, ring.written), (1234, "server", NAMES, 40))
        self.assertEqual([one.when_ns for one in ring.records], [2000, 3000])
        self.assertEqual((ring.records[1].thread, ringfile.words_as_text(ring.records[1].words[1:])), (7, "request"))

    def test_what_is_being_written_is_left_out(self):
        raw = file_of([record(0, 2000, OPEN, 1, sequence=3), record(1, 2000, OPEN, 2), record(2, 2000, OPEN, 3)])
        again = bytearray(raw)
        struct.pack_into("<Q", again, 4096 + 64, 99)
        ring = ringfile.parse(raw, bytes(again))
        self.assertEqual(([one.words[0] for one in ring.records], ring.torn), ([3], 2))

    def test_what_is_no_timeline(self):
        raw = file_of([])
        for bad in (b"", b"x" * 9000, raw[:5000], file_of([], version=2)):
            self.assertRaises(Failure, ringfile.parse, bad, bad)
        (self.own / "bad").write_bytes(b"x" * 9000)
        done = self.tslab("timeline", "bad")
        self.assertEqual((done.returncode, done.stderr), (1, "tslab: bad is no timeline of tslab\n"))


class Pages(TslabTest):
    def events(self, *records):
        document = trace_events.document(parsed(*records))
        self.assertEqual(list(complaints(document)), [])
        return [event for event in document["traceEvents"] if event["ph"] != "M"]

    def test_epochs_nest(self):
        outer, inner = self.events(
            record(0, 2000, OPEN, 1, *label("outer")), record(1, 3000, OPEN, 2, *label("")), record(2, 4000, CLOSE, 2),
            record(3, 4000, END, 2), record(4, 6000, CLOSE, 1), record(5, 6000, END, 1))  # fmt: skip
        self.assertEqual((outer["name"], outer["ph"], outer["ts"], outer["dur"], outer["tid"]), ("outer", "X", 1, 4, 7))
        self.assertEqual((inner["name"], inner["ts"], inner["dur"]), ("epoch", 2, 1))

    def test_epochs_that_overlap_have_tracks_of_their_own(self):
        first, begin, end = self.events(
            record(0, 2000, OPEN, 1), record(1, 3000, OPEN, 2), record(2, 4000, CLOSE, 1), record(3, 4000, END, 1),
            record(4, 6000, CLOSE, 2), record(5, 6000, END, 2))  # fmt: skip
        self.assertEqual((first["ph"], begin["ph"], end["ph"], end["ts"] - begin["ts"]), ("X", "b", "e", 3))
        self.assertEqual(begin["id"], "0x2")

    def test_an_epoch_drains(self):
        life, begin, end = self.events(record(0, 2000, OPEN, 1), record(1, 3000, CLOSE, 1), record(2, 99000, END, 1))
        self.assertEqual((life["dur"], begin["cat"], begin["ts"], end["ts"]), (1, "draining", 2, 98))

    def test_what_is_cut_off(self):
        still, cut = self.events(
            record(0, 2000, OPEN, 1), record(1, 3000, CLOSE, 2, thread=8), record(2, 3000, END, 2, thread=8)
        )
        self.assertEqual(still["args"]["closed"], "not yet")
        self.assertEqual((cut["ts"], cut["args"]["opened"]), (1, "before the oldest record"))

    def test_limits(self):
        of_epoch, of_all = self.events(
            record(0, 2000, ringfile.LIMIT, 3, 4096, 8192, 0x101), record(1, 3000, ringfile.LIMIT, 5, 100, 200, 0))  # fmt: skip
        self.assertEqual((of_epoch["name"], of_all["name"]), ("epoch limit", "out of memory"))
        self.assertEqual(of_epoch["args"], {"used bytes": 4096, "wanted bytes": 8192, "epoch": "0x101"})
        self.assertEqual(of_all["args"], {"used bytes": 100, "wanted bytes": 200})

    def test_purges_long_operations_and_counters(self):
        events = self.events(
            record(0, 2000, ringfile.PURGE, 90_000, 0x1000, 4096, 1), record(1, 2500, ringfile.PURGE, 150_000, 0x1000, 8192, 0),
            record(2, 3000, ringfile.LONG, 250_000, 1, 64), record(3, 4000, ringfile.MEMORY, 100, 50, 20, 0, 90),
            record(4, 5000, ringfile.NUMBERS, 11, 22, 0, part=0))  # fmt: skip
        self.assertEqual([event["name"] for event in events],
                         ["purge", "long purge", "long malloc", "RSS", "runs", "account live_slots", "account dirty_runs"])  # fmt: skip
        self.assertEqual(
            events[1]["args"], {"bytes": 8192, "address": "0x1000", "microseconds": 150.0, "granted": False}
        )
        self.assertEqual(events[4]["args"], {"in use": 50, "dirty": 20, "stuck": 0})


class Programs(TslabTest):
    def page_of(self, program, size="4M", says="", **options):
        trace = self.own / "trace"
        env = (
            self.environment
            | {"TSLAB_TRACE": f"{trace},{size}", "PYTHONMALLOC": "malloc", "LD_PRELOAD": self.library}
            | options
        )
        done = self.run_argv([PYTHON, "-S", "-c", program], env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, f"^{says}$")
        done = self.tslab("timeline", trace, "-o", "page.json")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        document = json.loads((self.own / "page.json").read_text())
        self.assertEqual(list(complaints(document)), [])
        self.assertEqual(json.loads(self.tslab("timeline", trace).stdout), document)
        return document, done.stderr

    def test_memory(self):
        document, said = self.page_of("x = [bytes(i % 3000) for i in range(100000)]; del x; y = bytes(9 << 20)")
        names = {event["name"] for event in document["traceEvents"]}
        self.assertLessEqual({"RSS", "runs", "purge", "account live_slots", "thread_name"}, names)
        resident = [event["args"]["bytes"] for event in document["traceEvents"] if event["name"] == "RSS"]
        self.assertGreater(max(resident), 100 << 20)
        self.assertRegex(said, r"python3[\d.]*, process \d+: [\d,]+ records of")

    def test_limits(self):
        """The process's limit, and one of an epoch."""
        program = (
            "import ctypes\nlibrary = ctypes.CDLL(None)\ntry:\n x = bytes(90 << 20)\nexcept MemoryError:\n pass\n"
            "class Options(ctypes.Structure):\n _fields_ = [('label', ctypes.c_char_p), ('parent', ctypes.c_uint64),"
            " ('instance', ctypes.c_uint64), ('policy', ctypes.c_uint32), ('flags', ctypes.c_uint32), ('limit_bytes', ctypes.c_size_t)]\n"
            "library.tslab_epoch_open_sized.restype = ctypes.c_uint64\nlibrary.tslab_epoch_malloc.restype = ctypes.c_void_p\n"
            "options = Options(b'small', limit_bytes=1 << 20)\nepoch = library.tslab_epoch_open_sized(ctypes.byref(options), ctypes.sizeof(options))\n"
            "assert epoch and not library.tslab_epoch_malloc(ctypes.c_uint64(epoch), ctypes.c_size_t(2 << 20))\n"
        )
        document, said = self.page_of(
            program, says=r"tslab\S+ \S+: refused \d+ bytes: the limit of the process .*\n", TSLAB_LIMIT_BYTES="64M"
        )
        limits = {event["name"]: event["args"] for event in document["traceEvents"] if event.get("cat") == "limit"}
        self.assertLessEqual({"limit", "epoch limit", "out of memory"}, limits.keys())
        self.assertGreaterEqual(limits["epoch limit"]["wanted bytes"], 2 << 20)
        self.assertNotEqual(limits["epoch limit"]["epoch"], "0x0")
        self.assertIn("limits reached", said)

    def test_a_short_file_has_the_newest(self):
        program = "x = [bytes(i % 3000) for i in range(60000)]\nfor i in range(40):\n y = [bytes(9 << 20) for j in range(40)]\n del y"
        document, said = self.page_of(program, "64K", TSLAB_PURGE="eager")
        self.assertIn("older records were overwritten", said)
        self.assertEqual(document["otherData"]["records"], 512)
        done = self.tslab("timeline", self.own / "trace", "-o", "no/page.json")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "tslab: cannot write no/page.json: No such file or directory\n")

    def test_units_of_work(self):
        program = (
            "import ctypes, threading\nlibrary = ctypes.CDLL(None)\ndef work():\n for i in range(50):\n"
            "  library.tslab_work_begin(b'request')\n  x = [bytes(200) for j in range(500)]\n  del x\n  library.tslab_work_end()\n"
            "threads = [threading.Thread(target=work) for i in range(3)]\n[t.start() for t in threads]\n[t.join() for t in threads]\n"
        )
        document, _ = self.page_of(program, TSLAB_EPOCH_POLICY="per-request")
        epochs = [event for event in document["traceEvents"] if event["ph"] == "X"]
        self.assertGreaterEqual(len(epochs), 150)
        self.assertEqual(len({event["tid"] for event in epochs}), 3)


if __name__ == "__main__":
    main()
