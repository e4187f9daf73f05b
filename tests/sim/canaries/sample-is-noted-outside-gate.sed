# thread/sampling.c: a sample is noted outside of the gate. Groups: sample-fork
/^static noinline void take_sample/,/^}/{/gate_lock/d;/gate_unlock/d}
