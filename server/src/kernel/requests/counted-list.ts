import type { RowFilter } from '../../base/row-filter.ts'
import type { Database } from '../../db/database.ts'
import { cachedUntilWrite } from '../../db/cached-until-write.ts'
import { sql, type Sql } from '../../db/sql.ts'
import { cutPage, type Page } from '../../http/page.ts'
import { BY_ID, orderOf, type SortColumns } from './list-order.ts'

// A page of this many rows, those skipped included, is read on the event loop; a longer one where it stalls nobody.
const SHORT_PAGE = 100

export type CountedPage<R> = {
  rows: readonly R[]
  /** Undefined if the page asks for none. */
  total: number | undefined
  nextCursor?: string
}

/**
 * Reads a page, newest first unless it is sorted otherwise, of the records within the row filter that meet all conditions, and of which each facet has
 * the given value, if one is given.
 */
export type CountedList<R, F extends string = never> = (
  rowFilter: RowFilter,
  conditions: readonly Sql[],
  page: Page,
  facets?: { readonly [K in F]?: string | undefined },
) => Promise<CountedPage<R>>

/** How many records have these values of the facets. */
type FacetCount = { values: readonly unknown[]; records: number }

/**
 * A list of records with its total, which without conditions is read and not counted: triggers count records as they come
 * and go. The table has the columns `id` (text that sorts by time) and `owner` (text that never changes; null: nobody's).
 *
 * Totals by facets, columns of which each has few values, are read too: give their names in `facets`, and let a migration
 * add the triggers below. An index for each set of facets that is asked for makes the page quick.
 *
 * @example
 * const list = createCountedList<Row, 'provider' | 'status'>(db, {
 *   name: 'pay.transactions',
 *   table: sql.literal('pay_transactions'),
 *   columns: sql.literal('id, provider, status'),
 *   facets: ['provider', 'status'],
 * })
 * const { rows, total, nextCursor } = await list(policy.rowFilter(caller), [], pageOf(query), { status: 'completed' })
 *
 * @example
 * -- The migration for PostgreSQL; it counts the existing records too.
 * select sixwire_count_list('pay.transactions', 'pay_transactions', 'provider', 'status');
 *
 * @example
 * -- The migration for SQLite, whose first statement counts the existing records.
 * insert into sixwire_facet_changes select 'pay.transactions', owner, json_array(provider, status), count(*)
 *   from pay_transactions group by owner, provider, status;
 * create trigger pay_transactions_added after insert on pay_transactions begin
 *   insert into sixwire_facet_changes values ('pay.transactions', new.owner, json_array(new.provider, new.status), 1);
 * end;
 * create trigger pay_transactions_removed after delete on pay_transactions begin
 *   insert into sixwire_facet_changes values ('pay.transactions', old.owner, json_array(old.provider, old.status), -1);
 * end;
 * create trigger pay_transactions_changed after update of provider, status on pay_transactions begin
 *   insert into sixwire_facet_changes values
 *     ('pay.transactions', old.owner, json_array(old.provider, old.status), -1),
 *     ('pay.transactions', new.owner, json_array(new.provider, new.status), 1);
 * end;
 *
 * @param options.name how the triggers name the list: wire and records
 * @param options.columns what is read of a record, `id` among it
 * @param options.sorts what it can be sorted by beside `createdAt`
 * @param options.facets the columns of the facets, in the order of the triggers; absent for a list that is counted in
 *   `sixwire_counts`, see `messaging/migrations/005-counts.*.sql`
 */
export function createCountedList<R extends { id: string }, const F extends string = never>(
  { db }: { db: Database },
  options: { name: string; table: Sql; columns: Sql; facets?: readonly F[]; sorts?: SortColumns<R> },
): CountedList<R, F> {
  const { name, table, columns } = options
  const facetNames: readonly F[] = options.facets ?? []
  const sorts: SortColumns<R> = { createdAt: BY_ID, ...options.sorts }

  const readCountsSql = (owner: string): Sql<{ facets: string; records: number }> =>
    options.facets
      ? sql`
          select facets, cast(sum(records) as bigint) as records from sixwire_facet_counts
          where list = ${name} and owner = ${owner} group by facets`
      : sql`
          select '[]' as facets, cast(coalesce(sum(records), 0) as bigint) as records from sixwire_counts
          where list = ${name} and owner = ${owner}`

  const storedCounts = cachedUntilWrite(db, async (owner): Promise<FacetCount[]> => {
    const rows = await db.all(readCountsSql(owner))
    return rows.map(({ facets, records }) => ({ values: JSON.parse(facets) as unknown[], records }))
  })

  /** @param values of each facet; undefined: any */
  async function storedTotal(owner: string, values: readonly (string | undefined)[]): Promise<number> {
    let total = 0
    for (const count of await storedCounts(owner))
      if (values.every((value, at) => value === undefined || value === count.values[at]))
        total += count.records
    return total
  }

  async function countRows(where: Sql): Promise<number> {
    const [row] = await db.scan<{ total: number }>(sql`select count(*) as total from ${table} ${where}`)
    return row!.total
  }

  return async (rowFilter, conditions, page, facets) => {
    const { limit, offset, counts } = page
    const order = orderOf(sorts, page)
    const values = facetNames.map((facet) => facets?.[facet])
    const facetConditions = values.flatMap((value, at) =>
      value === undefined ? [] : [sql`${sql.literal(facetNames[at]!)} = ${value}`],
    )
    const own = rowFilter.rows === 'all' ? [] : [sql`owner = ${rowFilter.owner}`]
    const all = [...own, ...facetConditions, ...conditions]
    const query = sql<R>`
      select ${columns} from ${table} ${whereSql([...all, ...order.behind])}
      order by ${order.by} limit ${limit + 1} offset ${offset}`
    const isShort =
      page.sort === undefined &&
      conditions.length === 0 &&
      facetConditions.length === 0 &&
      offset + limit <= SHORT_PAGE
    const [rows, total] = await Promise.all([
      isShort ? db.all(query) : db.scan(query),
      counts === false
        ? undefined
        : conditions.length === 0
          ? storedTotal(rowFilter.rows === 'all' ? '' : rowFilter.owner, values)
          : countRows(whereSql(all)),
    ])
    return { ...cutPage(rows, page, order.positionOf), total }
  }
}

const whereSql = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? sql.literal('') : sql`where ${sql.join(conditions, ' and ')}`
