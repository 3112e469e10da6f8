import pg from 'pg'

import type { ListName } from './query-documents.ts'
import type { ByHand, Lists } from './lists-by-hand.ts'

const CONNECTIONS = 10 // as many as Sixwire's pool has

// Each in the way that a list of the collection is written for a table of jsonb.
const byHand: Record<ListName, ByHand> = {
  equality: { where: `doc ->> 'city' = $1`, orderBy: 'id desc' },
  equalityAndRange: {
    where: `doc ->> 'category' = $1 and (doc -> 'price')::numeric >= $2 and (doc -> 'price')::numeric < $3`,
    orderBy: `(doc -> 'price')::numeric, id`,
  },
  range: {
    where: `(doc -> 'n')::numeric >= $1 and (doc -> 'n')::numeric < $2`,
    orderBy: `(doc -> 'n')::numeric, id`,
  },
  scan: { where: `(doc -> 'active')::boolean and (doc -> 'stock')::numeric < $1`, orderBy: 'id desc' },
}

const inColumns: ByHand = { where: 'active and stock < $1', orderBy: 'id desc' }

/** Makes the tables by hand, in a schema of their own beside the server's tables. */
export async function makeTables(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const table = (name: string, collection: string) => `
    create table by_hand.${name} (id text collate "C" primary key, body json not null, doc jsonb not null);
    insert into by_hand.${name}
    select id, body, doc from store_documents where collection = '${collection}' order by id;`
  await client.query(`
    create schema by_hand;
    ${table('documents', 'items')}
    ${table('few', 'few')}
    create table by_hand.columns (
      id text collate "C" primary key, created_at text, updated_at text, name text, n integer, city text, category text,
      price double precision, maker text, stock integer, active boolean, tags json, note text
    );
    insert into by_hand.columns select id, doc ->> 'createdAt', doc ->> 'updatedAt', doc ->> 'name',
      (doc -> 'n')::integer, doc ->> 'city', doc ->> 'category', (doc -> 'price')::double precision, doc ->> 'maker',
      (doc -> 'stock')::integer, (doc -> 'active')::boolean, (body -> 'tags'), doc ->> 'note'
    from by_hand.few;
    create index on by_hand.documents ((doc ->> 'city'), id);
    create index on by_hand.documents ((doc ->> 'category'), ((doc -> 'price')::numeric), id);
    create index on by_hand.documents (((doc -> 'n')::numeric), id);`)
  await client.end()
  await vacuum(url)
}

/** What autovacuum does within a minute or two of a load: marks pages as visible to all, and gathers the planner's statistics. */
export async function vacuum(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('vacuum analyze')
  await client.end()
}

/** Lists by hand on PostgreSQL. */
export function openLists(url: string): Lists {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  return {
    async list(from, name, values) {
      const { where, orderBy } = from === 'columns' ? inColumns : byHand[name]
      const body =
        from === 'columns'
          ? `json_build_object('_id', id, 'createdAt', created_at, 'updatedAt', updated_at, 'name', name, 'n', n,
              'city', city, 'category', category, 'price', price, 'maker', maker, 'stock', stock, 'active', active,
              'tags', tags, 'note', note)`
          : 'body'
      const [page, counted] = await Promise.all([
        pool.query<{ body: string }>({
          name: `${from} ${name}`,
          text: `select ${body}::text as body from by_hand.${from} where ${where} order by ${orderBy} limit 20`,
          values,
        }),
        pool.query<{ total: string }>({
          name: `${from} ${name} total`,
          text: `select count(*) as total from by_hand.${from} where ${where}`,
          values,
        }),
      ])
      return { data: page.rows.map((row) => row.body), total: Number(counted.rows[0]!.total) }
    },
  }
}
