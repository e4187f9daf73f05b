"""The tool's own tests: which mutants it makes of a source, what they are called, and how verdicts and list agree.
usage: test_mutants.py"""

import pathlib
import re
import tempfile
import unittest
import unittest.mock

import mutants
import mutate
import rig

EXAMPLE = r"""/* load_acquire(&x) == 0 && !y */
#define MACRO(p) (load_acquire(p) == 0 && \
                  !(p))
#if 1 < 2
static const char *text(void) { return "load_acquire(&a) \" == '"; }
#endif
struct word { atomic_u32 value; };
static const struct word none = { 0 };

static bool plain(int a, int b)
{
    return a == b && !a;
}

bool look(struct word *w, int n) // store_release(&w->value, n)
{
    invariant(n < 3 && load_seq_cst(&w->value) != 7);
    if ((load_acquire(&w->value) & 1) == 0 && w->value >> 1 != 0) {
        return load_acquire(&w->value) <= 7 || !cas_acq_rel(&w->value, &n, n + 1);
    }
    const bool yes = n > 1 && load_plain(&w->value) - 1 == 4 && fetch_add_relaxed(&w->value, 1) >= 'c';
    store_seq_cst(&w->value, fetch_sub_seq_cst(&w->value, 1));
    return yes;
}

void put(struct word *w)
{
    if (atomic_load_explicit(&last, memory_order_relaxed) != w) {
        atomic_store_explicit(&last, w, memory_order_release);
    }
}
"""

NAMES = """
look:1:load_acquire to load_relaxed
look:2:load_acquire to load_relaxed
look:1:cas_acq_rel to cas_acquire
look:1:cas_acq_rel to cas_release
look:1:store_seq_cst to store_release
look:1:fetch_sub_seq_cst to fetch_sub_acq_rel
look:1:== to !=
look:1:first operand of && dropped
look:1:!= to ==
look:1:<= to <
look:1:first operand of || dropped
look:1:! dropped
look:1:> to >=
look:2:first operand of && dropped
look:2:== to !=
look:3:first operand of && dropped
look:1:>= to >
put:1:memory_order_release to memory_order_relaxed
put:1:!= to ==
""".strip().splitlines()


def changed_lines(mutant, original):
    pairs = zip(original.splitlines(), mutant.text.splitlines(), strict=True)
    return [(at, new.strip()) for at, (old, new) in enumerate(pairs, 1) if old != new]


class Making(unittest.TestCase):
    def setUp(self):
        self.mutants = {mutant.name: mutant for mutant in mutate.mutants_of("a/b.c", EXAMPLE)}

    def line_of(self, change):
        mutant = self.mutants[f"a/b.c:look:{change}"]
        ((at, line),) = changed_lines(mutant, EXAMPLE)
        self.assertEqual(at, mutant.line)
        return line

    def test_all_that_should_be_and_nothing_else(self):
        self.assertEqual(list(self.mutants), [f"a/b.c:{name}" for name in NAMES])

    def test_one_change_each_where_the_name_says(self):
        for mutant in self.mutants.values():
            self.assertEqual(len(changed_lines(mutant, EXAMPLE)), 1, mutant.name)
        self.assertIn("return load_relaxed(&w->value) <= 7", self.line_of("2:load_acquire to load_relaxed"))
        self.assertIn("!cas_release(&w->value, &n", self.line_of("1:cas_acq_rel to cas_release"))
        self.assertIn("fetch_sub_acq_rel(&w->value, 1)", self.line_of("1:fetch_sub_seq_cst to fetch_sub_acq_rel"))
        self.assertIn("<= 7 || cas_acq_rel(", self.line_of("1:! dropped"))

    def test_operands_are_dropped_whole(self):
        self.assertEqual(self.line_of("1:first operand of && dropped"), "if ( w->value >> 1 != 0) {")
        dropped = self.line_of("1:first operand of || dropped")
        self.assertEqual(dropped, "return  !cas_acq_rel(&w->value, &n, n + 1);")
        dropped = self.line_of("3:first operand of && dropped")
        self.assertEqual(dropped, "const bool yes = n > 1 &&  fetch_add_relaxed(&w->value, 1) >= 'c';")

    def test_names_do_not_hang_on_what_stands_elsewhere(self):
        longer = "\nstatic int f(void)\n{\n    return load_acquire(&a) == 1;\n}\n" + EXAMPLE.replace("{", "{\n\n")
        names = [mutant.name for mutant in mutate.mutants_of("a/b.c", longer)]
        self.assertEqual(names[2:], list(self.mutants))

    def test_every_name_in_the_engine_is_there_once(self):
        mutate.mutants_in(mutants.SOURCES)
        with self.assertRaisesRegex(ValueError, "defined twice"), tempfile.TemporaryDirectory() as directory:
            pathlib.Path(directory, "a.c").write_text(EXAMPLE + EXAMPLE)
            mutate.mutants_in(directory)

    def test_the_list_names_mutants_that_there_are(self):
        self.assertEqual(list(mutants.complaints_about_list(mutate.mutants_in(mutants.SOURCES))), [])

    def test_no_order_of_the_engine_is_overlooked(self):
        strong = re.compile(r"(load|store|swap|cas|fetch_\w+|memory_order)_(acquire|release|acq_rel|seq_cst)")
        for path in mutants.SOURCES.rglob("*.[ch]"):
            if path.name != "atomic.h":
                text = path.read_text()
                words = [token.text for token in mutate.tokens_of(text)]
                found = [word for word in words if strong.fullmatch(word)]
                orders = [m.name for m in mutate.mutants_of("f", text) if m.kind == "order"]
                both_ways = sum(name.endswith("acq_rel to cas_acquire") for name in orders)
                self.assertEqual(len(found), len(orders) - both_ways, path)

    def test_every_weaker_operation_is_defined(self):
        header = mutate.with_all_orders((mutants.SOURCES / mutate.ATOMIC_HEADER).read_text())
        for mutant in mutate.mutants_in(mutants.SOURCES).values():
            if mutant.kind == "order" and "memory_order" not in mutant.name:
                self.assertEqual(header.count(f"#define {mutant.name.split()[-1]}("), 1, mutant.name)


def entry(by, why="no test fails"):
    return {"by": by, "why": why}


class Judging(unittest.TestCase):
    @staticmethod
    def listed(lives=(), elsewhere=(), sometimes="", why="Why."):
        group = f'[[lives]]\nwhy = "{why}"\nmutants = {list(lives)}\n{sometimes}'
        return unittest.mock.patch.object(
            mutants, "survivors", lambda: mutants.Survivors(f"elsewhere = {list(elsewhere)}\n{group}")
        )

    def complaints(self, entries, **listed):
        with self.listed(**listed):
            return list(mutants.complaints_about(entries))

    def test_all_as_the_list_says(self):
        entries = {"a": entry("release/x"), "b": entry(None), "c": entry("tsan/y"), "d": entry(None, mutants.SAME_CODE)}
        self.assertEqual(self.complaints(entries, lives=["b"], elsewhere=["c"]), [])

    def test_a_survivor_that_is_not_listed(self):
        self.assertRegex(self.complaints({"a": entry(None)})[0], "^a lives")

    def test_a_listed_one_that_is_killed(self):
        self.assertRegex(self.complaints({"a": entry("release/x")}, lives=["a"])[0], "^a is killed by release/x: take it out")

    def test_a_listed_one_that_is_the_same_code(self):
        self.assertRegex(self.complaints({"a": entry(None, mutants.SAME_CODE)}, lives=["a"])[0], "same code")

    def test_elsewhere_is_exact(self):
        self.assertRegex(self.complaints({"a": entry("release/x")}, elsewhere=["a"])[0], "out of 'elsewhere'")
        self.assertRegex(self.complaints({"a:load_acquire to load_relaxed": entry("tsan/x")})[0], "into 'elsewhere'")
        self.assertEqual(self.complaints({"a:== to !=": entry("debug/x")}), [])

    def test_what_luck_decides_is_right_either_way(self):
        lucky = {"lives": ["a"], "sometimes": "sometimes = true"}
        self.assertEqual(self.complaints({"a": entry(None)}, **lucky), [])
        self.assertEqual(self.complaints({"a": entry("tsan/x")}, **lucky), [])
        self.assertRegex(self.complaints({"a": entry("release/x")}, **lucky)[0], "take it out")

    def check_list(self, **listed):
        with self.listed(**listed):
            return list(mutants.complaints_about_list({"a": None}))

    def test_the_list_itself(self):
        self.assertEqual(self.check_list(lives=["a"]), [])
        self.assertRegex(self.check_list(lives=["gone"])[0], "there is no such mutant")
        self.assertRegex(self.check_list(elsewhere=["gone"])[0], "there is no such mutant")
        self.assertRegex(self.check_list(lives=["a"], elsewhere=["a"])[0], "twice")
        self.assertRegex(self.check_list(lives=["a"], why="")[0], "no sentence")
        with self.assertRaisesRegex(SystemExit, "it is wrong"):
            mutants.Survivors("[[lives]]")


class Remembering(unittest.TestCase):
    def test_who_is_killed_stays_so_and_who_lives_is_tried_again_on_a_changed_rig(self):
        killed, lives = (mutate.Mutant(name, "order", "f", f"text of {name}", 1) for name in ("killed", "lives"))
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "deep", "results.json")
            mutants.Results(path).add(killed, "release/x", "why", 1.0)
            mutants.Results(path).add(lives, None, "no test fails", 1.0)
            known = mutants.Results(path)
            self.assertEqual(known.of(killed)["by"], "release/x")
            self.assertIsNone(known.of(lives)["by"])
            with unittest.mock.patch.object(mutants, "digest_of_rig", lambda: "another"):
                self.assertIsNotNone(known.of(killed))
                self.assertIsNone(known.of(lives))
            other = mutate.Mutant("killed", "order", "f", "another text", 1)
            self.assertIsNone(known.of(other))


class Reasons(unittest.TestCase):
    TEST = rig.Test("t", pathlib.Path("/bin/sh"), (), (), "/", 0.2)

    def run_shell(self, script):
        return rig.run_program(["/bin/sh", "-c", script], self.TEST)

    def test_success_failure_and_hang(self):
        self.assertIsNone(self.run_shell("true"))
        self.assertEqual(self.run_shell("exit 3"), "exit code 3")
        self.assertEqual(self.run_shell("kill -ABRT $$"), "signal 6")
        self.assertEqual(self.run_shell("echo 'x: y: with 2 preemptions: a slot is nowhere'; exit 1"), "a slot is nowhere")
        self.assertEqual(self.run_shell("sleep 1000"), "hangs")
        with self.assertRaisesRegex(rig.RigError, "somebody ended"):
            self.run_shell("kill -TERM $$")


if __name__ == "__main__":
    unittest.main()
