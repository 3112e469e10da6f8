-- What the mail server of the sandbox has accepted. Times are milliseconds since 1970.

create table sandbox_mail (
  id text primary key,
  raw text not null,                      -- the message as it came, in base64
  view text not null,                     -- JSON: what the inbox shows of it
  received_at bigint not null
);
create index sandbox_mail_age on sandbox_mail (received_at, id);

-- Whom the envelope named: cc and bcc too.
create table sandbox_mail_receivers (
  mail_id text not null references sandbox_mail (id) on delete cascade,
  address text not null,                  -- as compared
  primary key (address, mail_id)
);
create index sandbox_mail_receivers_mail on sandbox_mail_receivers (mail_id);

-- Messages that were asked to come again later, and may come now.
create table sandbox_mail_deferred (
  message text primary key                -- hash of its Message-ID
);
