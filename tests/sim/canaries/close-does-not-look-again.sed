# epoch/ending.c: who closes does not look for idle holds once the word says CLOSED: who left since the first look is not seen. Groups: epoch
s/hold_empty_idle(thread, epoch) + 1;/1;/
