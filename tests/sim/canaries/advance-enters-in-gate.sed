# epoch/scope.c: advancing enters the next epoch inside of the gate, as if that could need no other hold. Groups: epoch-late
s/^    if (scope_enter(thread, next) < 0) {/    gate_lock(\&thread->gate);\n    const int entered = scope_enter(thread, next);\n    gate_unlock(\&thread->gate);\n    if (entered < 0) {/
