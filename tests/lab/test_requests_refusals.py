"""What the command that compares request servers must refuse or report. usage: test_refusals.py LIBRARY"""

import signal
import subprocess
import time

from lab_test import TIMEOUT, main
from requests_test import RequestsTest

# Each is a library to preload as if it were tslab.
HAS_NO_EPOCHS = """
#include <stddef.h>
void *__libc_malloc(size_t size);
void __libc_free(void *start);
void *malloc(size_t size) { return __libc_malloc(size); }
void free(void *start) { __libc_free(start); }
"""
DIES_IN_THE_MIDDLE = """
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
void *__libc_malloc(size_t size);
static int count;
extern char *program_invocation_short_name;
void *malloc(size_t size)
{
    if (size == 8192 && strcmp(program_invocation_short_name, "server") == 0 && ++count == 40) abort();
    return __libc_malloc(size);
}
void __libc_free(void *start);
void free(void *start) { __libc_free(start); }
"""


class Refusals(RequestsTest):
    def test_a_library_that_is_not_what_is_wanted(self):
        cases = (("int nothing;", "the server does not run on"), (HAS_NO_EPOCHS, "has no epochs: build it anew"))
        for source, words in cases:
            done = self.command("--library", self.compiled(source), "--allocators", "tslab")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(words, done.stderr)

    def test_a_server_that_dies_is_told(self):
        library = self.compiled(DIES_IN_THE_MIDDLE)
        done = self.command("--preset", "study", "--library", library, "--allocators", "tslab", "--no-figures")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tslab: the server on tslab never died of SIGABRT. Its last words:", done.stderr)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_it_can_be_interrupted(self):
        options = ("--scenarios", "server", "--allocators", "glibc", "--requests", "50000", "--no-figures")
        process = subprocess.Popen(
            self.argv(*self.words(*options)), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + TIMEOUT
        while not list(self.temporary.glob("tslab-requests-*/log")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, errors), (130, "tslab: interrupted\n"))
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_bad_options_get_a_sentence(self):
        for options, sentence in (
            (("--allocators", "glibk"), "--allocators: there is no glibk"),
            (("--policies", "sometimes"), "--policies: there is no sometimes; there are never, per-request"),
            (("--policies", "batch-0"), "--policies: there is no batch-0"),
            (("--scenarios", "client"), "--scenarios: there is no client"),
            (("--rounds", "0"), "--rounds must be from 1 to"),
            (("--workers", "1"), "--workers must be from 2 to 64"),
            (("--rate", "0"), "--rate must be from 1 to"),
            (("--requests", "9"), "--requests must be at least 20, one for each connection"),
            (("--session-percent", "101"), "--session-percent must be from 0 to 100"),
            (("--requests", "90000"), "--requests at this --rate take longer than 80 s"),
            (("--check",), "--check needs --rounds of at least 6"),
            (("--allocators", "glibc", "--deferred", self.library), "--deferred is compared with tslab"),
            (("--markdown", "/nowhere/page.md"), "cannot write /nowhere/page.md"),
            (("--preset", "other"), "invalid choice: 'other'"),
        ):
            done = self.command(*options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertIn(sentence, done.stderr)
        done = self.command("--library", "/nowhere/lib.so")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("There is no library /nowhere/lib.so. Run `make build`", done.stderr)

    def test_without_h2load_it_says_what_to_install(self):
        tools = self.own / "bin"
        tools.mkdir()
        self.environment["PATH"] = str(tools)
        done = self.command("--allocators", "glibc")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("There is no h2load here. Run `make setup`, or: apt-get install nghttp2-client", done.stderr)


if __name__ == "__main__":
    main()
