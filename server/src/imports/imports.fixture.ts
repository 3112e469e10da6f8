// What the tests of all sources share: an application into which something is imported.

import { hash } from '@node-rs/bcrypt'

import { loadConfig } from '../app.ts'
import { sql } from '../db/sql.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { blocksOf } from '../testing/examples.ts'
import { runHere } from '../testing/command.ts'
import { temporaryFolder, type Ending, type Engine } from '../testing/engines.ts'
import { TEST_SECRET } from '../testing/templates.ts'
import type { RefusedRecord, SourceReport } from './import-source.ts'

/** A password that has become a hash elsewhere. */
export const OLD_PASSWORD = 'a long old passphrase'
/** Its hash, of the cost that tests have. */
export const oldHash = (): Promise<string> => hash(OLD_PASSWORD, 4)

/** An empty application: a folder and a database, into which `sixwire import` is run. */
export async function emptyApplication(ending: Ending, engine: Engine) {
  const databaseUrl = await engine.migratedUrl()
  const folder = await temporaryFolder(ending)
  const environment = {
    DATABASE_URL: databaseUrl,
    SIXWIRE_SECRET: TEST_SECRET,
    DATA_DIR: folder,
    LOG_LEVEL: 'silent',
  }
  return {
    folder,
    environment,
    /** Runs `sixwire import`. */
    sixwire: (...words: string[]) => runHere(['import', ...words], { folder, environment }),
    /** Starts the server, with the configuration that an import has written. */
    start: async (): Promise<TestApp> =>
      startApp(ending, engine, {
        databaseUrl,
        config: await loadConfig(folder),
        environment: { DATA_DIR: folder, SIXWIRE_POLICY: 'guarded' },
      }),
  }
}

/** The words behind `sixwire import` in a page of docs/coming-from: of the dry run, and of the import itself. */
export async function documentedWords(source: string): Promise<{ dryRun: string[]; words: string[] }> {
  const blocks = await blocksOf(`docs/coming-from/${source}.md`, 'sh')
  const block = blocks.find((one) => one.startsWith('npx sixwire import'))!
  const [dryRun = [], words = []] = block
    .trimEnd()
    .split('\n')
    .map((line) => line.replace('npx sixwire import ', '').split(' '))
  return { dryRun, words }
}

/** The report of an import with `--json`. */
export const reportOf = ({ output }: { output: string }) =>
  JSON.parse(output) as SourceReport & { notes: string[]; errors: RefusedRecord[] }

/** How many there are of what an import writes. */
export const rowsOf = async ({ app }: Pick<TestApp, 'app'>): Promise<Record<string, number>> =>
  (await app.db.get<Record<string, number>>(sql`
    select (select count(*) from auth_users) as users, (select count(*) from store_documents) as documents,
      (select count(*) from store_files) as files, (select count(*) from store_indexes) as indexes`))!
