"""Fuzzes for so many minutes on one core: random operations in release and checked builds, static and drop-in, then
libFuzzer. Says at the end how many operations there were, and what share of the engine's edges libFuzzer reached (the
branches of the sanitizers' checks, which nothing takes when all is well, count as edges, too).

usage: long.py BUILD_FOLDER MINUTES [SEED]

Each failure is said, shrunk and kept in BUILD_FOLDER/fuzz-found, and what fails does not end the run. Exit code 1 when
there was one. Without SEED, it looks elsewhere each day."""

import datetime
import pathlib
import re
import subprocess
import sys
import time

# How each program gets its share of the time, and what it is called. The last share is libFuzzer's.
SEEDED = [
    (0.30, "release", "fuzz_seeded", "release"),
    (0.25, "debug", "fuzz_seeded", "checked"),
    (0.10, "release", "fuzz_seeded_dropin", "release, drop-in"),
    (0.10, "debug", "fuzz_seeded_dropin", "checked, drop-in"),
]
LIBFUZZER_SHARE = 0.25
MOST_FAILURES = 5  # of one program: there is something that always fails
OPERATIONS = re.compile(r"^(\d+) operations, ", re.MULTILINE)
FAILED = re.compile(r"seed (\d+) fails in operation (\d+)")


class Run:
    def __init__(self, build, seed):
        self.build, self.seed = build, seed
        self.found = build / "fuzz-found"
        self.found.mkdir(parents=True, exist_ok=True)
        self.failures = []
        self.rows = []

    def shrink(self, preset, program, name):
        """What is left of a failing case is easier to read, and to keep as tests/fuzz/crashes/*.txt."""
        replay = self.build / preset / "tests/fuzz" / program
        small = self.found / f"{pathlib.Path(name).stem}-{preset}-{program}.txt"
        subprocess.run([replay, "--shrink", self.found / name, small], cwd=self.found, check=False)
        return small if small.exists() else self.found / name

    def seeded(self, share, preset, program, label, seconds):
        end, seed, operations, failures = time.monotonic() + share * seconds, self.seed, 0, 0
        while time.monotonic() < end and failures < MOST_FAILURES:
            left = max(1, round(end - time.monotonic()))
            command = [self.build / preset / "tests/fuzz" / program, str(seed), f"{left}s"]
            done = subprocess.run(command, cwd=self.found, check=False, capture_output=True, text=True)
            sys.stderr.write(done.stderr)
            counted = OPERATIONS.search(done.stdout)
            operations += int(counted[1]) if counted else 0
            if done.returncode == 0 and counted:
                break
            failures += 1
            failed = FAILED.search(done.stderr)
            if failed is None:
                self.failures.append(f"{label}: {program} ended with exit code {done.returncode} and said nothing")
                break
            seed = int(failed[1]) + 1
            kept = self.shrink(preset, program.replace("seeded", "replay"), f"fuzz-{failed[1]}.bin")
            self.failures.append(f"{label}: seed {failed[1]}, operation {failed[2]}; see {kept}")
        self.rows.append((label, operations, ""))

    def libfuzzer(self, seconds):
        folder = self.build / "asan/tests/fuzz"
        corpus = self.found / "corpus"
        corpus.mkdir(exist_ok=True)
        command = [folder / "fuzz_libfuzzer", f"-max_total_time={round(LIBFUZZER_SHARE * seconds)}", "-max_len=4096",
                   "-close_fd_mask=2", "-timeout=120", "-rss_limit_mb=3000", f"-artifact_prefix={self.found}/", corpus,
                   folder / "corpus"]
        done = subprocess.run(command, cwd=self.found, check=False, capture_output=True, text=True, errors="replace")
        good = OPERATIONS.search(done.stdout)
        counters = re.search(r"\((\d+) inline 8-bit counters\)", done.stderr)
        covered = re.findall(r"\bcov: (\d+)", done.stderr)
        if done.returncode != 0 or not good or not counters or not covered:
            sys.stderr.write("\n".join(done.stderr.splitlines()[-40:]) + "\n")
            self.failures.append(f"libFuzzer: exit code {done.returncode}; see {self.found}")
        coverage = f"{100 * int(covered[-1]) / int(counters[1]):.1f} % of the edges, sanitizers' checks among them" if covered and counters else ""
        self.rows.append(("libFuzzer, AddressSanitizer", int(good[1]) if good else 0, coverage))


def main():
    if len(sys.argv) not in (3, 4) or not re.fullmatch(r"\d+(\.\d+)?", sys.argv[2]) or float(sys.argv[2]) == 0:
        sys.exit("usage: long.py BUILD_FOLDER MINUTES [SEED]; MINUTES is a number above 0")
    seconds = float(sys.argv[2]) * 60
    seed = int(sys.argv[3]) if len(sys.argv) == 4 else datetime.date.today().toordinal() * 10_000_000
    run = Run(pathlib.Path(sys.argv[1]).resolve(), seed)
    print(f"Fuzzing for {seconds / 60:g} minutes, from seed {seed}; what is found goes to {run.found}.", flush=True)
    for share, preset, program, label in SEEDED:
        run.seeded(share, preset, program, label, seconds)
    run.libfuzzer(seconds)
    for label, operations, coverage in run.rows:
        print(f"  {label:28}{operations:14,} operations  {coverage}".rstrip())
    print(f"  {'together':28}{sum(row[1] for row in run.rows):14,} operations, {len(run.failures)} failures")
    for failure in run.failures:
        print(f"FAILED: {failure}")
    sys.exit(1 if run.failures else 0)


main()
