-- Documents are also stored as jsonb, which filters look into without parsing it; they are answered from the text.
alter table store_documents
  add column bytes integer not null generated always as (octet_length(body::text)) stored, -- of the text
  add column doc jsonb not null generated always as (body::jsonb) stored;
