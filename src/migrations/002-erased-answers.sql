-- Answers that hold tokens are kept for a minute, their keys for the day. Times are milliseconds since 1970.

-- With the answer, when it is erased; null: together with the key. With a null answer: it has been erased.
alter table sixwire_idempotency add column erase_at bigint;
create index sixwire_idempotency_erasure on sixwire_idempotency (erase_at)
  where answer is not null and erase_at is not null;

-- Of callers without an account: among these are the answers that hold tokens.
delete from sixwire_idempotency where caller like 'stranger:%' and answer is not null;
