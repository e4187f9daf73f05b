# core/accounts.c: the runs that heaps keep at hand are in no account.
/^struct accounts_gap accounts_take(/,/^}/s/none_of(hot_bytes())/none_of(0 * hot_bytes())/
