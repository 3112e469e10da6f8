-- What failed is few among many, and looked for by whoever runs the service. A message that goes well is never in it.
create index messaging_messages_failures on messaging_messages (status, id)
  where status = 'failed' or status = 'bounced';
