# core/fork.c: the child of a fork trusts the room of magazines that were cut.
/heap_recount(&thread->heap);/d
