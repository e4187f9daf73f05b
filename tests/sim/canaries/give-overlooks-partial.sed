# slab/slab.c: a give that makes a partial slab empty does not look. Groups: slab
s/return state == SLAB_FULL || .*/return state == SLAB_FULL;/
