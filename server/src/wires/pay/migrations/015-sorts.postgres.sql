-- What transactions are sorted by: the amount in major units, as how many digits are before its point and then the digits.
create index pay_transactions_amount on pay_transactions ((substr(cast(1100 + length(ltrim(amount, '0')) - exponent as text), 2) || rtrim(ltrim(amount, '0'), '0')) collate "C", id);
create index pay_transactions_buyer on pay_transactions ((coalesce(email_key, '')) collate "C", id);
