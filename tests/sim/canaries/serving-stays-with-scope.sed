# core/scope.c: who leaves keeps the hold of the epoch that serves handles.
/^static noinline void leave_more(/,/^}/s/^        return_serving(thread, hold);//
