# malloc/object.c: a slot of an epoch waits in the outbox of another thread. Groups: epoch-slab
s/ && overflow_may_wait(tag)) {/) {/
