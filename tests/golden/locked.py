"""Prints what each operation costs in locked instructions and locks, and fails where that is not what locked.txt says.

The figures are those of one operation. They are the same in each run, so a difference is a change of the engine. A figure may
differ by a tenth, or by 0.005. One that is lower by more fails, too: then the table is to be written again, and keeps the gain.

usage: locked.py PROGRAM [--write]

  locked   read-modify-writes: two for each lock, and all others
  stores   seq_cst stores, each of which is one more locked instruction on x86-64
  gate     locks of a thread's own, for which only a fork makes it wait
  shared   locks for which threads may wait for each other, and then which
"""

import os
import pathlib
import re
import subprocess
import sys

TABLE = pathlib.Path(__file__).with_name("locked.txt")
COLUMNS = ("locked", "stores", "gate", "shared")
PART, LEAST = 0.1, 0.005


def figures_of(output):
    """{operation: {figure: number for one operation}} of what the program prints."""
    rows = {}
    for line in output.splitlines():
        name, count, locked, stores, *locks = line.split("\t")
        figures = {"locked": locked, "stores": stores, "gate": 0} | dict(lock.split() for lock in locks)
        figures = {figure: round(int(number) / int(count), 3) for figure, number in figures.items()}
        shared = {figure: number for figure, number in figures.items() if figure not in COLUMNS and number != 0}
        rows[name] = {column: figures.get(column) for column in COLUMNS} | {"shared": round(sum(shared.values()), 3)} | shared
    return rows


def table_of(rows):
    """The table as text."""
    width = max(map(len, rows))
    lines = [f"{'operation':{width}}" + "".join(f"{column:>9}" for column in COLUMNS)]
    for name, figures in rows.items():
        shared = ", ".join(f"{figure} {number:.3f}" for figure, number in figures.items() if figure not in COLUMNS)
        numbers = "".join(f"{figures[column]:9.3f}" for column in COLUMNS)
        lines.append(f"{name:{width}}{numbers}" + (f"  {shared}" if shared else ""))
    return "\n".join(lines) + "\n"


def read_table(text):
    rows = {}
    for line in text.splitlines()[1:]:
        name, numbers, shared = re.fullmatch(r"(.*?)((?: +\d+\.\d+){4})(?:  (\D.*))?", line).groups()
        figures = dict(zip(COLUMNS, map(float, numbers.split())))
        figures |= {figure: float(number) for figure, number in re.findall(r"(\w+) ([\d.]+)", shared or "")}
        rows[name] = figures
    return rows


def verdict_of(old, new):
    """Empty where the difference may be."""
    allowed = max(LEAST, PART * old) + 1e-9
    if new > old + allowed:
        return "more than allowed"
    return "less: write the table" if new < old - allowed else ""


def differences(golden, measured):
    """(sentence, whether it fails) for each figure that is not as golden."""
    for name in sorted(golden.keys() ^ measured.keys()):
        yield f"{name}: only {'the table' if name in golden else 'the program'} has it", True
    for name in (name for name in golden if name in measured):
        for figure in dict.fromkeys([*golden[name], *measured[name]]):
            old, new = golden[name].get(figure, 0), measured[name].get(figure, 0)
            verdict = verdict_of(old, new)
            if new != old:
                yield f"{name}: {figure} {old:.3f} -> {new:.3f}" + (f", {verdict}" if verdict else ""), verdict != ""


def main():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TSLAB_")}
    output = subprocess.run([sys.argv[1]], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = figures_of(output)
    print(table_of(rows), end="")
    if sys.argv[2:] == ["--write"]:
        TABLE.write_text(table_of(rows))
        return
    found = list(differences(read_table(TABLE.read_text()), rows))
    for sentence, _ in found:
        print(sentence)
    if any(fails for _, fails in found):
        sys.exit("These are not the costs of tests/golden/locked.txt. If they are meant: make locked TABLE=write")


if __name__ == "__main__":
    main()
