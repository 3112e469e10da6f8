import type { ListName } from './query-documents.ts'

/**
 * `documents` has the stored form of Sixwire, with indexes of expressions; `few` has fewer of them and no index but that
 * of the ids, and `columns` has these in native columns.
 */
export type TableName = 'documents' | 'few' | 'columns'

/** The documents as JSON text. */
type Page = { data: string[]; total: number }

/** A list's condition on its values, in their order, and its order. */
export type ByHand = { where: string; orderBy: string }

export type Lists = {
  list(table: TableName, name: ListName, values: (string | number)[]): Page | Promise<Page>
}

const isPostgres = (url: string): boolean => url.startsWith('postgres')
const fileOf = (url: string): string => url.slice('sqlite:'.length)

/**
 * Copies the documents of a server's database.
 *
 * @param file the SQLite file to make; PostgreSQL has the tables beside those of the server
 */
export async function makeTables(url: string, file: string): Promise<void> {
  if (isPostgres(url)) await (await import('./queries-postgres.ts')).makeTables(url)
  else (await import('./queries-sqlite.ts')).makeTables(fileOf(url), file)
}

/** Brings all tables, those of the server too, into the state that PostgreSQL brings them into by itself before long. */
export async function settle(url: string): Promise<void> {
  if (isPostgres(url)) await (await import('./queries-postgres.ts')).vacuum(url)
}

export const openLists = async (url: string, file: string): Promise<Lists> =>
  isPostgres(url)
    ? (await import('./queries-postgres.ts')).openLists(url)
    : (await import('./queries-sqlite.ts')).openLists(file)

/**
 * The answer as Sixwire writes it.
 *
 * @param path a table and a list
 * @param query the values of the list, as JSON
 */
export async function answerOf(lists: Lists, path: string, query: string): Promise<string> {
  const [table, name] = path.split('/') as [TableName, ListName]
  const values = JSON.parse(decodeURIComponent(query)) as (string | number)[]
  const { data, total } = await lists.list(table, name, values)
  return `{"data":[${data.join()}],"total":${total},"limit":20,"offset":0}`
}
