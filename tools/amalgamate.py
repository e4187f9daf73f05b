#!/usr/bin/python3 -B
"""Makes two files of the engine, tslab.c and tslab.h, that a project can compile as its own: `cc -O2 -c tslab.c`.

All names but those of the interface become static. Compiled with -DTSLAB_MALLOC, the file also defines malloc, free and their
family, and the C++ operators.
"""

import argparse
import pathlib
import re

from layers import includes_of, layers_of, pairs_in_order
from version import version

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
# What replaces libc's malloc. All else is the engine.
DROPIN = ("api/malloc", "api/jemalloc", "api/threads", "api/sleep", "api/cxx")

INCLUDE = re.compile(r'^#include ([<"])([^>"]+)[>"]\n', re.M)
# A definition as clang-format writes it: the brace has a line of its own. A prototype ends with a semicolon.
DEFINITION = re.compile(r"^(?!static |TSLAB_API |LIBC_NAME|JEMALLOC_NAME|__attribute__|always_inline |typedef |enum \w+ \{|struct \w+ \{)([A-Za-z_][^;{}#()]*?\**(\w+)\([^;{}#]*\))\n\{", re.M)
PROTOTYPE = re.compile(r"^(?!static |TSLAB_API |LIBC_NAME|typedef |extern |#)([A-Za-z_][^;{}#()=]*?\**(\w+)\([^;{}#=]*\)[^;{}#=]*;)$", re.M)
VARIABLE = re.compile(r"^extern ([^;]*);", re.M)
# The condition of a header that is read once.
GUARD = re.compile(r"!defined TSLAB_\w+_H")

HEAD = """\
/* tslab {version}, a memory allocator for Linux, in one file. It was made by tools/amalgamate.py from the sources of the project.
 *
 *     cc -O2 -c tslab.c                    the functions of tslab.h
 *     cc -O2 -c -DTSLAB_MALLOC tslab.c     these, and malloc, free, operator new and their families for the whole program
 *
 * {licence} */
#ifdef __cplusplus
#error "tslab.c is C: compile it with a C compiler"
#endif
"""
# The interface has functions that this program may not call, and the engine some that only other builds call.
QUIET = '#pragma GCC diagnostic ignored "-Wunused-function"\n'


def layers():
    texts = {str(path.relative_to(SOURCES)): path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.[ch]")}
    return pairs_in_order(layers_of((SOURCES / "LAYERS").read_text(encoding="utf-8")), includes_of(texts))


def parts(layer, suffix):
    """The files of a layer; the part of the system has a name of its own."""
    names = [layer, f"{layer}_linux"] if suffix == ".c" else [layer]
    return [path for path in (SOURCES / f"{name}{suffix}" for name in names) if path.exists()]


def conditions(text):
    """For each line, the conditions of the preprocessor that it stands under."""
    stack, found = [], []
    for line in text.splitlines():
        if match := re.match(r"#(if|ifdef|ifndef|else|elif|endif)\b(.*)", line):
            word, rest = match[1], match[2].strip()
            if word in ("if", "ifdef", "ifndef"):
                stack.append({"if": rest, "ifdef": f"defined {rest}", "ifndef": f"!defined {rest}"}[word])
            elif word == "endif":
                stack.pop()
            else:
                stack[-1] = "another branch"
        found.append(tuple(stack))
    return found


def definition_of(variable):
    return rf"^(_Alignas\(\w+\) )?{re.escape(variable)}( =|;)"


def headers_of(paths):
    """The headers that these files need."""
    found, left = set(), list(paths)
    while left:
        text = left.pop().read_text(encoding="utf-8")
        new = {SOURCES / match[2] for match in INCLUDE.finditer(text) if match[1] == '"'} - found
        found |= new
        left += new
    return found


class Amalgamation:
    def __init__(self):
        self.sources = [path for layer in layers() for path in parts(layer, ".c")]
        needed = headers_of(self.sources)
        self.headers = [path for layer in layers() for path in parts(layer, ".h") if path in needed]
        self.system = []
        # Functions of the engine: name -> the conditions under which there is one.
        self.defined = {}
        texts = {path: path.read_text(encoding="utf-8") for path in self.sources}
        for text in texts.values():
            under = conditions(text)
            for match in DEFINITION.finditer(text):
                self.defined.setdefault(match[2], []).append(under[text.count("\n", 0, match.start())])
        # Variables of the engine, as their definitions begin, too.
        declared = [match[1] for path in self.headers for match in VARIABLE.finditer(path.read_text(encoding="utf-8"))]
        self.variables = [name for name in declared if any(re.search(definition_of(name), text, re.M) for text in texts.values())]

    def prototype(self, match):
        places = self.defined.get(match[2], [])
        if not places:
            return match[0]
        if len(places) > 1 or not places[0]:
            return f"static {match[1]}"
        # Where there is no definition, the declaration is for code that is never reached.
        return f"#if {' && '.join(f'({place})' for place in places[0])}\nstatic\n#endif\n{match[1]}"

    def include(self, match, under):
        kind, name = match[1], match[2]
        if kind == '"' or name.startswith("tslab/"):
            return ""
        if under:  # not every system has it
            return match[0]
        if match[0] not in self.system:
            self.system.append(match[0])
        return ""

    def part(self, path):
        text = path.read_text(encoding="utf-8")
        under = [[place for place in places if not GUARD.fullmatch(place)] for places in conditions(text)]
        text = INCLUDE.sub(lambda match: self.include(match, under[text.count("\n", 0, match.start())]), text)
        if path.suffix == ".h":
            text = PROTOTYPE.sub(self.prototype, text)
            text = VARIABLE.sub(lambda match: f"static {match[1]};" if match[1] in self.variables else match[0], text)
        else:
            text = DEFINITION.sub(r"static \g<0>", text)
            for variable in self.variables:
                text = re.sub(definition_of(variable), r"static \g<0>", text, flags=re.M)
        return f"\n/* ---- {path.relative_to(SOURCES)} ---- */\n\n{text}"

    def text(self, version, licence):
        build, *headers = [self.part(path) for path in self.headers]
        is_dropin = {path: str(path.relative_to(SOURCES).with_suffix("")) in DROPIN for path in self.sources}
        engine = [self.part(path) for path in self.sources if not is_dropin[path]]
        dropin = [self.part(path) for path in self.sources if is_dropin[path]]
        return "".join([
            HEAD.format(version=version, licence=licence), QUIET, build, '\n#include "tslab.h"\n\n', *sorted(self.system), *headers, *engine,
            "\n#ifdef TSLAB_MALLOC\n", *dropin, "\n#endif /* TSLAB_MALLOC */\n"])  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    target = parser.parse_args().directory
    target.mkdir(parents=True, exist_ok=True)
    header = (ROOT / "include/tslab/tslab.h").read_text(encoding="utf-8")
    licence = "\n * ".join((ROOT / "LICENSE").read_text(encoding="utf-8").strip().splitlines()).replace("\n * \n", "\n *\n")
    (target / "tslab.c").write_text(Amalgamation().text(version(), licence), encoding="utf-8")
    (target / "tslab.h").write_text(header, encoding="utf-8")


main()
