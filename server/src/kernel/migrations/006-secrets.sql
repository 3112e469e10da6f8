-- Under which secret the database is encrypted. Empty until the secret is rotated for the first time.
create table sixwire_secrets (
  fingerprint text primary key,   -- keyed hash of a constant: tells secrets apart
  idempotency_key text not null,  -- of the secret before, encrypted: repeated calls are recognised for another day
  rotated_at bigint not null
);
