"""Compiles the samples of a page, each by itself: what it teaches has to be what the headers offer. A sample that is marked as
text is the output of a command.

usage: guide.py GUIDE INCLUDE CC CXX
"""

import pathlib
import re
import subprocess
import sys

GUIDE, INCLUDE, CC, CXX = sys.argv[1:]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-Wno-unused-function", "-fsyntax-only"]
LANGUAGES = {
    "c": [CC, "-x", "c", "-std=gnu17", "-D_GNU_SOURCE"],
    "cpp": [CXX, "-x", "c++", "-std=gnu++17"],
}
# What a sample may use without saying so: it is about tslab, and not about these.
C_HEADERS = ["errno.h", "stdbool.h", "stdio.h", "stdlib.h", "string.h", "time.h", "tslab/tslab.h"]
CPP_HEADERS = ["map", "memory", "memory_resource", "string", "string_view", "thread", "unordered_map", "utility", "vector",
               "tslab/tslab.hpp"]


def samples(text):
    """Yields the line number, the language and the code of each sample."""
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if match[1] != "text":
            yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


def compile_sample(line, language, code):
    headers = C_HEADERS + (CPP_HEADERS if language == "cpp" else [])
    includes = "".join(f"#include <{header}>\n" for header in headers)
    source = f'{includes}#line {line + 1} "{GUIDE}"\n{code}'
    command = LANGUAGES[language] + WARNINGS + ["-I", INCLUDE, "-"]
    return subprocess.run(command, input=source, text=True).returncode == 0


def main():
    found = list(samples(pathlib.Path(GUIDE).read_text()))
    for line, language, _ in found:
        if language not in LANGUAGES:
            sys.exit(f"{GUIDE}:{line}: a sample is marked as c or cpp, not as {language!r}.")
    failed = [line for line, language, code in found if not compile_sample(line, language, code)]
    if failed or not found:
        sys.exit(f"{GUIDE}: {len(failed)} of {len(found)} samples do not compile.")
    print(f"{len(found)} samples compile.")


main()
