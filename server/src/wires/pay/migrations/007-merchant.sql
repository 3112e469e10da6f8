-- What a merchant keeps with a payment, when it ends, and what the provider took of it.
alter table pay_transactions add column merchant_reference text;
alter table pay_transactions add column email text;                -- of the buyer, as it was written
alter table pay_transactions add column email_key text;            -- in lower case, to find it by
alter table pay_transactions add column metadata text;             -- JSON: texts by name
alter table pay_transactions add column expires_at bigint;         -- null: when the provider ends it
alter table pay_transactions add column cancel_requested_at bigint;
-- Minor units of a currency of their own: the provider may pay out in another one. Null: the provider has not told.
alter table pay_transactions add column fee text;
alter table pay_transactions add column net text;
alter table pay_transactions add column fee_currency text;
alter table pay_transactions add column fee_exponent integer;
create index pay_transactions_merchant_reference on pay_transactions (merchant_reference, id)
  where merchant_reference is not null;
create index pay_transactions_email on pay_transactions (email_key, id) where email_key is not null;
