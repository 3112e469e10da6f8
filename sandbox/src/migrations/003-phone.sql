-- Messages that the sandbox's telephone network has accepted. Times are milliseconds since 1970.

create table sandbox_phone_messages (
  id text primary key,
  sid text not null unique,               -- Twilio's name for it
  channel text not null check (channel in ('sms', 'whatsapp')),
  to_number text not null,                -- E.164, also for WhatsApp
  from_number text not null,
  body text not null,
  media text not null,                    -- a JSON array of addresses
  outcome text not null check (outcome in ('delivered', 'undelivered', 'failed')),
  error_code bigint,
  created_at bigint not null
);
create index sandbox_phone_messages_to on sandbox_phone_messages (to_number, id);

-- Status callbacks that are still to be sent; one that has arrived, or was given up, is deleted.
create table sandbox_phone_callbacks (
  id text primary key,
  message_id text not null references sandbox_phone_messages (id) on delete cascade,
  url text not null,
  status text not null,
  due_at bigint not null,                 -- while it is being sent, the end of its lease
  attempts bigint not null
);
create index sandbox_phone_callbacks_due on sandbox_phone_callbacks (due_at);
create index sandbox_phone_callbacks_message on sandbox_phone_callbacks (message_id, id);
