# malloc/object.c: a slot of an epoch waits in the outbox of another thread.
s/ && overflow_may_wait(tag)) {/) {/
