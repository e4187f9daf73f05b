# core/scope.c: who closes does not look for idle holds once the word says CLOSED: who left since the first look is not seen.
s/epoch_empty_idle_holds(epoch) + 1;/1;/
