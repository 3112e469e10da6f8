-- Answers to callers without an account may hold tokens, and were kept for a day. From now on those are kept for a minute.

delete from sixwire_idempotency where caller like 'stranger:%' and answer is not null;
