# thread/idle.c: the slot that the holder has put in the bar's place is lost. Groups: bars-close
/^static void remove_bar/,/^}/s/^        (void)owned_cas(\(.*\), &expected, hc->barred);/        owned_write(\1, hc->barred), (void)expected;/
