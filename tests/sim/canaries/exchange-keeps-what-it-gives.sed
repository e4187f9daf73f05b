# core/exchange.c: a tray that is taken is counted, and stays.
s/^        exchange->trays = tray->next;$//
