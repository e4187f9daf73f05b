# slab/handle_table.c: each use of an entry has the same tag. Groups: epoch-handle
s/word == 0 ? first_tag(epoch, number) : (word >> ENTRY_TAG_SHIFT) + 1;/first_tag(epoch, number);/
