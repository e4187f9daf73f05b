"""What the headers make of calls that take a value of one kind for another: the compiler refuses them, or warns where it can.

usage: misread.py INCLUDE CC CXX
"""

import subprocess
import sys

INCLUDE, CC, CXX = sys.argv[1:]
C = [CC, "-x", "c", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-include", "tslab/tslab.h"]
CPP = [CXX, "-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-include", "tslab/tslab.hpp"]
RIGHT = [
    (C, "tslab_epoch_close(e, 0, 0);"),
    (C, "tslab_epoch_close(e, TSLAB_CLOSE_RECLAIM, 0);"),
    (C, "tslab_close_flags flags = 0; flags |= TSLAB_CLOSE_RECLAIM; tslab_epoch_release(e, flags, 0);"),
    (C, "struct tslab_epoch_options o = { .policy = TSLAB_POLICY_RELEASE, .flags = TSLAB_OPEN_VOUCHED }; tslab_epoch_open(&o);"),
    (C, "enum tslab_status s = tslab_epoch_enter(e); (void)tslab_status_name(s);"),
    (C, "struct tslab_stats s; tslab_stats_get(&s);"),
    (CPP, "tslab_epoch_close(e, 0, nullptr);"),
    (CPP, "tslab_epoch_close(e, TSLAB_CLOSE_RECLAIM, nullptr);"),
    (CPP, 'tslab::epoch owner("x", TSLAB_POLICY_TRAP, TSLAB_OPEN_VOUCHED);'),
]
WRONG = [
    (C, "tslab_epoch_close(e, TSLAB_POLICY_RELEASE, 0);"),
    (C, "tslab_epoch_release(e, TSLAB_OPEN_VOUCHED, 0);"),
    (C, "tslab_epoch_advance(&e, TSLAB_POLICY_REPORT, 0);"),
    (C, "tslab_instance_close((tslab_instance){ 0 }, TSLAB_POLICY_DRAIN, 0);"),
    (C, "struct tslab_epoch_options o = { .policy = TSLAB_CLOSE_RECLAIM }; tslab_epoch_open(&o);"),
    (C, "struct tslab_epoch_options o = { .policy = TSLAB_OPEN_VOUCHED }; tslab_epoch_open(&o);"),
    (C, "struct tslab_epoch_options o = { .flags = TSLAB_POLICY_RELEASE }; tslab_epoch_open(&o);"),
    (C, "struct tslab_epoch_options o = { .flags = TSLAB_CLOSE_RECLAIM }; tslab_epoch_open(&o);"),
    (C, "struct tslab_epoch_stats s; tslab_stats_get(&s);"),
    (CPP, 'tslab::epoch owner("x", TSLAB_OPEN_VOUCHED);'),
    (CPP, "tslab_epoch_options o{}; o.policy = TSLAB_CLOSE_RECLAIM; tslab_epoch_open(&o);"),
    (CPP, "tslab_status s = 0; (void)s;"),
]


def compiles(command, statement):
    source = f"void f(tslab_epoch e);\nvoid f(tslab_epoch e) {{ (void)e; {statement} }}\n"
    return subprocess.run([*command, "-fsyntax-only", "-I", INCLUDE, "-"], input=source, text=True, capture_output=True)


failures = [f"does not compile: {code}\n{done.stderr}" for command, code in RIGHT if (done := compiles(command, code)).returncode]
failures += [f"compiles without a warning: {code}" for command, code in WRONG if compiles(command, code).returncode == 0]
print("\n".join(failures))
sys.exit(1 if failures else 0)
