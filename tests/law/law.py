"""Seeds of histories for which the law of memory holds, and those for which it is known to be broken (known.txt).
usage: law.py PROGRAM              some that hold, and all that are known: a test fails where one of these holds by now
       law.py PROGRAM --seeds N    the first N seeds. As many may break the law as broke it last (BROKEN_OF_A_HUNDRED)"""

import subprocess
import sys
from pathlib import Path

# Those in which only epochs are used: what a process keeps by age depends on how busy the machine is.
HOLD = (6, *range(9, 16), 17, 22, 24, 25, 33, 35, 38, 39, 41, 42, 44, 49, 50, 52, 54, 56, 59, 64, 65, 66, 67, 70, 76, 193)
BROKEN_OF_A_HUNDRED = 10


def run(program: str, seeds: list[str]) -> list[str]:
    done = subprocess.run([program, *seeds], stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == len(seeds), f"{len(lines)} of {len(seeds)} histories came to their end"
    return lines


def main(program: str, *words: str) -> str:
    if words:
        seeds = [str(seed) for seed in range(1, int(words[1]) + 1)]
        broken = [line for line in run(program, seeds) if line.endswith("BROKEN")]
        print(*broken, f"{len(broken)} of {len(seeds)} histories break the law", sep="\n")
        return "more than before" if len(broken) * 100 > len(seeds) * BROKEN_OF_A_HUNDRED else ""
    listed = Path(__file__).with_name("known.txt").read_text().splitlines()
    known = [line.split()[:2] for line in listed if line[:1] != "#"]
    broken = [line for line in run(program, [str(seed) for seed in HOLD]) if line.endswith("BROKEN")]
    lines = run(program, [seed for seed, _ in known])
    holds = [line for line, (_, check) in zip(lines, known) if float(line.split(f"  {check} ")[1].split()[0]) <= 1]
    print(*(f"broken: {line}\nrepeat it: {program} {line.split()[1][:-1]}" for line in broken), sep="\n")
    print(*(f"it holds by now, take it out of known.txt: {line}" for line in holds), sep="\n")
    return f"{len(broken)} broken, {len(holds)} mended" if broken or holds else ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) or 0)
