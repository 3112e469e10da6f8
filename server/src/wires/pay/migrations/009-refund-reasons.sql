-- Why money is given back, as the caller says.
alter table pay_calls add column refund_reason text;
