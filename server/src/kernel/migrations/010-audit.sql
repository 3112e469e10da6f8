-- Who did what that concerns accounts, money, keys or whole collections. Written in the batch of the change, never changed.
create table sixwire_audit (
  id text primary key,                    -- sorts by time
  created_at bigint not null,             -- milliseconds since 1970
  action text not null,                   -- noun.verb: user.role-changed
  target text,                            -- kind:id
  outcome text not null check (outcome in ('done', 'denied')),
  actor_kind text not null check (actor_kind in ('user', 'key', 'command', 'system', 'stranger')),
  actor_id text,                          -- of the user or the service key
  actor_role text,                        -- of the user, then
  impersonator_id text,                   -- the administrator who acted as the user
  session_id text,
  ip text,
  user_agent text,
  request_id text,
  route text,                             -- POST /auth/login
  old_value text,                         -- JSON: what it was, as far as it changed; nothing secret or sealed
  new_value text,                         -- JSON: what it became
  reason text                             -- as a person gave it
);
create index sixwire_audit_action on sixwire_audit (action, id);
create index sixwire_audit_actor on sixwire_audit (actor_id, id);
create index sixwire_audit_target on sixwire_audit (target, id);
