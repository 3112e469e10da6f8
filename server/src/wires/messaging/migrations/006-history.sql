-- What happened to a message, one JSON object a line: each call of a provider with its answer, and its reports. Null: it
-- is of an earlier version. It is written by the statements that change the state, so it costs no statement of its own.
alter table messaging_messages add column history text;

-- Failed messages whose content is still there, by their age: it is deleted after some days.
create index messaging_messages_failed_content on messaging_messages (id) where payload is not null and status = 'failed';
