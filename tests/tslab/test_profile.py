"""`tslab profile`: which place a stack has, names for addresses, texts of others, and what is missing.
usage: test_profile.py LIBRARY"""

import ctypes
import http.server
import os
import re
import shutil
import subprocess
import threading
import unittest

from live_test import Live
from tslab_test import TOOLS, TslabTest, main
from tslab_tools.profiles import elf, symbols, wrappers, written

PYTHON = "/usr/bin/python3"
OUTERS = ("make", "grow", "copy", "join", "fill")
# A stack of each program: the innermost function first, each with its module where that is not the program, and the place.
PLACES = {
    "redis": ("zmalloc_usable sdsnewlen@redis", "sdsnewlen"),
    "nginx": ("ngx_memalign ngx_palloc ngx_http_create_request", "ngx_http_create_request"),
    "PostgreSQL": ("postgres+0x5c7730@postgres palloc0 heap_form_tuple", "heap_form_tuple"),
    "git": ("do_xmalloc xmalloc xstrdup read_index", "read_index"),
    "libc": ("_IO_file_doallocate@libc.so.6 getline@libc.so.6 read_lines main", "read_lines"),
    "C++": (
        "operator new(unsigned long)@libstdc++.so.6|std::__new_allocator<char>::allocate(unsigned long, void const*)|"
        "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)|(anonymous namespace)::grow(std::allocator<int>&)",
        "(anonymous namespace)::grow(std::allocator<int>&)",
    ),
    "C++ with a result": (
        "operator new(unsigned long)|std::unique_ptr<A, std::default_delete<A> > made<A>(int)",
        "std::unique_ptr<A, std::default_delete<A> > made<A>(int)",
    ),
    "alloca": ("operator new(unsigned long)|Builder::CreateAllocaFor(int)", "Builder::CreateAllocaFor(int)"),
    "an operator": ("operator new(unsigned long)|matrix::operator()(int) const", "matrix::operator()(int) const"),
    "Rust": (
        "alloc::raw_vec::RawVecInner<A>::finish_grow|<alloc::vec::Vec<T,A> as core::iter::traits::collect::Extend<T>>::extend|"
        "<str>::repeat|<T as alloc::slice::ConvertVec>::to_vec|<work::Words as core::clone::Clone>::clone",
        "<work::Words as core::clone::Clone>::clone",
    ),
    "nothing but a library": (
        "operator new(unsigned long)@libstdc++.so.6|_dl_init@ld-linux-x86-64.so.2",
        "operator new(unsigned long)",
    ),
}
NAMES = {
    "_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$::clone::h0123456789abcdef": "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
    "work::run::{{closure}}::h0123456789abcdef": "work::run::{{closure}}",
    "text::h0123": "text::h0123",
    "keep.constprop.0.isra.0": "keep",
    "list::add(int) (.part.2)": "list::add(int)",
    "Store::set(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)": "Store::set(std::string const&)",
    "f(std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
    "std::allocator<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > > >&)": "f(std::vector<std::string>&)",
    "f(std::map<int, A, std::less<int>, std::allocator<std::pair<int const, A> > >)": "f(std::map<int, A>)",
    "std::vector<int, my::allocator<int> >::push(int)": "std::vector<int, my::allocator<int>>::push(int)",
    "grow(std::allocator<int>&)": "grow(std::allocator<int>&)",
    "bool std::operator> (A, B)": "bool std::operator> (A, B)",
}
# Its functions without a symbol come behind an exported one, which ends long before.
STRIPPED = """
#include <stdlib.h>
#include <string.h>
static void *volatile kept;
__attribute__((visibility("default"), noinline)) void exported(void) { kept = malloc(5000); memset(kept, 1, 5000); }
static __attribute__((noinline)) void hidden(int more)
{
    kept = malloc(3000); memset(kept, 1, 3000);
    if (more) { kept = malloc(4000); memset(kept, 1, 4000); }
}
int main(int count, char **words) { (void)words; exported(); hidden(count); return 0; }
"""
CHANGES = 0x2 | 0x4 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800  # of inotify: all but to open and read
HOLDS = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *volatile kept;
__attribute__((noinline)) void planted(void) { kept = malloc(3 << 20); memset(kept, 1, 3 << 20); }
int main(void) { planted(); puts("holds"); fflush(stdout); sleep(1000); return kept == NULL; }
"""


def place(word):
    function, _, module = word.partition("@")
    return symbols.Place(function, "", 0, f"/usr/lib/{module or 'program'}")


class Names:
    """Symbols of stacks that are made up: (functions, innermost first; objects; bytes of each)."""

    def __init__(self, *stacks):
        self.traces = dict(enumerate(([place(word) for word in stack[0]] for stack in stacks), 1))
        self.written = written.Written("made up")
        for number, (_, objects, size) in enumerate(stacks, 1):
            self.written.stacks[number] = written.Stack(objects, objects * size, 0, 0, ())

    def trace(self, number):
        return self.traces[number]


def sites(names, *words, depth=1):
    found = wrappers.Wrappers(names, *words)
    return [found.site(number, depth) for number in names.traces]


class PlacesOfStacks(TslabTest):
    def test_a_place_is_the_programs_own(self):
        for program, (words, expected) in PLACES.items():
            with self.subTest(program):
                stack = words.split("|" if "|" in words else " ")
                self.assertEqual(sites(Names((stack, 1, 100))), [expected])

    def test_who_has_many_callers_and_sizes_is_skipped(self):
        names = Names(*((["take", f"caller_{i}", "main"], 10, 100 << i) for i in range(5)))
        self.assertEqual(sites(names), [f"caller_{i}" for i in range(5)])
        self.assertEqual(wrappers.Wrappers(names).skipped(), ["take"])

    def test_wrappers_of_wrappers_are_learned_one_after_the_other(self):
        names = Names(
            *(
                (["take", outer, f"{outer}_{i}", "main"], 10, 100 << i + j)
                for i in range(6)
                for j, outer in enumerate(OUTERS)
            )
        )
        self.assertEqual(set(sites(names)), {f"{outer}_{i}" for i in range(6) for outer in OUTERS})

    def test_nameless_functions_below_nearly_all_are_skipped(self):
        engine = ["program+0x10@program", "program+0x20@program"]
        names = Names(*(([*engine, f"work_{i % 2}", f"outer_{i}", "main"], 10, 64) for i in range(8)))
        self.assertEqual(set(sites(names)), {"work_0", "work_1"})
        single = Names(
            *((["program+0x30@program", "main", "__libc_start_main@libc.so.6"], 10, 64 + i) for i in range(8))
        )
        self.assertEqual(set(sites(single)), {"main"})

    def test_a_culprit_with_many_callers_stays(self):
        one_size = Names(*((["log_entry", f"handler_{i}", "main"], 10, 240) for i in range(20)))
        self.assertEqual(set(sites(one_size)), {"log_entry"})
        few_callers = Names(
            *((["read_all", f"caller_{i % 2}", f"outer_{i}", "main"], 10, 100 << i % 9) for i in range(20))
        )
        self.assertEqual(set(sites(few_callers)), {"read_all"})

    def test_who_calls_others_that_allocate_stays(self):
        direct = [(["dispatch", f"caller_{i}", "main"], 10, 100 << i) for i in range(6)]
        through = [(["work", "dispatch", f"caller_{i}", "main"], 10, 64) for i in range(6)]
        self.assertEqual(set(sites(Names(*direct, *through))), {"dispatch", "work"})

    def test_a_place_without_a_name_is_followed_by_one_with(self):
        names = Names(
            (["malloc", "program+0x10@program", "program+0x20@program", "serve", "main"], 1, 100),
            (["malloc", "program+0x30@program", "__libc_start_main@libc.so.6"], 1, 100),
        )
        self.assertEqual(sites(names), ["program+0x10 < serve", "program+0x30"])

    def test_depth_and_skip(self):
        names = Names((["xmalloc", "list_new", "parse", "main"], 1, 100))
        self.assertEqual(sites(names, depth=3), ["list_new < parse < main"])
        self.assertEqual(sites(names, "^list_"), ["parse"])
        self.assertEqual(sites(names, ""), ["xmalloc"])

    def test_pprof_is_to_drop_only_what_is_never_above_a_place(self):
        names = Names(
            (["malloc@libc.so.6", "std::call@program", "main"], 1, 100),
            (["malloc@libc.so.6", "work", "std::call@program", "main"], 1, 100),
        )
        self.assertEqual(wrappers.Wrappers(names).dropped(), {"malloc"})

    def test_names_of_rust(self):
        self.assertEqual({name: symbols.readable(name) for name in NAMES}, NAMES)


@unittest.skipUnless(shutil.which("llvm-symbolizer"), "apt-get install llvm")
class RealPrograms(TslabTest):
    def profile(self, *flags):
        program, source, file = self.own / "program", self.own / "program.c", self.own / "profile"
        source.write_text(STRIPPED)
        subprocess.run(
            [
                "cc",
                "-O1",
                "-g",
                "-rdynamic",
                "-fvisibility=hidden",
                "-fno-optimize-sibling-calls",
                *flags,
                "-o",
                program,
                source,
            ],
            check=True,
        )
        shutil.copy(program, self.own / "whole")
        subprocess.run(["strip", program], check=True)
        self.run_argv([program], env=self.environment | {"LD_PRELOAD": self.library, "TSLAB_PROFILE": f"1,{file}"})
        return program, file

    def test_a_symbol_does_not_name_what_is_behind_its_end(self):
        program, file = self.profile()
        said = self.tslab("profile", file, "--kind", "allocated").stdout
        objects = {line.split()[-1]: line.split()[2] for line in said.splitlines() if re.match(r" *\d+\.\d", line)}
        self.assertEqual(objects["exported"], "1", said)
        start = next(name for name in objects if name.startswith("program+0x"))
        self.assertEqual(objects[start], "2", said)  # both places of one function
        self.assertIn(int(start.partition("+")[2], 16), elf.read(str(program)).functions)

    @unittest.skipUnless(shutil.which("debuginfod-find"), "apt-get install debuginfod")
    def test_a_server_has_the_names(self):
        program, file = self.profile("-Wl,--build-id")
        asked = []
        whole = (self.own / "whole").read_bytes()

        class Server(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                is_ours = self.path == f"/buildid/{elf.read(str(program)).build_id}/debuginfo"
                self.send_response(200 if is_ours else 404)
                self.end_headers()
                self.wfile.write(whole if is_ours else b"")

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
            threading.Thread(target=server.serve_forever).start()
            self.addCleanup(server.shutdown)
            environment = {key: value for key, value in self.environment.items() if key != "DEBUGINFOD_URLS"} | {
                "DEBUGINFOD_CACHE_PATH": str(self.own / "cache")
            }
            words = ("profile", file, "--kind", "allocated")
            self.assertNotIn("hidden", self.tslab(*words, env=environment).stdout)
            self.assertEqual(asked, [])
            url = f"http://127.0.0.1:{server.server_port}"
            self.assertRegex(
                self.tslab(*words, "--debuginfod", url, env=environment).stdout, r"hidden \(program\.c:\d+\)"
            )
            self.assertRegex(
                self.tslab(*words, env=environment | {"DEBUGINFOD_URLS": url}).stdout, r"hidden \(program\.c:\d+\)"
            )
            server.shutdown()


class Running(Live):
    """Programs whose file is not where their map of addresses says that it is."""

    def begun(self, *before):
        """A program that holds what `planted` allocates, begun by these words. Returns its process."""
        program = self.own / "program"
        (self.own / "program.c").write_text(HOLDS)
        subprocess.run(["cc", "-O1", "-g", "-o", program, self.own / "program.c"], check=True)
        variables = {"LD_PRELOAD": self.library, "TSLAB_EXPORT": "1", "TSLAB_PROFILE": "1"}
        process = self.started([*before, program], env=self.environment | variables, start_new_session=True)
        self.addCleanup(self.end, process)
        if process.stdout.readline() != "holds\n":
            self.skipTest("users get no name spaces here")
        return process

    def check(self, process):
        self.figures([process.pid])
        for words in (("profile", process.pid, "--kind", "allocated"), ("doctor", process.pid, "--watch", "0")):
            said = self.tslab(*words)
            self.assertEqual((said.returncode, said.stderr), (0, ""))
            self.assertIn("planted (program.c:6)", said.stdout)

    def test_a_file_that_was_replaced(self):
        process = self.begun()
        (self.own / "program").unlink()
        (self.own / "program").write_text("another one")
        self.check(process)

    def test_a_process_with_files_of_its_own(self):
        """Its directories hide its program from us; to look into a stranger's changes nothing there."""
        self.own.chmod(0o755)
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        script = (
            'exec 3<"$1" 4<"$LIBRARY"; '
            "for folder in /tmp /var/tmp /dev/shm /run; do mount -t tmpfs none $folder || exit; done; "
            "cat <&4 >/tmp/libtslab.so && cat <&3 >/tmp/there && chmod 700 /tmp/there && cd /tmp && "
            "LD_PRELOAD=/tmp/libtslab.so exec /tmp/there"
        )
        # With the library's thread in it, unshare could make no name space of users.
        alone = ["env", "-u", "LD_PRELOAD", f"LIBRARY={self.library}"]
        process = self.begun(*alone, *user, "unshare", "-Urm", "--", "sh", "-c", script, "sh")
        (self.own / "program").unlink()
        libc = ctypes.CDLL(None, use_errno=True)
        watch = libc.inotify_init1(os.O_NONBLOCK)
        self.addCleanup(os.close, watch)
        for folder in ("tmp", "var/tmp", "dev/shm", "run"):
            path = f"/proc/{process.pid}/root/{folder}".encode()
            self.assertGreater(libc.inotify_add_watch(watch, path, CHANGES), 0)
        self.check(process)
        for words in (("ctl", process.pid, "dump-profile", "dump-stats"), ("top", process.pid, "--once")):
            self.assertEqual(self.tslab(*words).returncode, 0)
        self.assertRaises(BlockingIOError, os.read, watch, 4096)
        subprocess.run([*user, "touch", f"/proc/{process.pid}/root/tmp/seen"], check=True)
        self.assertGreater(len(os.read(watch, 4096)), 0)


class MadeUp(TslabTest):
    def written(self, *lines, program="a [/bold] program", path="/nowhere/a\vb\fc\x85d\u2028e"):
        file = self.own / "profile"
        start = ["tslab-profile 1", f"program {program}", "process 7", "period 1", "page 4096"]
        maps = ["maps", f"1000-9000 r-xp 00000000 00:00 0    {path}"]
        file.write_text("\n".join([*start, *lines, *maps, ""]), encoding="utf-8")
        return file

    def shown(self, *words):
        result = self.tslab("profile", *words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout


class Texts(MadeUp):
    def test_texts_are_shown_as_they_are(self):
        file = self.written(
            "stack 1 1 4096 1 4096 2000 3000",
            "live 1 1000 4096 0 5 1 0 0 0 large",
            "epoch 5 1 4096 4096 1 open a [red]  label\x1b[2J",
        )
        self.assertEqual(written.read(file).maps[0].path, "/nowhere/a\vb\fc\x85d\u2028e")
        said = self.shown(file, "--leaks")
        self.assertIn("in epoch 'a [red]  label\\x1b[2J' (open)", said)
        self.assertIn("a\\x0bb\\x0cc\\x85d\\u2028e+0x", said)
        self.assertIn("a [/bold] program 7: in use", self.shown(file))

    def test_a_line_stays_whole_for_other_programs(self):
        file = self.written("stack 1 1 4096 1 4096 2000", path="/nowhere/" + "long" * 100)
        environment = {name: value for name, value in self.environment.items() if name != "COLUMNS"}
        said = self.tslab("profile", file, "--kind", "allocated", env=environment).stdout
        self.assertRegex(said, r"(long){100}\+0x")

    def test_pages_that_no_sample_tells_of(self):
        file = self.written("kept 64 409600 100")
        said = self.shown(file, "--pins")
        self.assertIn("No sample tells who keeps any of 400.0 KiB of retained pages.", said)
        self.assertIn("[no survivor was sampled]", said)
        self.assertNotIn("0 sites", said)
        file = self.written(
            "period 524288", "stack 1 1 64 1 64 2000", "live 1 8192000 64 64 0 1 0 4096 4032 slot", "kept 64 409600 100"
        )
        self.assertRegex(
            self.shown(file, "--pins"),
            r"^1 site keeps 100 % of 400\.0 KiB of retained pages \(too few samples\)\n.* 7: kept pages: ",
        )

    def test_files_that_cannot_be_written(self):
        path = self.own / "no/page"
        for flag in ("--html", "--pprof"):
            result = self.tslab("profile", self.written("stack 1 1 4096 1 4096 2000"), flag, path)
            said = f"tslab: cannot write {path}: No such file or directory\n"
            self.assertEqual((result.returncode, result.stdout, result.stderr), (1, "", said))

    def test_an_expression_that_is_none(self):
        self.assertRegex(
            self.tslab("profile", self.written(), "--skip", "(").stderr, r"--skip \( is no regular expression"
        )

    def test_names_cannot_leave_the_page(self):
        page = self.own / "page.html"
        self.shown(
            self.written("stack 1 1 4096 1 4096 2000", program="</script><script>alert(1)</script>"), "--html", page
        )
        text = page.read_text(encoding="utf-8")
        self.assertEqual(text.count("<script"), 3)
        self.assertNotRegex(text, r"(?:src|href)=.https?:")


class WithLess(MadeUp):
    """What a Debian package depends on is enough for the table."""

    def test_nothing_but_rich_is_loaded(self):
        program = "import rich.table, rich.text, rich.console, sys; before = set(sys.modules); import tslab_tools.commands.profile\nprint(*(sys.modules[name].__file__ for name in set(sys.modules) - before if getattr(sys.modules[name], '__file__', None)))"
        result = self.run_argv([PYTHON, "-c", program], env=self.environment | {"PYTHONPATH": str(TOOLS)})
        self.assertEqual(result.stderr, "")
        foreign = [path for path in result.stdout.split() if "-packages/" in path and "/rich/" not in path]
        self.assertEqual(foreign, [])

    def test_without_a_symbolizer_there_are_addresses(self):
        file = self.written(
            "stack 1 1 4096 1 4096 2000", "live 1 1000 4096 0 0 1 0 0 0 large", path=os.path.realpath(PYTHON)
        )
        result = self.run_argv(
            [PYTHON, TOOLS / "tslab", "profile", file], env=self.environment | {"PATH": str(self.own)}
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"\bpython3\.\d+\+0x")
        self.assertIn("Names of functions need llvm-symbolizer. To install it: apt-get install llvm", result.stdout)
        self.assertEqual(result.stderr, "")


if __name__ == "__main__":
    main()
