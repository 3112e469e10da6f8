-- What is gathered from receiving addresses into the treasury: one row for each token at an address.
create table pay_sweeps (
  id text primary key,
  request_id text not null references pay_requests (id) on delete cascade,
  chain text not null,                -- where it lies, which may be another one than was asked for
  contract text not null,             -- of the token; empty: the native coin
  treasury text not null,
  gas_wallet text,                    -- the id of the wallet that pays for the gas; null: the address itself
  gas bigint not null,                -- that the transfer needs, by the node's estimate
  status text not null check (status in ('waiting', 'sent', 'done', 'failed')),
  amount text not null,               -- as it was found, and once it is sent, as it was sent
  hash text,                          -- of the transfer
  fundings bigint not null,           -- how often gas was paid for
  funded_until text not null,         -- the coin that the address has with the last of them
  error text,
  created_at bigint not null,
  updated_at bigint not null
);
create unique index pay_sweeps_open on pay_sweeps (chain, request_id, contract) where status in ('waiting', 'sent');
create index pay_sweeps_status on pay_sweeps (status, id);
