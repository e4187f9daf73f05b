# core/depot.c: that the oldest dirty run was taken is not published.
/^static void run_unlink(/,/^}/s/^        age_publish();//
