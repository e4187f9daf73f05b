# audit/accounts.c: the runs that heaps keep at hand are in no account.
/^struct accounts_gap accounts_take(/,/^}/s/idle_account(hot_runs_bytes(), /idle_account(0 * hot_runs_bytes(), /
