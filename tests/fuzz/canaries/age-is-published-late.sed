# space/free_runs.c: that the oldest dirty run was taken is not published.
/^void run_unlink(/,/^}/s/^        age_publish();//
