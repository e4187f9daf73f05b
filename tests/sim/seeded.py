"""Writes a source of the engine with faults seeded into it. The environment names the one that a program has: SEEDED_FAULT.

usage: seeded.py SOURCE SCRIPT... RESULT

Each script is of sed, and named like its fault. A function that a script changes gets its body twice:

    if (has_give_counts_last) {
        ... the body with the fault
    }
    ... the body without"""

import pathlib
import re
import subprocess
import sys
import tempfile

MUTATE = pathlib.Path(__file__).with_name("mutate.sh")
BODY = re.compile(r"^\{\n(.*?)^\}\n", re.M | re.S)
RETURNS_NOTHING = re.compile(r"^(?:(?!_Noreturn)\w+ )*void (?:\w+ )?\w+\([^;{}]*\)\n\Z", re.M)
HEAD = """#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool {variables};
__attribute__((constructor)) static void seed_a_fault(void)
{{
    const char *const name = getenv("SEEDED_FAULT");
    if (name != NULL) {{
{seeds}    }}
}}

"""


def with_fault(source, script):
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "mutant.c"
        subprocess.run([MUTATE, source, script, result], check=True)
        return result.read_text(encoding="utf-8")


def variable(script):
    return "has_" + script.stem.replace("-", "_")


def main():
    source, *scripts, result = (pathlib.Path(word) for word in sys.argv[1:])
    # What lies between the bodies of functions, and the bodies, in turns.
    before = BODY.split(source.read_text(encoding="utf-8"))
    now = before.copy()
    for script in scripts:
        changed = BODY.split(with_fault(source, script))
        if changed[::2] != before[::2]:
            sys.exit(f"{script}: it changes what is outside of functions")
        for at in range(1, len(before), 2):
            if changed[at] != before[at]:
                end = "return;\n" if RETURNS_NOTHING.search(before[at - 1]) else ""
                now[at] = f"if ({variable(script)}) {{\n{changed[at]}{end}}}\n{now[at]}"
    for at in range(1, len(now), 2):
        now[at] = "{\n" + now[at] + "}\n"
    seeds = [f'        {variable(script)} = strcmp(name, "{script.stem}") == 0;\n' for script in scripts]
    head = HEAD.format(variables=", ".join(variable(script) for script in scripts), seeds="".join(seeds))
    result.write_text(head + "".join(now), encoding="utf-8")


if __name__ == "__main__":
    main()
