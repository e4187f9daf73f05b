#!/usr/bin/python3 -B
"""Writes the declarations of tslab.h in Rust: tslab-sys/src/declarations.rs.

usage: declarations.py            writes the file
       declarations.py --check    fails where the file is not that of the header
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "include/tslab/tslab.h"
TARGET = HERE / "tslab-sys/src/declarations.rs"

TYPES = {
    "void": "c_void", "char": "c_char", "int": "c_int", "size_t": "usize", "uint64_t": "u64", "int64_t": "i64", "uint32_t": "u32",
}  # fmt: skip
HEAD = """\
// The functions, types and constants of tslab.h, which is the manual. Written by declarations.py: do not edit.

use core::ffi::{c_char, c_int, c_uint, c_void};
"""


def rust_type(text):
    """`const char *` and the like."""
    words = re.sub(r"\b(struct|enum)\b", "", text).replace("*", " * ").split()
    const = "const" in words
    words = [word for word in words if word != "const"]
    base = TYPES.get(words[0], words[0])
    for _ in words[1:]:
        base = f"*{'const' if const else 'mut'} {base}"
    return base


def split(declaration):
    """(type, name) of a parameter or a member."""
    return re.fullmatch(r"(.*?)(\w+)", declaration.strip(), re.S).groups()


def members(body):
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        if pointer := re.fullmatch(r"void \(\*(\w+)\)\((.*)\)", declaration, re.S):
            types = ", ".join(rust_type(split(part)[0]) for part in pointer[2].split(","))
            yield pointer[1], f'Option<unsafe extern "C" fn({types})>'
        elif array := re.fullmatch(r"char (\w+)\[(\d+)\]", declaration):
            yield array[1], f"[c_char; {array[2]}]"
        else:
            kind, first = split(declaration.split(",")[0])
            for name in [first, *(word.strip() for word in declaration.split(",")[1:])]:
                yield name, rust_type(kind)


def enum(name, body):
    values, following = [], 0
    for part in filter(None, (part.strip() for part in body.split(","))):
        constant, _, value = part.partition("=")
        number = int(value, 0) if value else following
        values.append((constant.strip(), value.strip() or str(number)))
        following = number + 1
    kind = "c_int" if any(value.startswith("-") for _, value in values) else "c_uint"
    yield f"pub type {name} = {kind};"
    yield from (f"pub const {constant}: {name} = {value};" for constant, value in values)


def struct(name, body, derived="Clone, Copy, Debug"):
    yield f"#[repr(C)]\n#[derive({derived})]"
    yield f"pub struct {name} {{"
    yield from (f"    pub {member}: {kind}," for member, kind in members(body))
    yield "}"


def function(result, name, parameters):
    pairs = [] if parameters.strip() == "void" else [split(part) for part in parameters.split(",")]
    told = ", ".join(f"{parameter}: {rust_type(kind)}" for kind, parameter in pairs)
    returned = "" if result.strip() == "void" else f" -> {rust_type(result)}"
    return f"    pub fn {name}({told}){returned};"


def declarations():
    text = HEADER.read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    lines = [HEAD]
    functions = []
    pattern = re.compile(
        r"^(?:typedef struct {(?P<id>.*?)^} (?P<id_name>\w+);|typedef enum (?P<from>\w+) (?P<to>\w+);"
        r"|enum (?P<enum>\w+) {(?P<values>.*?)^};|struct (?P<struct>\w+) {(?P<members>.*?)^};"
        r"|TSLAB_API (?P<result>[^;()]*?)(?P<function>tslab_\w+)\((?P<parameters>[^;()]*)\)[^;]*;)",
        re.M | re.S)  # fmt: skip
    for match in pattern.finditer(text):
        if match["id_name"]:
            lines += struct(match["id_name"], match["id"], "Clone, Copy, Debug, PartialEq, Eq, Hash")
        elif match["to"]:
            lines.append(f"pub type {match['to']} = {match['from']};")
        elif match["enum"]:
            lines += enum(match["enum"], match["values"])
        elif match["struct"]:
            lines += struct(match["struct"], match["members"])
        else:
            functions.append(function(match["result"], match["function"], match["parameters"]))
    return "\n".join([*lines, 'unsafe extern "C" {', *functions, "}", ""])


def main():
    wanted = declarations()
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text(encoding="utf-8") != wanted:
            sys.exit("tslab-sys/src/declarations.rs is not that of tslab.h: run bindings/rust/declarations.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        TARGET.write_text(wanted, encoding="utf-8")


main()
