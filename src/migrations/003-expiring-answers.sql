-- An answer that holds tokens expires together with its key: a key that is remembered longer tells whether a password is right.

update sixwire_idempotency set expires_at = erase_at where erase_at is not null;
drop index sixwire_idempotency_erasure;
alter table sixwire_idempotency drop column erase_at;
