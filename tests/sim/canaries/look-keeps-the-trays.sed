# thread/exchange.c: a tray goes into the pool before its slots are flushed. Groups: trays
/^static void give_back/,/^}/{
s/^        tray_put(tray);$//
s/^        flush_slots(class, .*$/        tray_put(tray);\n&/
}
