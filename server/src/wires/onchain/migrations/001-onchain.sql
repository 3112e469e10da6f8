-- Chains, wallets, and what they sent. Amounts are decimal text, because a uint256 fits no number of a database; times are
-- milliseconds since 1970; addresses are in EIP-55 form, hashes in lower case.

-- What a chain is, by the first contact: a node of another one is not believed.
create table onchain_chains (
  chain text primary key,
  chain_id bigint not null,
  genesis_hash text not null,         -- empty: the node keeps no old blocks
  is_given integer not null,          -- 1: the configuration names the id
  created_at bigint not null
);

-- Encrypts private keys; encrypted itself under SIXWIRE_SECRET.
create table onchain_data_keys (
  number bigint primary key,          -- 1, 2, 3: two replicas can't both add the same
  ciphertext text not null,
  retired_at bigint,                  -- by a rotation of the secret: it encrypts no new keys
  created_at bigint not null
);

create table onchain_wallets (
  id text primary key,
  owner text not null,
  name text,
  address text not null unique,       -- one sequence of nonces an address
  key_store text not null,
  key_reference text not null,        -- the encrypted key, or its id at the key store
  created_at bigint not null
);
create index onchain_wallets_owner on onchain_wallets (owner, id);

-- The nonces of an address on a chain.
create table onchain_lines (
  chain text not null,
  address text not null,
  next_nonce bigint not null,
  created_at bigint not null,
  primary key (chain, address)
);

-- One row a nonce.
create table onchain_transactions (
  id text primary key,
  owner text not null,
  wallet_id text not null,            -- empty: of an address that is no wallet
  chain text not null,
  kind text not null,                 -- transfer, contract, mint, nft_transfer, sweep
  sender text not null,
  recipient text not null,
  value text not null,
  data text not null,                 -- 0x: none
  nonce bigint not null,
  gas bigint not null,
  cost text not null,                 -- value + gas * the highest fee signed for it
  hash text not null,                 -- of the newest signed version
  status text not null check (status in ('pending', 'confirmed', 'failed')),
  reference text unique,              -- of the caller: the same one again sends nothing
  block_number bigint,                -- null: not mined
  block_hash text,
  succeeded integer,
  gas_used text,
  fee text,
  token_id text,
  error text,                         -- why it failed, one line
  is_final integer not null,          -- 1: no reorganisation is expected to change it any more
  broadcast_at bigint,                -- of the newest version; null: no node has taken it yet
  broadcasts integer not null,
  created_at bigint not null,
  updated_at bigint not null
);
create unique index onchain_transactions_nonce on onchain_transactions (chain, sender, nonce);
create index onchain_transactions_owner on onchain_transactions (owner, id);
create index onchain_transactions_wallet on onchain_transactions (wallet_id, id);
create index onchain_transactions_owner_wallet on onchain_transactions (owner, wallet_id, id);
create index onchain_transactions_chain on onchain_transactions (chain, id);
create index onchain_transactions_unmined on onchain_transactions (chain, sender, nonce) where block_number is null;
create index onchain_transactions_open on onchain_transactions (chain, is_final, block_number);

-- All signed versions of a transaction: any of them may be mined.
create table onchain_signed (
  hash text primary key,
  transaction_id text not null references onchain_transactions (id) on delete cascade,
  raw text not null,
  max_fee text not null,              -- wei per unit of gas
  priority_fee text not null,
  created_at bigint not null
);
create index onchain_signed_transaction on onchain_signed (transaction_id, created_at);

-- What was sent within a day, by what a limit is about. The version grows, so that concurrent changes are noticed.
create table onchain_spent (
  chain text not null,
  subject text not null,              -- wallet 0x…, destination 0x…
  day bigint not null,                -- days since 1970
  amount text not null,
  version bigint not null,
  primary key (chain, subject, day)
);

-- Up to which block a consumer has followed a chain.
create table onchain_cursors (
  chain text not null,
  consumer text not null,
  number bigint not null,
  hash text not null,
  genesis_hash text not null,
  primary key (chain, consumer)
);

-- The last blocks that it has followed, to find where a reorganisation began.
create table onchain_blocks (
  chain text not null,
  consumer text not null,
  number bigint not null,
  hash text not null,
  primary key (chain, consumer, number)
);
