-- What is known of the latest call of a provider while its message is not settled. `repeated`: it runs, and one before
-- it may have arrived. `over`: it has ended, and nobody knows how.
alter table messaging_messages add column call_state text
  check (call_state in ('running', 'repeated', 'over'));

-- Until now the reason that the log shows said so.
update messaging_messages set call_state = case
    when error is null then 'running'
    when error = 'It may have arrived by an earlier try, and is sent once more.' then 'repeated'
    else 'over' end
  where status = 'sending';
