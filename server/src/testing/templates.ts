import { randomBytes } from 'node:crypto'
import { join } from 'node:path'

import { Client } from 'pg'

import { createApp } from '../app.ts'

/** The `SIXWIRE_SECRET` of servers that tests start. */
export const TEST_SECRET = 'a secret of the tests that is long enough'

/** The environment variable that holds the `DatabaseTemplates` of a run as JSON. `global.ts` sets it. */
export const TEMPLATES_VARIABLE = 'SIXWIRE_TEST_TEMPLATES'

/**
 * A database of each engine with every table of Sixwire, the sandbox's too, and the keys of its stand-ins, which take long
 * to make: a SQLite file, and a name on PostgreSQL.
 */
export type DatabaseTemplates = { sqlite: string; postgres: string }

/** The templates of this run; undefined where a test file is run alone, and each server makes its own tables. */
export function templatesOfRun(): DatabaseTemplates | undefined {
  const text = process.env[TEMPLATES_VARIABLE]
  return text ? (JSON.parse(text) as DatabaseTemplates) : undefined
}

/**
 * Makes them, once for a whole run: to copy a database takes a fraction of the time of all migrations.
 *
 * @param postgres `postgres://…` of a database beside which others can be created
 * @param folder for the SQLite file
 */
export async function makeTemplates(postgres: string, folder: string): Promise<DatabaseTemplates> {
  const templates = {
    sqlite: join(folder, 'template.db'),
    postgres: `sixwire_template_${randomBytes(8).toString('hex')}`,
  }
  await onPostgres(postgres, `create database ${templates.postgres} template template0`)
  const { createSigningKey } = await import('../../../sandbox/src/idp/signing-key.ts')
  const { createSigningKeyStore } = await import('../../../sandbox/src/walletpay/signing-key.ts')
  const url = new URL(postgres)
  url.pathname = templates.postgres
  for (const databaseUrl of [`sqlite:${templates.sqlite}`, url.href]) {
    const app = await createApp({
      environment: {
        PORT: '0',
        SIXWIRE_SANDBOX: 'on',
        LOG_LEVEL: 'silent',
        DATA_DIR: folder,
        DATABASE_URL: databaseUrl,
      },
      folder,
    })
    await app.migrate()
    await createSigningKey(app, { secret: TEST_SECRET })()
    await createSigningKeyStore(app, { secret: TEST_SECRET }).get()
    await app.close()
  }
  return templates
}

/** Runs one statement on a connection of its own. */
export async function onPostgres(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
