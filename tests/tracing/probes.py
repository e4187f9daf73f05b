"""The probes in each library are those that docs/tracing.md lists, with as many arguments, and each is a nop. Those of OpenTelemetry
have semaphores, and their arguments in the registers of a call.

usage: probes.py SOURCES CC LIBRARY...
"""

import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
NOTE = re.compile(
    r"Provider: (\w+)\n\s+Name: (\w+)\n\s+Location: 0x([0-9a-f]+),.* Semaphore: 0x([0-9a-f]+)\n\s+Arguments: ?(.*)"
)
OTEL = "otel_memory:"
REGISTERS = (("%rdi", "%rsi", "%rdx"), ("x0", "x1", "x2"))  # of the first arguments, on the machines that there are


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def notes(path):
    """(name, address, semaphore, arguments) of each place. A name of another provider than tslab comes behind it."""
    text = output("readelf", "--notes", "--wide", path)
    return [
        (f"{provider}:{name}".removeprefix("tslab:"), int(address, 16), int(semaphore, 16), arguments.split())
        for provider, name, address, semaphore, arguments in NOTE.findall(text)
    ]


def semaphores(path):
    """Where the section of them begins and ends."""
    found = re.search(r"\.probes +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) ", output("readelf", "--sections", "--wide", path))
    start = int(found[1], 16)
    return range(start, start + int(found[2], 16))


def documented(page):
    table = page.partition("## Probes")[2].partition("The kinds of")[0]
    rows = re.findall(r"^\| `([\w:]+)` \| ([^|]+) \|", table, re.M)
    return {name: len(arguments.split(",")) for name, arguments in rows}


def documented_kinds(page):
    table = page.partition("The kinds of `limit`:")[2].partition("The reasons of")[0]
    return [int(number) for number in re.findall(r"^\| (\d+) \|", table, re.M)]


def documented_reasons(page):
    return [int(number) for number in re.findall(r"^\| (\d+) \| (?:malloc|free) \|", page, re.M)]


def instructions(path):
    found = re.findall(r"^\s*([0-9a-f]+):\s*(\S+)", output("objdump", "-d", "--no-show-raw-insn", path), re.M)
    return {int(address, 16): name for address, name in found}


def complaints_of(path, wanted):
    found = notes(path)
    names = {name for name, *_ in found}
    for name in sorted(names ^ wanted.keys()):
        yield f"{path}: {name} is {'not in docs/tracing.md' if name in names else 'not in the library'}"
    code = instructions(path)
    for name, address, semaphore, arguments in found:
        if (semaphore in semaphores(path)) != name.startswith(OTEL):
            yield f"{path}: {name} has the semaphore {semaphore:#x}"
        places = tuple(argument.partition("@")[2] for argument in arguments)
        if name.startswith(OTEL) and places not in [of[: len(places)] for of in REGISTERS]:
            yield f"{path}: {name} has its arguments in {places}"
        if len(arguments) != wanted.get(name):
            yield f"{path}: {name} has {len(arguments)} arguments, and docs/tracing.md says {wanted.get(name)}"
        for argument in arguments:
            if not re.fullmatch(r"-?8@%?[a-z]+\d*", argument):
                yield f"{path}: {name} has {argument}, which is no number of 64 bits in a register"
        if code.get(address) != "nop":
            yield f"{path}: {name} is no nop at {address:#x} but {code.get(address)}"


def has_probes(sources, compiler, *options):
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory, "one.c")
        source.write_text('#include "base/probe.h"\nvoid one(void *p);\nvoid one(void *p)\n{\n    PROBE2(one, p, 1);\n}\n')
        target = source.with_suffix(".o")
        output(compiler, "-O2", "-Wall", "-Werror", *options, f"-I{sources}/src", "-c", str(source), "-o", str(target))
        return bool(notes(str(target)))


def main():
    sources, compiler, *libraries = sys.argv[1:]
    page = pathlib.Path(sources, "docs/tracing.md").read_text(encoding="utf-8")
    wanted = documented(page)
    found = []
    if has_probes(sources, compiler, "-DTSLAB_PROBES=0"):
        found.append("TSLAB_PROBES=0 has probes")
    header = pathlib.Path(sources, "src/base/probe.h").read_text(encoding="utf-8")
    reasons = len(re.findall(r"^    SLOW_\w+,", header, re.M)) - 1
    if documented_reasons(page) != list(range(1, reasons + 1)):
        found.append(f"docs/tracing.md explains the reasons {documented_reasons(page)}, and there are {reasons}")
    kinds = len(re.findall(r"^    LIMIT_KIND_\w+,", header, re.M))
    if documented_kinds(page) != list(range(kinds)):
        found.append(f"docs/tracing.md explains the limits {documented_kinds(page)}, and there are {kinds}")
    there = has_probes(sources, compiler)
    for path in libraries if there else []:
        found += complaints_of(path, wanted)
    print("\n".join(found))
    if not found and not there:
        print("there is no <sys/sdt.h> here (Debian: systemtap-sdt-dev)")
        sys.exit(SKIPPED)
    sys.exit(1 if found else 0)


main()
