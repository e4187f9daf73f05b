# space/growth.c: a run that leaves merges with one that is being mapped.
s/^    run_hide(run, end - run);//
