# space/growth.c: a run that leaves merges with one that is being mapped. Groups: growth
s/^    run_hide(run, end - run);//
