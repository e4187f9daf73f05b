"""The profile in pprof's form: a gzipped message of Protocol Buffers. The numbers of its fields are the interface
(github.com/google/pprof, proto/profile.proto)."""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tslab_tools.profiles import figures, symbols
from tslab_tools.profiles.symbols import Symbols
from tslab_tools.profiles.written import Mapping, Written

_PACKAGE = "tslab.pprof"
# A field is a number, a name and a type; [type] is any number of them.
_MESSAGES: dict[str, tuple[tuple[int, str, str | list[str]], ...]] = {
    "ValueType": ((1, "type", "int64"), (2, "unit", "int64")),
    "Label": ((1, "key", "int64"), (2, "str", "int64"), (3, "num", "int64"), (4, "num_unit", "int64")),
    "Sample": ((1, "location_id", ["uint64"]), (2, "value", ["int64"]), (3, "label", ["Label"])),
    "Mapping": (
        (1, "id", "uint64"),
        (2, "memory_start", "uint64"),
        (3, "memory_limit", "uint64"),
        (4, "file_offset", "uint64"),
        (5, "filename", "int64"),
        (6, "build_id", "int64"),
        (7, "has_functions", "bool"),
        (8, "has_filenames", "bool"),
        (9, "has_line_numbers", "bool"),
        (10, "has_inline_frames", "bool"),
    ),
    "Line": ((1, "function_id", "uint64"), (2, "line", "int64")),
    "Location": ((1, "id", "uint64"), (2, "mapping_id", "uint64"), (3, "address", "uint64"), (4, "line", ["Line"])),
    "Function": (
        (1, "id", "uint64"),
        (2, "name", "int64"),
        (3, "system_name", "int64"),
        (4, "filename", "int64"),
        (5, "start_line", "int64"),
    ),
    "Profile": (
        (1, "sample_type", ["ValueType"]),
        (2, "sample", ["Sample"]),
        (3, "mapping", ["Mapping"]),
        (4, "location", ["Location"]),
        (5, "function", ["Function"]),
        (6, "string_table", ["string"]),
        (9, "time_nanos", "int64"),
        (11, "period_type", "ValueType"),
        (12, "period", "int64"),
        (13, "comment", ["int64"]),
        (14, "default_sample_type", "int64"),
    ),
}
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
_DEFAULTS = {kind: _TYPES[place + 1][0] for kind, place in _PLACES.items()}


def _message_class() -> Any:
    """The class of a whole profile, made from the table."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="tslab_pprof.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, called, declared in fields:
            many = isinstance(declared, list)
            kind = declared[0] if isinstance(declared, list) else declared
            added = message.field.add(
                name=called, number=number, label=field.LABEL_REPEATED if many else field.LABEL_OPTIONAL
            )
            if kind in _MESSAGES:
                added.type, added.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                added.type = getattr(field, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName(f"{_PACKAGE}.Profile")
    get = getattr(message_factory, "GetMessageClass", None)  # older versions have a factory
    return get(found) if get else message_factory.MessageFactory(pool).GetPrototype(found)  # type: ignore[attr-defined]


class _Writer:
    def __init__(self, written: Written, names: Symbols) -> None:
        self.written, self.names = written, names
        self.message = _message_class()()
        self.strings = {"": 0}
        self.functions: dict[tuple[str, str], int] = {}
        self.locations: dict[int, int] = {}
        self.mappings: dict[Mapping, int] = {}

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def mapping(self, frame: int) -> int:
        mapping = self.written.mapping_of(frame)
        if mapping is None or not mapping.path:
            return 0
        if mapping not in self.mappings:
            self.mappings[mapping] = len(self.mappings) + 1
            self.message.mapping.add(
                id=self.mappings[mapping],
                memory_start=mapping.start,
                memory_limit=mapping.end,
                file_offset=mapping.offset,
                filename=self.string(mapping.path),
                build_id=self.string(symbols.build_id(mapping.path)),
                has_functions=True,
                has_filenames=True,
                has_line_numbers=True,
                has_inline_frames=True,
            )
        return self.mappings[mapping]

    def function(self, place: symbols.Place) -> int:
        key = (place.function, place.file)
        if key not in self.functions:
            self.functions[key] = len(self.functions) + 1
            name = self.string(place.function)
            self.message.function.add(
                id=self.functions[key], name=name, system_name=name, filename=self.string(place.file)
            )
        return self.functions[key]

    def location(self, frame: int) -> int:
        if frame not in self.locations:
            self.locations[frame] = len(self.locations) + 1
            location = self.message.location.add(
                id=self.locations[frame], mapping_id=self.mapping(frame), address=frame
            )
            for place in self.names.places(frame):
                location.line.add(function_id=self.function(place), line=place.line)
        return self.locations[frame]

    def sample(self, stack: int, place: int, found: figures.Sum, labels: Iterable[tuple[str, str]] = ()) -> None:
        values = [0] * len(_TYPES)
        values[place : place + 2] = round(found.objects), round(found.bytes)
        sample = self.message.sample.add(
            location_id=[self.location(frame) for frame in self.names.frames(stack)], value=values
        )
        for key, text in labels:
            sample.label.add(key=self.string(key), str=self.string(text))

    def labels(self, epoch: int, thread: int) -> tuple[tuple[str, str], ...]:
        named = self.written.epochs.get(epoch)
        text = "process" if epoch == 0 else (named.label if named and named.label else f"epoch {epoch}")
        return ("epoch", text), ("thread", self.written.threads.get(thread) or str(thread))


def write(path: Path, written: Written, names: Symbols, kind: str = "live") -> None:
    """Writes a profile; `kind` is what pprof shows first."""
    writer = _Writer(written, names)
    message = writer.message

    def value_type(entry: tuple[str, str]) -> dict[str, int]:
        return {"type": writer.string(entry[0]), "unit": writer.string(entry[1])}

    for entry in _TYPES:
        message.sample_type.add(**value_type(entry))
    for each, place in _PLACES.items():
        if each in ("live", "kept"):
            sums = getattr(figures, each)(written, key=lambda sample: (sample.stack, sample.epoch, sample.thread))
            for key, found in sums.items():
                stack, labels = (0, ()) if key is None else (key[0], writer.labels(*key[1:]))
                writer.sample(stack, place, found, labels)
        else:
            for stack, found in figures.by_stack(written, each).items():
                writer.sample(stack, place, found)
    message.period_type.CopyFrom(type(message.period_type)(**value_type(("space", "bytes"))))
    message.period = written.number("period")
    message.default_sample_type = writer.string(_DEFAULTS[kind])
    message.string_table.extend(writer.strings)
    with open(path, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(message.SerializeToString())
