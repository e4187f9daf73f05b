# thread/exchange.c: a tray is linked before the lock is taken. Groups: exchange
/^bool exchange_put/,/^}/s/^    (void)exchange_lock(class);/    tray->next = exchanges[class].trays;\n&/
/^bool exchange_put/,/^}/s/^    push(&exchange->trays, tray);$/    exchange->trays = tray;/
