-- Messages: the log of them, and the outbox of those that are not settled yet. Times are milliseconds since 1970.

create table messaging_messages (
  id text primary key,
  owner text,                             -- who had it sent; null: the service itself
  channel text not null,
  recipient text not null,                -- as it is answered: several joined with ", "
  subject text,                           -- null where it may hold a secret
  template text,
  status text not null check (status in ('queued', 'sending', 'sent', 'failed', 'delivered', 'bounced')),
  provider text,                          -- of the latest try
  message_id text,                        -- what the provider calls it
  error text,
  attempts bigint not null,
  attempted_at bigint,                    -- the begin of a try of which nobody knows how it ended
  claim text,                             -- whoever works on it; null: it waits for its job
  lease_until bigint not null,            -- after this the claim is void
  payload text,                           -- sealed: what is to be sent; null once it is settled
  created_at bigint not null,
  updated_at bigint not null
);
create index messaging_messages_owner on messaging_messages (owner, id);
create index messaging_messages_provider_id on messaging_messages (message_id);
create index messaging_messages_claimed on messaging_messages (lease_until) where claim is not null;

-- Everybody whom a message goes to, those in copy as well, as addresses are compared.
create table messaging_recipients (
  message_id text not null references messaging_messages (id) on delete cascade,
  address text not null,
  primary key (address, message_id)
);
create index messaging_recipients_message on messaging_recipients (message_id);
