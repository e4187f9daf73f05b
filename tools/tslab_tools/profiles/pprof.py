"""The profile in pprof's form: a gzipped message of Protocol Buffers. The numbers of its fields are the interface
(github.com/google/pprof, proto/profile.proto)."""

import gzip
import re
from collections import abc
from pathlib import Path

from tslab_tools.profiles import elf, figures, symbols
from tslab_tools.profiles.symbols import Symbols
from tslab_tools.profiles.written import Mapping, Written
from tslab_tools.terminal import plain_text

_TYPES = (
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
    ("peak_objects", "count"),
    ("peak_space", "bytes"),
    ("kept_pages", "count"),
    ("kept_space", "bytes"),
)
_PLACES = {"allocated": 0, "live": 2, "peak": 4, "kept": 6}
_BRACKET = re.compile(r"\(anonymous namespace\)|operator\(\)|\(")
_DEFAULTS = {kind: _TYPES[place + 1][0] for kind, place in _PLACES.items()}


Value = int | bytes | abc.Sequence[int]


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: Value) -> bytes:
    """A number as such; text, a message, or several numbers with the length before."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    packed = value if isinstance(value, bytes) else b"".join(map(_varint, value))
    return _varint(number << 3 | 2) + _varint(len(packed)) + packed


def _message(fields: abc.Mapping[int, Value]) -> bytes:
    return b"".join(_field(number, value) for number, value in fields.items())


class _Writer:
    def __init__(self, written: Written, names: Symbols) -> None:
        self.written, self.names = written, names
        self.strings = {"": 0}
        self.functions: dict[tuple[str, str], int] = {}
        self.locations: dict[int, int] = {}
        self.mappings: dict[Mapping, int] = {}
        self.out = bytearray()

    def add(self, number: int, value: Value) -> None:
        """A field of the whole profile."""
        self.out += _field(number, value)

    def string(self, text: str) -> int:
        return self.strings.setdefault(plain_text(text), len(self.strings))

    def mapping(self, frame: int) -> int:
        """0: the address is in no file."""
        mapping = self.written.mapping_of(frame - 1)
        if mapping is None:
            return 0
        if mapping not in self.mappings:
            number = self.mappings[mapping] = len(self.mappings) + 1
            file, build_id = self.string(mapping.path), self.string(elf.read(mapping.path).build_id)
            fields = {1: number, 2: mapping.start, 3: mapping.end, 4: mapping.offset, 5: file, 6: build_id}
            # It has functions, files, lines and inlines: pprof need not ask for them.
            self.add(3, _message(fields | dict.fromkeys((7, 8, 9, 10), 1)))
        return self.mappings[mapping]

    def function(self, place: symbols.Place) -> int:
        key = (place.function, place.file)
        if key not in self.functions:
            number = self.functions[key] = len(self.functions) + 1
            name = self.string(place.function)
            self.add(5, _message({1: number, 2: name, 3: name, 4: self.string(place.file)}))
        return self.functions[key]

    def location(self, frame: int) -> int:
        if frame not in self.locations:
            number = self.locations[frame] = len(self.locations) + 1
            lines = (_message({1: self.function(place), 2: place.line}) for place in self.names.places(frame))
            text = b"".join(_field(4, line) for line in lines)
            self.add(4, _message({1: number, 2: self.mapping(frame), 3: frame}) + text)
        return self.locations[frame]

    def sample(self, stack: int, place: int, found: figures.Sum, labels: abc.Iterable[tuple[str, str]] = ()) -> None:
        values = [0] * len(_TYPES)
        values[place : place + 2] = round(found.objects), round(found.bytes)
        locations = [self.location(frame) for frame in self.names.frames(stack)]
        texts = (_message({1: self.string(key), 2: self.string(text)}) for key, text in labels)
        self.add(2, _message({1: locations, 2: values}) + b"".join(_field(3, text) for text in texts))

    def value_type(self, entry: tuple[str, str]) -> bytes:
        return _message({1: self.string(entry[0]), 2: self.string(entry[1])})

    def labels(self, epoch: int, thread: int) -> tuple[tuple[str, str], ...]:
        named = self.written.epochs.get(epoch)
        text = "process" if epoch == 0 else (named.label if named and named.label else f"epoch {epoch}")
        return ("epoch", text), ("thread", self.written.threads.get(thread) or str(thread))


def _dropped(functions: abc.Iterable[str]) -> str:
    """What pprof is to leave out. It compares names from which it has cut the arguments."""

    def simplified(name: str) -> str:
        end = next((found.start() for found in _BRACKET.finditer(name) if found[0] == "("), len(name))
        return name.removeprefix(".")[:end]

    return "|".join(sorted({re.escape(simplified(function)) for function in functions}))


def write(path: Path, written: Written, names: Symbols, skipped: abc.Iterable[str], kind: str = "live") -> None:
    """Writes a profile. `skipped` functions are left out, with what they call; `kind` is what pprof shows first."""
    writer = _Writer(written, names)
    program = next((mapping.path for mapping in written.maps if mapping.path.startswith("/")), "")
    for mapping in written.maps:
        if mapping.path == program and mapping.is_code:
            writer.mapping(mapping.start + 1)  # the first one is the program, to pprof
    for entry in _TYPES:
        writer.add(1, writer.value_type(entry))
    for each, place in _PLACES.items():
        if each in ("live", "kept"):
            sums = getattr(figures, each)(written, key=lambda sample: (sample.stack, sample.epoch, sample.thread))
            for key, found in sums.items():
                stack, labels = (0, ()) if key is None else (key[0], writer.labels(*key[1:]))
                writer.sample(stack, place, found, labels)
        else:
            for stack, found in figures.by_stack(written, each).items():
                writer.sample(stack, place, found)
    writer.add(7, writer.string(_dropped(skipped)))
    writer.add(11, writer.value_type(("space", "bytes")))
    writer.add(12, written.number("period"))
    writer.add(14, writer.string(_DEFAULTS[kind]))
    for text in writer.strings:
        writer.add(6, text.encode(errors="replace"))
    with open(path, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(writer.out)
