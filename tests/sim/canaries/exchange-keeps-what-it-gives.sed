# thread/exchange.c: a tray that is taken is counted, and stays. Groups: exchange
s/^    struct tray \*const tray = pop(&exchange->trays);$/    struct tray *const tray = exchange->trays;/
