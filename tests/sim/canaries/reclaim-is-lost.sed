# epoch/ending.c: a close that completes at once forgets that it is to reclaim. Groups: reclaim
/^static void finish_with_holds/,/^}/s/^    store_plain(&epoch->reclaims, reclaims);/    (void)reclaims;/
