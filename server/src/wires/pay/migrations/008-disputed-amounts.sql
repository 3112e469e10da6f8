-- What open disputes concern, and what disputes and reversals took: computed from the ledger, as the amounts beside them.
-- Until now each of them was all of the payment. Those that are lost are looked up once more, because it may be a part.
alter table pay_transactions add column disputed text not null default '0';
alter table pay_transactions add column lost text not null default '0';
update pay_transactions set disputed = captured where status = 'disputed';
update pay_transactions set lost = captured, is_settled = 0 where status = 'lost' and provider <> 'onchain';
update pay_transactions set lost = captured where status = 'lost' and provider = 'onchain';
