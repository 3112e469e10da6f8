-- The card provider. Times are seconds since 1970 as in Stripe's objects, unless their name ends in _ms.

create table sandbox_cardpay_objects (
  id text primary key,                    -- Stripe's id: cs_test_…, pi_…, ch_…
  kind text not null,
  position text not null unique,          -- sorts by time of creation
  created bigint not null,
  payment_intent text,
  charge text,
  type text,                              -- of events
  expires_at bigint,                      -- of open checkout sessions
  currency text,                          -- of balance transactions, as the amount
  amount bigint,
  changed text not null,                  -- grows with each change
  object text not null,                   -- JSON as it is answered
  details text not null                   -- JSON that is not answered
);
create index sandbox_cardpay_objects_kind on sandbox_cardpay_objects (kind, position);
create index sandbox_cardpay_objects_payment on sandbox_cardpay_objects (payment_intent, kind, position);
create index sandbox_cardpay_objects_charge on sandbox_cardpay_objects (charge, kind, position);
create index sandbox_cardpay_objects_expiry on sandbox_cardpay_objects (expires_at);
create index sandbox_cardpay_objects_changed on sandbox_cardpay_objects (changed);

-- Answers by idempotency key.
create table sandbox_cardpay_calls (
  key text primary key,
  fingerprint text not null,
  owner text not null,                    -- the call that performs the work
  started_ms bigint not null,
  status bigint,                          -- absent while the call is running
  request_id text not null,
  body text
);
create index sandbox_cardpay_calls_age on sandbox_cardpay_calls (started_ms);
