-- An amount of a token is up to 2^256 - 1 of its smallest units: amounts are decimal text, and are added in code.
-- Columns are replaced one by one: a table cannot be replaced while others refer to it with `on delete cascade`.
alter table pay_transactions add column amount_text text not null default '0';
alter table pay_transactions add column captured_text text not null default '0';
alter table pay_transactions add column refunded_text text not null default '0';
alter table pay_transactions add column reserved_text text not null default '0' check (reserved_text not like '-%');
update pay_transactions set amount_text = cast(amount as text), captured_text = cast(captured as text),
  refunded_text = cast(refunded as text), reserved_text = cast(reserved as text);
alter table pay_transactions drop column amount;
alter table pay_transactions drop column captured;
alter table pay_transactions drop column refunded;
alter table pay_transactions drop column reserved;
alter table pay_transactions rename column amount_text to amount;
alter table pay_transactions rename column captured_text to captured;
alter table pay_transactions rename column refunded_text to refunded;
alter table pay_transactions rename column reserved_text to reserved;

drop index pay_ledger_entry;
alter table pay_ledger add column amount_text text not null default '0';
update pay_ledger set amount_text = cast(amount as text);
alter table pay_ledger drop column amount;
alter table pay_ledger rename column amount_text to amount;
create unique index pay_ledger_entry on pay_ledger (transaction_id, kind, object_id, version, status, amount, currency);

alter table pay_calls add column amount_text text;
update pay_calls set amount_text = cast(amount as text);
alter table pay_calls drop column amount;
alter table pay_calls rename column amount_text to amount;
