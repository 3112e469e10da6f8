-- Chains are followed block by block only for requests that can still be paid, or whose payments await confirmations. Late
-- payments are found by balances, at growing distances.
alter table pay_requests add column look_at bigint;        -- when the balances are read next; null: no more
alter table pay_requests add column looked_block bigint;   -- the block of which they were read last
update pay_requests set look_at = expires_at where is_swept = 0;
create index pay_requests_looks on pay_requests (chain, look_at) where look_at is not null and is_swept = 0;

drop index pay_requests_watched;
create index pay_requests_followed on pay_requests (chain, watched_until) where is_open = 1 or expired_block is null;

-- A head that was seen when balances were read: the chain is known to be so long, also if it is not followed.
alter table pay_heads add column looked_number bigint not null default -1;
