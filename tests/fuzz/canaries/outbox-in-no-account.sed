# audit/accounts.c: the slots that wait in outboxes are in no account, and so seem to live.
/^static uint64_t add_cached(/,/^}/s/held\.stock + held\.outbox + exchanged/held.stock + exchanged/
