# epoch/hold.c: a chunk is linked after its last free may have found it empty.
/^void hold_close_chunk(/,/^}/{
s/^    epoch_link_run(epoch, first);/    const bool last = chunk_close(cursor);\n&/
s/if (chunk_close(cursor))/if (last)/
}
