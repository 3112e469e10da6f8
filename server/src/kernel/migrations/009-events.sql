-- Events for webhooks: a row for each event and webhook, written in the batch that changes the record. Times are
-- milliseconds since 1970.
create table sixwire_deliveries (
  id text primary key,
  event_id text not null,        -- the webhook-id: the same at each webhook
  webhook text not null,         -- the name of the webhook
  once text not null,            -- an event with the same one is not published again
  type text not null,
  record text not null,          -- events of one record are delivered in order
  source text not null,          -- JSON: the columns of the record then, of which the body is made
  state text not null check (state in ('waiting', 'delivered', 'failed')),
  attempts bigint not null,
  first_attempt_at bigint,       -- of the attempts that count for the end of the retries
  next_attempt_at bigint,        -- null: at once, or never
  last_status integer,           -- the HTTP status of the last attempt
  last_error text,
  delivered_at bigint,
  created_at bigint not null
);
create unique index sixwire_deliveries_once on sixwire_deliveries (webhook, once);
create index sixwire_deliveries_waiting on sixwire_deliveries (webhook, created_at) where state = 'waiting';

-- What is known of the webhooks of the configuration.
create table sixwire_webhooks (
  name text primary key,
  url_hash text not null,        -- another address: it is switched on
  failing_since bigint,          -- null: the last attempt went well
  paused_until bigint,           -- the receiver asked to wait
  off_at bigint,                 -- null: it is on
  off_reason text
);
