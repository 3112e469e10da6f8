-- The few transactions of a server that need an eye on: those that are not final yet, and those that failed.
create index onchain_transactions_pending on onchain_transactions (id) where status = 'pending';
create index onchain_transactions_failed on onchain_transactions (id) where status = 'failed';
