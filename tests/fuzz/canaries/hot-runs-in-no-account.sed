# audit/accounts.c: the runs that heaps keep at hand are in no account.
/^static struct accounts_gap add_up(/,/^}/s/idle_account(hot_runs_bytes(), /idle_account(0 * hot_runs_bytes(), /
