-- An amount of a token is up to 2^256 - 1 of its smallest units: amounts are decimal text, and are added in code.
alter table pay_transactions
  drop constraint pay_transactions_reserved_check,
  alter column amount type text using amount::text,
  alter column captured type text using captured::text,
  alter column refunded type text using refunded::text,
  alter column reserved type text using reserved::text,
  add constraint pay_transactions_reserved_check check (reserved not like '-%');
alter table pay_ledger alter column amount type text using amount::text;
alter table pay_calls alter column amount type text using amount::text;
