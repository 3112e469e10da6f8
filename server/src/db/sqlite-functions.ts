// The threads of SQLite load this: it imports nothing of Node, which each thread would load again.
import { StartError } from '../base/start-error.ts'
import type { SqlScalar } from './sql.ts'

/**
 * A function for SQL. It must be deterministic and quick, because SQLite calls it for each row; what it throws fails the
 * query. It takes as many arguments as it declares; an integer beyond 2^53 cannot be one.
 */
export type SqliteFunction = (...values: never[]) => SqlScalar | Uint8Array

/** Functions by their names in SQL. */
export type SqliteFunctions = Readonly<Record<string, SqliteFunction>>

/**
 * Loads the functions of modules, each of which exports them as `functions`.
 *
 * @param modules `file:` addresses
 * @throws StartError for a module that can't be loaded
 */
export async function loadSqliteFunctions(modules: readonly string[]): Promise<SqliteFunctions> {
  return Object.assign({}, ...(await Promise.all(modules.map(functionsOf)))) as SqliteFunctions
}

async function functionsOf(module: string): Promise<SqliteFunctions> {
  try {
    return ((await import(module)) as { functions: SqliteFunctions }).functions
  } catch (error) {
    const message = (error as Error).message.replaceAll(/\s+/g, ' ')
    throw new StartError(`sqliteFunctions: the module ${module} can't be loaded: ${message}`, {
      cause: error,
    })
  }
}
