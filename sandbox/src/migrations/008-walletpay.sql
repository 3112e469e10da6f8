-- The wallet provider of the sandbox. Times are milliseconds since 1970, amounts minor units.

create table sandbox_walletpay_orders (
  id text primary key,
  sequence text not null unique,          -- sorts by time of creation
  state text not null,                    -- JSON: the order with its capture, refunds and dispute
  revision bigint not null,               -- counts its changes
  currency text not null,
  available bigint not null,              -- what the merchant got by it, without what is on hold
  on_hold bigint not null
);

-- Which order a capture, refund, dispute or captured invoice belongs to.
create table sandbox_walletpay_objects (
  id text primary key,
  order_id text not null references sandbox_walletpay_orders (id) on delete cascade
);
create index sandbox_walletpay_objects_order on sandbox_walletpay_objects (order_id);

-- First answers, by the idempotency key of the request.
create table sandbox_walletpay_requests (
  id text primary key,
  request_hash text not null,
  answer text not null,                   -- JSON, empty while the request is in progress
  created_at bigint not null
);

create table sandbox_walletpay_events (
  id text primary key,
  sequence text not null unique,          -- sorts by time of creation
  type text not null,
  object_id text not null,
  body text not null,                     -- the webhook's body
  created_at bigint not null
);
create index sandbox_walletpay_events_age on sandbox_walletpay_events (created_at);
