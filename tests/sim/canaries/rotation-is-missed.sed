# epoch/work_unit.c: a unit does not look at its begin whether somebody has asked for a rotation. Groups: work
s/^    if (work->epoch != 0 && work->rotations != load_relaxed(&rotations)) {/    if (work->epoch != 0 \&\& work->depth == 0) {/
