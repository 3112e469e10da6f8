-- Transactions, the provider calls made for them, and the ledger of what happened. Amounts are minor units of the currency
-- with the provider's exponent; times are milliseconds since 1970.

create table pay_transactions (
  id text primary key,
  owner text not null,                -- the user or service key that created it
  provider text not null,
  status text not null check (status in ('pending', 'completed', 'failed', 'expired', 'cancelled',
    'partially_refunded', 'refunded', 'disputed', 'lost')),
  reference text,                     -- the checkout session or order; null until the provider has answered
  payment_id text,                    -- the payment intent or capture
  url text,                           -- where the buyer pays
  amount bigint not null,
  currency text not null,
  exponent integer not null,          -- decimal places of the currency at this provider
  -- Computed from the ledger and the calls, in the batch that adds to them.
  captured bigint not null,
  refunded bigint not null,           -- by refunds that are completed
  reserved bigint not null check (reserved >= 0), -- by refunds that are completed, pending, or of unknown outcome
  is_settled integer not null,        -- 0: the sweep looks it up
  version bigint not null,            -- grows with each change, so that concurrent ones are noticed
  created_at bigint not null,
  updated_at bigint not null
);
create unique index pay_transactions_reference on pay_transactions (provider, reference);
create index pay_transactions_payment on pay_transactions (provider, payment_id);
create index pay_transactions_owner on pay_transactions (owner, id);
create index pay_transactions_owner_status on pay_transactions (owner, status, id);
create index pay_transactions_status on pay_transactions (status, id);
create index pay_transactions_provider on pay_transactions (provider, id);
create index pay_transactions_provider_status on pay_transactions (provider, status, id);

-- Each change of a transaction's status, and what caused it.
create table pay_history (
  transaction_id text not null references pay_transactions (id) on delete cascade,
  seq bigint not null,
  status text not null,
  cause text not null,
  at bigint not null,
  primary key (transaction_id, seq)
);

-- What was seen at the provider. Rows are added and never changed.
create table pay_ledger (
  id text primary key,
  transaction_id text not null references pay_transactions (id) on delete cascade,
  kind text not null check (kind in ('session', 'charge', 'refund', 'dispute', 'reversal')),
  object_id text not null,
  status text not null,
  version bigint not null,
  amount bigint not null,
  currency text not null,
  call_id text,                       -- the call of ours that made the object
  reason text,
  created_at bigint not null,         -- at the provider
  seen_at bigint not null
);
create unique index pay_ledger_entry on pay_ledger (transaction_id, kind, object_id, version, status, amount, currency);

-- Calls that change something at a provider: a row before the call. `id` is its idempotency key there.
create table pay_calls (
  id text primary key,
  transaction_id text not null references pay_transactions (id) on delete cascade,
  kind text not null check (kind in ('create', 'capture', 'refund')),
  amount bigint,                      -- of a refund
  status text not null check (status in ('running', 'unknown', 'accepted', 'refused')),
  lease_until bigint not null,        -- until then a running call may still be under way
  reason text,
  created_at bigint not null
);
create index pay_calls_transaction on pay_calls (transaction_id, id);
create index pay_calls_unsettled on pay_calls (id) where status in ('running', 'unknown');
-- One capture of an order at a time; after a decline there may be another one.
create unique index pay_calls_capture on pay_calls (transaction_id)
  where kind = 'capture' and status in ('running', 'unknown', 'accepted');

-- Webhooks and listed events, before they are acknowledged.
create table pay_events (
  provider text not null,
  event_id text not null,
  type text not null,
  subject text,                       -- JSON; null: of a kind that is not used
  received_at bigint not null,
  due_at bigint,                      -- when it is to be handled; null: it was
  attempts integer not null,
  result text,                        -- what became of it, or why it was not handled yet
  primary key (provider, event_id)
);
create index pay_events_due on pay_events (due_at) where due_at is not null;
create index pay_events_received on pay_events (received_at);

-- Up to when the events that a provider lists are known.
create table pay_event_cursors (
  provider text primary key,
  listed_until bigint not null
);
