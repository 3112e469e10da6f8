-- The issuers of access tokens of all servers on this database.
create table auth_issuers (
  issuer text primary key,       -- a PUBLIC_URL, or the id of the installation
  installation bigint unique check (installation = 1) -- 1: the id, of which there is one; null: a PUBLIC_URL
);
