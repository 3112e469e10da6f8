-- Messages are counted by state and time.
create index messaging_messages_states on messaging_messages (status, id);
