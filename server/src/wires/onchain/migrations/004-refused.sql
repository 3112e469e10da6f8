-- What happens to transactions that no node takes, and where the nonces of a new key begin.

-- 1: the key was created here, so that nothing else has sent with it. Unknown of earlier ones.
alter table onchain_wallets add column is_created_here integer not null default 0;

-- When a node had it first, as far as is known.
alter table onchain_signed add column seen_at bigint;
-- Why it cancels its transaction: it sends nothing to its own address. Null: it is the transaction.
alter table onchain_signed add column cancels text;
