-- The transfers of NFT contracts, indexed so that the tokens of an owner are found. Amounts and token ids are decimal text.

-- How far a contract is indexed.
create table onchain_nft_indexes (
  id text primary key,
  network text not null,              -- the chain id and the hash of the first block
  contract text not null,
  standard text not null,             -- erc721, erc1155
  next_block bigint not null,         -- all blocks before it are indexed
  range_size bigint not null,         -- how many blocks the next request to a node is about
  version bigint not null,            -- grows with each change of what is indexed, so that concurrent ones are noticed
  created_at bigint not null
);
create unique index onchain_nft_indexes_contract on onchain_nft_indexes (network, contract, standard);

create table onchain_nft_transfers (
  index_id text not null references onchain_nft_indexes (id) on delete cascade,
  block_number bigint not null,
  log_index bigint not null,
  position integer not null,          -- within a TransferBatch, else 0
  token_id text not null,
  sender text not null,
  recipient text not null,
  amount text not null,
  primary key (index_id, block_number, log_index, position)
);
create index onchain_nft_transfers_token on onchain_nft_transfers (index_id, token_id);

-- What the transfers add up to.
create table onchain_nft_holdings (
  index_id text not null references onchain_nft_indexes (id) on delete cascade,
  owner text not null,
  token_id text not null,
  balance text not null,              -- negative: more was sent than the events of the contract show
  primary key (index_id, owner, token_id)
);
create index onchain_nft_holdings_token on onchain_nft_holdings (index_id, token_id);
create index onchain_nft_holdings_owner on onchain_nft_holdings (index_id, owner, length(token_id), token_id);

-- Hashes of blocks that are indexed, to find where a reorganisation began.
create table onchain_nft_checkpoints (
  index_id text not null references onchain_nft_indexes (id) on delete cascade,
  block_number bigint not null,
  hash text not null,
  primary key (index_id, block_number)
);
