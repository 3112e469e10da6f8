-- What administrators set while the server runs. Each version has all options; the newest is in force.
create table sixwire_settings (
  version bigint primary key,     -- from 1 on
  options text not null,          -- JSON by the paths of the options, encrypted
  changed text not null,          -- JSON: the paths that this version changed
  created_at bigint not null,     -- milliseconds since 1970
  created_by text not null        -- the account or service key
);
