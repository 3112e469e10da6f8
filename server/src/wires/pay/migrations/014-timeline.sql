-- Refunds, disputes and reversals of an account, by time.
alter table pay_ledger add column owner text;                      -- that of the transaction
update pay_ledger set owner = (select owner from pay_transactions where id = transaction_id)
  where kind in ('refund', 'dispute', 'reversal');
create index pay_ledger_owner on pay_ledger (owner, id) where kind in ('refund', 'dispute', 'reversal');
