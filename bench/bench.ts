import type { Load } from './load.ts'
import type { Options } from './options.ts'
import type { Program, Server } from './servers.ts'

/** How a server is started otherwise than the options of the run say. */
export type How = {
  policy?: Options['policy']
  environment?: Record<string, string>
  /** Puts files into the server's folder. */
  prepare?: (folder: string) => void
}

/** What every scenario gets. */
export type Bench = {
  readonly options: Options
  /** Emptied at the end. */
  readonly folder: string
  readonly load: Load
  /** The program that is held against the floor. */
  readonly subject: Program
  /** Starts a server over the database of that name, which is made where there is none. */
  readonly open: (program: Program, database: string, how?: How) => Promise<Server>
  /** The `DATABASE_URL` of a database on which a server was opened. */
  readonly databaseUrl: (database: string) => string
  /** A line of progress. */
  readonly note: (text: string) => void
}
