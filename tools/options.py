#!/usr/bin/python3 -B
"""Writes what is made of the table of options (OPTION_TABLE in src/common/option.h): the tables in docs/options.md and docs/lab.md,
the list in include/tslab/tslab.h, and the flags of `tslab run`. tools/manual.py makes the man page of the same rows.

usage: options.py [--check]    --check: writes nothing, and fails if something is not what it would write
"""

import dataclasses
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNITS = {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40, "GUARDED": 0}
ROW = re.compile(r'X\(\w+, (\w+), KIND_(\w+), ([^,]+), ([^,]+), ([^,]+), "([^"]*)", (\w+), ((?:"[^"]*" ?)+)\)')
OPTIONS_MOST = 16


@dataclasses.dataclass
class Option:
    name: str
    kind: str
    fallback: str
    smallest: str
    largest: str
    values: str
    when: str
    doc: str

    def number(self, expression):
        value = eval(expression.replace("!GUARDED", "1"), {"__builtins__": {}}, UNITS)  # noqa: S307  # of our own header
        for suffix in ("", "K", "M", "G", "T"):
            if self.values != "bytes" or value == 0 or value % 1024 != 0 or suffix == "T":
                return f"{value}{suffix}"
            value //= 1024

    def words(self):
        return self.values.split(", ") if self.kind == "CHOICE" else []

    def default(self):
        """Nothing where there is no limit and no file."""
        if self.kind == "CHOICE":
            return next(word for word in self.words() if self.fallback.endswith("_" + word.upper().replace("-", "_")))
        return "" if self.kind in ("LIMITS", "PATH") else self.number(self.fallback)

    def range(self):
        numbers = f"{self.number(self.smallest)} to {self.number(self.largest)} " if self.kind == "NUMBER" else ""
        return (numbers + self.values).strip()

    def form(self):
        """What the value looks like, in a word."""
        if self.kind == "NUMBER":
            return self.values.upper() or "N"
        return {"CHOICE": "WORD", "SIGNAL": "SIGNAL"}.get(self.kind, self.values.partition(", ")[0])


def options():
    text = (ROOT / "src/common/option.h").read_text(encoding="utf-8")
    table = text[text.index("#define OPTION_TABLE"):text.index("#define OPTION_CONSTANT")]  # fmt: skip
    rows = ROW.findall(re.sub(r"\s*\\\n\s*", " ", table))
    assert len(rows) == table.count(" X("), "a row is not as the others"
    return [Option(*row[:-1], "".join(re.findall(r'"([^"]*)"', row[-1]))) for row in rows]


def page_table(rows):
    """The bar of a table would end its cell."""
    yield "| name | default | values | set | what it does |"
    yield "|---|---:|---|---|---|"
    for row in rows:
        default = f"`{row.default()}`" if row.words() else row.default()
        values = ", ".join(f"`{word}`" for word in row.words()) or re.sub(r"^[A-Z]+\S*[=\[]\S*(?=,)", r"`\g<0>`", row.range())
        when = "any time" if row.when == "ANY_TIME" else "start"
        yield f"| `{row.name}` | {default} | {values} | {when} | {row.doc} |"


def between_markers(page, rows):
    text = (ROOT / page).read_text(encoding="utf-8")
    begin, end = "<!-- options: tools/options.py writes this table -->\n", "<!-- /options -->"
    before, _, rest = text.partition(begin)
    return before + begin + "\n" + "\n".join(page_table(rows)) + "\n\n" + end + rest.partition(end)[2]


def header(rows):
    """The list of those that a program can set."""
    text = (ROOT / "include/tslab/tslab.h").read_text(encoding="utf-8")
    begin, end = "* The program can set, for all threads: ", ". Each thread follows the new value from its next operation on."
    names = ", ".join(f"`{row.name}`" for row in rows if row.when == "ANY_TIME")
    filled = textwrap.fill(begin + names + end, 118, initial_indent=" ", subsequent_indent=" * ", break_on_hyphens=False)
    return re.sub(r" \* The program can set, for all threads:.*?operation on\.", lambda _: filled, text, flags=re.S)


def flags(rows):
    yield '"""The options of the library, as `tslab run` takes them. tools/options.py writes this file."""\n'
    yield "# ruff: noqa: E501\n# fmt: off\n"
    yield "from typing import NamedTuple\n\n"
    yield "class Option(NamedTuple):"
    yield "    name: str\n    form: str\n    values: str\n    help: str\n    changeable: bool  # while the program runs\n\n"
    yield "OPTIONS = ("
    for row in rows:
        words = [row.name, row.form(), row.range(), row.doc]
        yield "    Option(" + ", ".join(f'"{word}"' for word in words) + f", {row.when == 'ANY_TIME'}),"
    yield ")"


def written():
    """Each file with the text that it should have."""
    rows = options()
    of_users = [row for row in rows if row.when != "FOR_TESTS"]
    yield "docs/options.md", between_markers("docs/options.md", of_users)
    yield "docs/lab.md", between_markers("docs/lab.md", [row for row in rows if row.when == "FOR_TESTS"])
    yield "include/tslab/tslab.h", header(rows)
    yield "tools/tslab_tools/option_table.py", "\n".join(flags(of_users)) + "\n"


def main():
    if sum(row.when != "FOR_TESTS" for row in options()) > OPTIONS_MOST:
        sys.exit(f"There are more than {OPTIONS_MOST} options for users: docs/decisions/knobs.md")
    differ = [(name, text) for name, text in written() if not (ROOT / name).is_file() or (ROOT / name).read_text(encoding="utf-8") != text]
    for name, text in differ:
        if "--check" in sys.argv:
            print(f"{name} is not what tools/options.py makes of src/common/option.h: run tools/options.py")
        else:
            (ROOT / name).write_text(text, encoding="utf-8")
    return 1 if differ and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
