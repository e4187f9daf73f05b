# epoch/hold.c: a chunk is linked after its last free may have found it empty.
/^void hold_seal_chunk(/,/^}/{
s/^    epoch_link_run(epoch, first);/    const bool last = chunk_seal(cursor);\n&/
s/if (chunk_seal(cursor))/if (last)/
}
