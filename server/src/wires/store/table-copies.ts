import type { TableCopies } from '../../kernel/wire/table-copy.ts'

// A reader goes on behind as many rows of the log as it has read.
const READERS = (read: string) => `
  select name, case when generation = (select generation from store_feed) then 'same' else '' end as generation,
    0 as xid, (select count(*) from store_changes as c where ${read}) as seq
  from store_change_readers as r`

const SAME_LOG = "case generation when 'same' then (select generation from store_feed) else generation end"

// Of the log only the order is copied: numbers of transactions mean nothing in another database.
const CHANGES = (order: string, old: string, bytes: string) => `
  select row_number() over (order by ${order}) as seq, collection, id, version, owner, at, ${old} as old, ${bytes} as bytes
  from store_changes`

const COUNTS = `select collection, owner, 0 as slot, sum(documents) as documents, sum(bytes) as bytes
  from store_counts group by collection, owner`
const USAGE =
  'select owner, 0 as slot, sum(files) as files, sum(bytes) as bytes from store_usage group by owner'

// Each engine keeps the words of a search in a form of its own: the next start indexes them again.
const INDEXES = `
  select id, collection, fields, is_unique, by_owner, source,
    case when is_search and state = 'ready' then 'building' else state end as state, reason, format, has_arrays,
    has_cut_keys, case when is_search then 0 else build end as build,
    case when is_search then 0 else documents end as documents, created_at,
    case when is_search then null else finished_at end as finished_at, last_used_at, is_sparse, ignore_case, is_search
  from store_indexes`

/** How tables of the store are copied that the engines keep in different forms. */
export const STORE_COPIES: TableCopies = {
  store_documents: {
    columns: {
      collection: 'text',
      id: 'text',
      owner: 'text',
      version: 'integer',
      index_set: 'integer',
      body: 'text',
    },
    sqliteInsert: `insert into store_documents (collection, id, owner, version, index_set, doc)
      values (?1, ?2, ?3, ?4, ?5, jsonb(?6))`,
  },
  store_counts: { rows: { sqlite: COUNTS, postgres: COUNTS } },
  store_usage: { rows: { sqlite: USAGE, postgres: USAGE } },
  store_changes: {
    columns: {
      seq: 'integer',
      collection: 'text',
      id: 'text',
      version: 'integer',
      owner: 'text',
      at: 'integer',
      old: 'text',
      bytes: 'integer',
    },
    rows: {
      sqlite: CHANGES('seq', 'json(old)', 'coalesce(octet_length(json(old)), 0)'),
      postgres: CHANGES('xid, seq', 'old', 'bytes'),
    },
    sqliteInsert: `insert into store_changes (seq, collection, id, version, owner, at, old)
      select ?1, ?2, ?3, ?4, ?5, ?6, jsonb(?7) where ?8 is not null`,
  },
  store_change_readers: {
    columns: { name: 'text', generation: 'text', xid: 'integer', seq: 'integer' },
    rows: {
      sqlite: READERS('c.seq <= r.seq'),
      postgres: READERS('(c.xid, c.seq) <= (r.xid::text::xid8, r.seq)'),
    },
    after: {
      sqlite: [`update store_change_readers set generation = ${SAME_LOG}`],
      postgres: [
        `update store_change_readers set generation = ${SAME_LOG}, xid = pg_current_xact_id()::text::bigint`,
      ],
    },
  },
  // The other database has a log of its own, so that a follower of this one is told to read all again.
  store_feed: {
    isLeftOut: true,
    // Else the first start would take the log for that of a copy, and begin another one.
    after: {
      postgres: [
        `do $$ begin
          if has_function_privilege('pg_control_system()', 'execute') then
            update store_feed set system = (select system_identifier::text from pg_control_system());
          end if;
        end $$`,
      ],
    },
  },
  store_indexes: { rows: { sqlite: INDEXES, postgres: INDEXES } },
  store_search: { isLeftOut: true },
  store_search_words: { isLeftOut: true },
  // Clients begin again. Their pieces stay in this storage until `sixwire files check` finds them.
  store_uploads: { isLeftOut: true },
  store_upload_pieces: { isLeftOut: true },
  // Room for them, and for requests that have ended.
  store_reservations: { isLeftOut: true },
  // Of processes that read objects here.
  store_object_readers: { isLeftOut: true, isOpen: true },
  // What a restore under way has loaded.
  store_restored_documents: { isLeftOut: true },
  store_restored_files: { isLeftOut: true },
}
