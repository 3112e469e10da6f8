-- On-chain payment requests, and what arrived at their addresses. Amounts are the smallest units of a token as decimal text,
-- addresses in lower case, times milliseconds since 1970.

-- The next address of each mnemonic, known by its address at index 0. It only grows.
create table pay_receivers (
  fingerprint text primary key,
  next_index bigint not null
);

create table pay_requests (
  id text primary key references pay_transactions (id) on delete cascade,
  chain text not null,
  chain_id bigint not null,
  token text not null,                -- the symbol
  contract text not null,             -- of the token; empty: the native coin
  display_amount text not null,       -- as it was asked for
  address text not null unique,
  fingerprint text not null,
  address_index bigint not null,
  created_at bigint not null,
  expires_at bigint not null,
  watched_until bigint not null,      -- payments that come later are not noticed
  expired_block bigint,               -- the first block whose time is after expires_at
  is_open integer not null,           -- 1: a payment may complete it, or the next blocks change what it has
  is_swept integer not null,          -- 1: coin leaves the address, and arrives there to pay for that
  -- What has to be written to the ledger is counted, so that nothing is lost that changes meanwhile.
  changes bigint not null,
  settled_changes bigint not null,
  unique (fingerprint, address_index)
);
create index pay_requests_watched on pay_requests (chain, watched_until);
create index pay_requests_open on pay_requests (chain, id) where is_open = 1;
create index pay_requests_unexpired on pay_requests (chain, expires_at) where expired_block is null;
create index pay_requests_expired on pay_requests (chain, expired_block) where expired_block is not null;
create index pay_requests_unsettled on pay_requests (chain, id) where changes > settled_changes;

-- What arrived at the addresses, by the blocks that are part of a chain now: a reorganisation deletes rows.
create table pay_receipts (
  chain text not null,
  block_number bigint not null,
  address text not null,
  transaction_hash text not null,     -- empty: a contract sent coin, which no transaction shows
  log_index bigint not null,          -- -1: coin
  request_id text not null references pay_requests (id) on delete cascade,
  contract text not null,             -- of the token; empty: the native coin
  amount text not null,
  block_time bigint not null,
  primary key (chain, block_number, address, transaction_hash, log_index)
);
create index pay_receipts_request on pay_receipts (request_id);

-- Up to which block the receipts of a chain are known.
create table pay_heads (
  chain text primary key,
  number bigint not null,
  time bigint not null
);

-- Who pays for the gas of a sweep: that coin is no payment.
create table pay_sweep_funding (
  chain text not null,
  address text not null,
  sender text not null,
  primary key (chain, address, sender)
);
