# thread/sampling.c: the first allocation that may be sampled takes memory for that outside of its gate.
/^static noinline struct ahead \*make_ahead/,/^}/{/gate_lock/d;/gate_unlock/d}
