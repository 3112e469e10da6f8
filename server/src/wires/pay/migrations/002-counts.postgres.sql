-- The totals of the list, by provider and status, are counted as transactions come, change and go.
select sixwire_count_list('pay.transactions', 'pay_transactions', 'provider', 'status');
