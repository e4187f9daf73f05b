# thread/resting.c: who has the gate of a heap that rested does not look again whether it rests. Groups: rest LABELS slow TIMEOUT 300
s/^    if (since_ms != 0 && since_ms <= until_ms) {/    if (since_ms <= until_ms) {/
