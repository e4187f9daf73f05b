"""What each sub-command refuses before it measures anything, and in which words. usage: test_refusals.py LIBRARY"""

import contextlib
import io
import os
import unittest.mock

from lab_test import LabTest, main
from tslab_lab import cli
from tslab_lab.measure import honesty

# The exit code, what is said, and the words of the command; {ours} is the library, {own} an empty directory.
REFUSED = (
    (2, "invalid choice: 'remove'", "peers remove"),
    (1, "There is no 'jmalloc' to install. There are: jemalloc, ", "peers install jmalloc"),
    (1, "There is no 'glibc' to install", "peers install glibc"),
    (1, "There is no library /nowhere/lib.so. Run `make build`", "peers --library /nowhere/lib.so"),
    (2, "--rounds must be at least 1", "bench pair --rounds 0"),
    (2, "cannot write /nowhere/page.md", "bench pair --markdown /nowhere/page.md"),
    (1, "There is no allocator 'glibk'. There are: tslab, glibc", "bench pair --allocators glibk"),
    (1, "No workload has a name like 'nothing*'", "bench nothing*"),
    (1, "Did you mean replace", "bench replase"),
    (1, "wants a whole number for live", "bench replace:live=x"),
    (1, "There is no library /nowhere/lib.so. Run `make build`", "bench pair --library /nowhere/lib.so"),
    (1, "--strict: ", "bench pair --strict --rounds 1 --library {ours} --allocators tslab"),
    (1, "the operations of python cannot be timed", "latency python"),
    (2, "name a program to measure", "rss"),
    (1, "There is no program nosuch", "rss -- nosuch"),
    (2, "--least-effect must be a percentage", "ab tslab glibc pair --least-effect -1"),
    (2, "there is no such directory", "ab tslab glibc pair --markdown {own}/no/page.md"),
    (2, "required: B", "ab tslab"),
    (2, "--rounds 4 cannot decide: a difference in one of 3 rows could not be shown", "ab tslab glibc pair --rounds 4"),
    (2, "It takes 5 rounds, or fewer workloads.", "ab tslab glibc pair --rounds 4"),
    (2, "There is no workload 'nosuch'", "ab tslab glibc nosuch"),
    (2, "There is no allocator 'nosuch'", "ab tslab nosuch pair --library {ours}"),
    (2, "write the options before the workload, as in: lab rss --rounds 1 app", "rss app --rounds 1"),
    (1, "There are no results in nowhere", "report nowhere"),
    (1, "There are no results in .", "report ."),
    (1, "There is no run", "report last"),
    (1, "There is no page nosuch. There are: ", "show nosuch"),
    (2, "--groups: there is no rest; there are request, sizes, steps", "epochs --groups rest"),
    (2, "--policies: there is no sometimes; there are never, per-request", "requests --policies sometimes"),
    (2, "--scenarios: there is no client", "requests --scenarios client"),
    (2, "--requests must be at least 20, one for each connection", "requests --rate 1000 --requests 9"),
    (2, "--requests at this --rate take longer than 80 s", "requests --rate 1000 --requests 90000"),
    (2, "--deferred is compared with tslab", "requests --allocators glibc --deferred"),
)


class Refusals(LabTest):
    def said(self, words):
        """Exit code and both outputs of the command, run within this process."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with (
            unittest.mock.patch.object(honesty, "busy_share", lambda *_: 0),
            unittest.mock.patch.dict(os.environ, self.environment),
            contextlib.chdir(self.temporary),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                code = cli.main(words)
            except SystemExit as end:
                code = end.code
            texts = [" ".join(stream.detach().getvalue().decode().split()) for stream in (out, err)]
        return code, *texts

    def test_sentences(self):
        for code, sentence, words in REFUSED:
            with self.subTest(words):
                found = self.said([word.format(ours=self.library, own=self.own) for word in words.split()])
                self.assertEqual(found[:2], (code, ""), found[2])
                self.assertIn(sentence, found[2])


if __name__ == "__main__":
    main()
