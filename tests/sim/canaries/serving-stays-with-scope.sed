# core/scope.c: who leaves keeps the hold of the epoch that serves handles.
/^static void leave(/,/^}/s/^    return_serving(thread, hold);//
