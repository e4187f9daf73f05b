# epoch/hold.c: a chunk is linked after its last free may have found it empty. Groups: epoch-free
/^bool hold_end_chunk(/,/^}/{
s/^    epoch_link_run(hold->epoch, ended);//
}
/^static void full_close(/,/^}/{
s/^    if (chunk_close(first)) {/    const bool last = chunk_close(first);\n    epoch_link_run(hold->epoch, first);\n    if (last) {/
}
