# epoch/scope.c: who leaves keeps the hold of the epoch that serves handles.
/^static noinline void scope_leave_more(/,/^}/s/^        return_serving(thread, hold);//
