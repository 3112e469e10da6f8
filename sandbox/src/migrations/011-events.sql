-- Events that the application has sent to the receiver of the sandbox.
create table sandbox_events (
  id text primary key,
  event_id text not null,                 -- the webhook-id
  type text not null,
  body text not null,
  headers text not null,                  -- JSON
  is_verified bigint not null,            -- 0: the signature is wrong, or too old
  status bigint,                          -- what was answered; null: nothing yet, or the answer was lost
  received_at bigint not null
);
