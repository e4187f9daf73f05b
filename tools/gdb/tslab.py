"""What tslab knows of an address, in gdb, in a process and in a core file. No symbols are needed.

    (gdb) source tslab.py
    (gdb) info tslab              the library: threads, memory, epochs
    (gdb) info tslab PTR          the object at PTR: slab, slot, size, epoch, live or free, and where a free slot waits
"""

import re
import struct

import gdb

SECTION = re.compile(r"0x([0-9a-f]+) - 0x[0-9a-f]+ is \.tslab_layout(?: in (.*))?$", re.M)
STATES = ("ended", "open", "closed", "closed", "draining")
KINDS = ("used", "refused by the system", "dirty", "clean", "absent")
VERSION = 1


def memory(address, length):
    return bytes(gdb.selected_inferior().read_memory(address, length))


def number(address, length=8):
    return int.from_bytes(memory(address, length), "little")


def text(address, most=256):
    raw = b""
    while address and b"\0" not in raw and len(raw) < most:
        raw += memory(address + len(raw), 16)
    return raw.partition(b"\0")[0].decode("utf-8", errors="replace")


def mebibytes(count):
    return f"{count / (1 << 20):.1f} MiB"


class Library:
    """One copy of the library in the process, by its own table of places (src/report/debugger_layout.c)."""

    def __init__(self, at, path):
        magic, version, rows, name, first = struct.unpack("<8s2I2Q", memory(at, 32))
        if magic != b"tslablay" or version != VERSION:
            raise gdb.GdbError(f"{path}: its table of places is of version {version}, and this script knows version {VERSION}")
        self.path, self.version = path, text(name)
        self.places = {}
        for name, address, value in struct.iter_unpack("<3Q", memory(first, rows * 24)):
            self.places[text(name)] = address or value
        self.base = self.of("arena", self["arena"], "base")
        self.units = self.of("arena", self["arena"], "committed_units")
        self.unit_bytes = 1 << self["UNIT_SHIFT"]

    def __getitem__(self, name):
        return self.places[name]

    def of(self, what, at, field, length=8):
        return number(at + self[f"{what}.{field}"], length)

    def has(self, pointer):
        return self.base <= pointer < self.base + self.units * self.unit_bytes

    def address(self, unit):
        return self.base + unit * self.unit_bytes

    def unit_of(self, pointer):
        return (pointer - self.base) // self.unit_bytes

    def tag(self, unit):
        return self.of("unit", self.unit(unit), "tag", 4)

    def unit(self, unit):
        return self.of("arena", self["arena"], "units") + unit * self["sizeof unit"]

    def run(self, unit):
        return self.of("arena", self["arena"], "runs") + unit * self["sizeof run"]

    def geometry(self, klass):
        return self["class_geometry"] + klass * self["sizeof class_geometry"]

    def size(self, klass):
        return self.of("class_geometry", self.geometry(klass), "size", 4)

    # Threads and heaps.

    def threads(self):
        thread = self.of("registry", self["registry"], "made")
        while thread:
            yield thread
            thread = self.of("thread", thread, "made_before")

    def heaps(self):
        """(whose, heap) of threads, then of epochs."""
        for thread in self.threads():
            yield f"thread {self.of('thread', thread, 'number', 4)}", thread + self["thread.heap"]
        heap = number(self["heap_made"])
        while heap:
            yield f"a hold of {self.epoch_text(self.of('heap', heap, 'epoch'))}", heap
            heap = self.of("heap", heap, "made_before")

    def tray_has(self, tray, pointer):
        while tray:
            if self.places_have(tray + self["sizeof tray"], self.of("tray", tray, "count", 4), pointer):
                return True
            tray = self.of("tray", tray, "next")
        return False

    @staticmethod
    def places_have(places, slots, pointer):
        """Whether one of the slots, which have the numbers from 1 on, is that one."""
        return slots > 0 and struct.pack("<Q", pointer) in chunks_of_eight(memory(places + 8, slots * 8))

    def cache_of(self, pointer, klass):
        """Where a slot waits that is not in its slab. None: nowhere, so it is an object."""
        for whose, heap in self.heaps():
            magazine = heap + self["heap.front"] + self["front.magazine"] + klass * self["sizeof magazine"]
            top, end = self.of("magazine", magazine, "top"), self.of("magazine", magazine, "end")
            places = end - 8 * self.of("magazine", magazine, "limit", 4)
            if self.places_have(places, (top - places) // 8, pointer):
                return f"in the magazine of {whose}"
            of_class = heap + self["heap.part"] + number(heap + self["heap.rank"] + klass, 1) * self["sizeof heap_class"]
            if self.tray_has(number(of_class + self["heap_class.stock"] + self["stock_class.trays"]), pointer):
                return f"in the stock of {whose}"
            outbox = self.of("heap_class", of_class, "outbox")
            if outbox and self.places_have(outbox, self.of("heap_class", of_class, "outbox_slots", 4), pointer):
                return f"in the outbox of {whose}"
            if self.tray_has(self.of("heap_class", of_class, "retired"), pointer):
                return f"put aside by {whose}"
            start = self.of("heap_class", of_class, "claimed_start")
            index, rest = divmod(pointer - start, self.size(klass))
            if start and rest == 0 and 0 <= index < self["WORD_SLOTS"] and self.of("heap_class", of_class, "claimed") >> index & 1:
                return f"claimed by {whose}, not yet handed out"
        exchange = self["exchanges"] + klass * self["sizeof exchange"]
        return "in the exchange, for any thread" if self.tray_has(self.of("exchange", exchange, "trays"), pointer) else None

    # Epochs.

    def epoch(self, index):
        if index <= 1:
            return self["epoch_process"]
        block = number(self["epoch_blocks"] + 8 * (index >> self["EPOCH_BLOCK_SHIFT"]))
        return block and block + self["epoch_block.records"] + (index & (1 << self["EPOCH_BLOCK_SHIFT"]) - 1) * self["sizeof epoch"]

    def epochs_out(self):
        """Those that are not over."""
        for number_of_block in range(self["EPOCH_BLOCKS"]):
            block = number(self["epoch_blocks"] + 8 * number_of_block)
            for place in range(1 << self["EPOCH_BLOCK_SHIFT"] if block else 0):
                if number(block + self["epoch_block.out"] + place // 64 * 8) >> place % 64 & 1:
                    epoch = block + self["epoch_block.records"] + place * self["sizeof epoch"]
                    if self.state(epoch) != "ended":
                        yield epoch

    def state(self, epoch):
        return STATES[self.of("epoch", epoch, "word") & 7]

    def since(self, milliseconds):
        """A time of the engine's clock, which no core file tells the end of."""
        started = self.of("engine", self["engine"], "started_ms")
        return f"{max(0, milliseconds - started) / 1000:.3f} s after the start"

    def label(self, epoch):
        return memory(epoch + self["epoch.label"], self["EPOCH_LABEL_BYTES"]).partition(b"\0")[0].decode(errors="replace")

    def epoch_text(self, epoch):
        if not epoch or epoch == self["epoch_process"]:
            return "the process"
        owner = self.of("epoch", epoch, "owner")
        epoch = owner or epoch
        label = self.label(epoch)
        shift = self["EPOCH_GENERATION_SHIFT"]
        value = self.of("epoch", epoch, "word") >> shift << shift | self.of("epoch", epoch, "id", 4)
        opened = self.since(self.of("epoch", epoch, "opened_ms"))
        return f"epoch {value:#x}" + (f" '{label}'" if label else "") + f", {self.state(epoch)}, opened {opened}"

    def epoch_of(self, run):
        word = self.of("run", run, "word", 4)
        return self.epoch(word >> self["WORD_EPOCH_SHIFT"]) if word & 3 else self["epoch_process"]

    # What an address is.

    def describe(self, pointer):
        unit = self.unit_of(pointer)
        tag = self.tag(unit)
        if tag & 0xFF:
            yield from self.in_slab(pointer, self.of("unit", self.unit(unit), "first", 4), tag)
        elif tag == self["TAG_CHUNK"]:
            yield from self.in_chunk(pointer, self.of("unit", self.unit(unit), "first", 4))
        else:
            yield from self.in_run(pointer, unit)

    def in_slab(self, pointer, first, tag):
        klass, run, start = (tag & 0xFF) >> 1, self.run(first), self.address(first)
        size, slots = self.size(klass), self.of("class_geometry", self.geometry(klass), "slots", 2)
        bits = [number(run + self["run.bitmap"] + 8 * word) for word in range(self.of("class_geometry", self.geometry(klass), "words", 1))]
        free = sum(bin(word).count("1") for word in bits)
        state = ("empty", "attached to a heap", "full", "partial")[self.of("run", run, "word", 4) & 3]
        slot, inside = divmod(pointer - start, size)
        if slot >= slots:
            yield f"behind the last slot of the slab {start:#x}: no object"
            return
        place = start + slot * size
        if tag >> self["AFFINITY_SHIFT"] & self["AFFINITY_HANDLE"]:
            place_code = number(self.of("arena", self["arena"], "codes_of_zero") + (place >> self["GRANULE_SHIFT"]), 4)
            waits = None if place_code & self["PLACE_LENT"] else "free, without a handle"
        elif bits[slot // self["WORD_SLOTS"]] >> slot % self["WORD_SLOTS"] & 1:
            waits = "free, in its slab"
        else:
            cache = self.cache_of(place, klass)
            waits = cache and "free, " + cache
        yield (waits or "live") + f": slot {slot} at {place:#x}, {size - self['SEAL_BYTES']} bytes" + (f"; the address is {inside} bytes inside" if inside else "")
        yield f"slab {start:#x}, size class {klass}: {slots} slots of {size} bytes, {free} of them in it; {state}"
        yield f"of {self.epoch_text(self.epoch_of(run))}"

    def granules(self, code):
        exact = self["CODE_EXACT"]
        return code if code <= exact else exact + (code - exact) * self["CODE_STEP_GRANULES"]

    def in_chunk(self, pointer, first):
        start, shift, run = self.address(first), self["GRANULE_SHIFT"], self.run(first)
        codes = memory(self.of("arena", self["arena"], "codes_of_zero") + (start >> shift), self["CHUNK_UNITS"] * self.unit_bytes >> shift)
        at = (pointer - start) >> shift
        begin = next((place for place in range(at, -1, -1) if codes[place]), None)
        epoch = self.epoch_of(run)
        if begin is not None and at < begin + self.granules(codes[begin]):
            place, size = start + (begin << shift), self.granules(codes[begin]) << shift
            inside = pointer - place
            yield f"live: object at {place:#x}, {size - self['SEAL_BYTES']} bytes" + (f"; the address is {inside} bytes inside" if inside else "")
        elif pointer >= self.filled_to(epoch, start):
            yield "free: not handed out yet since the chunk was opened"
        else:
            yield "free: an object was here, or alignment has skipped it"
        yield f"chunk {start:#x} of {len(codes) << shift} bytes, {sum(code != 0 for code in codes)} objects live in it"
        yield f"of {self.epoch_text(epoch)}"

    def filled_to(self, epoch, start):
        """Where the holder allocates next in an open chunk; the end of a closed one."""
        hold = self.of("epoch", epoch, "holds") if epoch != self["epoch_process"] else 0
        while hold:
            cursor = hold + self["hold.cursor"]
            if self.of("cursor", cursor, "start") << self["GRANULE_SHIFT"] == start:
                return self.of("cursor", cursor, "at") << self["GRANULE_SHIFT"]
            hold = self.of("hold", hold, "next")
        return start + self["CHUNK_UNITS"] * self.unit_bytes

    def in_run(self, pointer, unit):
        """A large object, or none: the run's first unit tells, and it comes before."""
        for first in range(unit, 0, -1):
            tag, run = self.tag(first), self.run(first)
            units = self.of("run", run, "units", 4)
            if tag == self["TAG_LARGE"] and unit < first + units:
                size, place = self.of("run", run, "large_bytes"), self.address(first)
                where = "" if pointer == place else f"; the address is {pointer - place} bytes inside"
                yield f"live: large object at {place:#x}, {size - self['SEAL_BYTES']} bytes, {units * self.unit_bytes} with its run{where}"
                yield f"of {self.epoch_text(self.epoch_of(run))}"
                return
            if tag:
                break
            hot = self.hot_run(first)
            if hot and unit < first + hot[0]:
                yield f"free: a large object was here; its run of {hot[0] * self.unit_bytes} bytes is kept for the next one by {hot[1]}"
                return
            kind = self.of("run", run, "kind", 4)
            if 0 < kind < len(KINDS) and unit < first + units and self.of("unit", self.unit(first + units - 1), "first", 4) == first:
                since = f", since {self.since(self.of('run', run, 'empty.dirty_since_ms'))}" if KINDS[kind] == "dirty" else ""
                yield f"free: in empty memory of {units * self.unit_bytes} bytes at {self.address(first):#x}, {KINDS[kind]}{since}"
                return
        yield "free: in memory of the library's that no object has"

    def hot_run(self, first):
        """(units, whose)."""
        if not hasattr(self, "hot"):
            self.hot = {}
            for whose, heap in self.heaps():
                for place in range(self["HOT_RUNS"]):
                    run = number(heap + self["heap.hot"] + 8 * place)
                    self.hot[run & 0xFFFFFFFF] = (run >> 48, whose)
        return self.hot.get(first) if first else None

    def summary(self):
        yield f"tslab {self.version} in {self.path}"
        yield f"addresses {self.base:#x} to {self.address(self.units):#x}, {mebibytes(self.units * self.unit_bytes)}"
        counts = [number(self["depot"] + self["depot.units"] + 8 * kind) for kind in range(len(KINDS))]
        yield "runs: " + ", ".join(f"{mebibytes(count * self.unit_bytes)} {kind}" for kind, count in zip(KINDS, counts) if count)
        threads = [self.of("thread", thread, "number", 4) for thread in self.threads()]
        yield f"threads: {', '.join(str(thread) for thread in sorted(threads) if thread) or 'none'}"
        yield from self.labels()

    def labels(self):
        """The epochs that are not over, a line for each label, those with most epochs first."""
        groups = {}
        for epoch in sorted({self.of("epoch", epoch, "owner") or epoch for epoch in self.epochs_out()}):
            groups.setdefault(self.label(epoch), []).append(epoch)
        yield f"epochs: {sum(map(len, groups.values()))} that are not over"
        for label, epochs in sorted(groups.items(), key=lambda group: -len(group[1])):
            states = [self.state(epoch) for epoch in epochs]
            counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(STATES) if state in states)
            oldest = min(self.of("epoch", epoch, "opened_ms") for epoch in epochs)
            yield f"  {repr(label) if label else 'no label'}: {counts}, the oldest opened {self.since(oldest)}"


def chunks_of_eight(raw):
    return {raw[at : at + 8] for at in range(0, len(raw), 8)}


def libraries():
    """Every copy that has started. The sections' list has those of stripped libraries, too."""
    found = []
    for address, path in SECTION.findall(gdb.execute("info files", to_string=True)):
        library = Library(int(address, 16), path or "the program")
        if library.units:
            found.append(library)
    return found


class InfoTslab(gdb.Command):
    """What tslab knows of an address: its object, slab, size, epoch; live, or free and where it waits.
Without an address: the library's memory, threads and epochs."""

    def __init__(self):
        super().__init__("info tslab", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        del from_tty
        there = libraries()
        if not there:
            raise gdb.GdbError("no tslab has started in this program, or it is older than 0.2")
        if not argument:
            print("\n".join(line for library in there for line in library.summary()))
            return
        pointer = int(gdb.parse_and_eval(argument).cast(gdb.lookup_type("unsigned long"))) & (1 << 64) - 1
        for library in there:
            if library.has(pointer):
                print(f"{pointer:#x}: " + "\n  ".join(library.describe(pointer)))
                return
        print(f"{pointer:#x}: foreign: no memory of tslab's")


InfoTslab()
