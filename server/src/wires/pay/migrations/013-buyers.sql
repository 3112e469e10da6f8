-- Who bought what.
alter table pay_transactions add column items text;                -- JSON: what was asked for; null: before 013, or on a chain
alter table pay_transactions add column buyer text default '{}';   -- JSON, as the provider tells with the money; null: erased, and not stored again
