import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, test } from 'node:test'

import type { App } from '../../app.ts'
import { deriveKey } from '../../base/crypto.ts'
import { identifier, readCatalogue } from '../../db/catalogue.ts'
import { ConstraintError } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { testClock } from '../../testing/clock.ts'
import { eachEngine, temporaryFolder, testOnOne, type Ending, type Engine } from '../../testing/engines.ts'
import { TEST_SECRET } from '../../testing/templates.ts'
import { fill, openApplication, tablesOf, VALUES } from '../move/every-table.fixture.ts'
import { moveDatabase } from '../move/move.ts'
import { defineWire } from '../wire/wire.ts'
import { exportAll } from './export.ts'
import { isAbout } from './exported-files.ts'

/** What each file of an export has. */
async function exported(ending: Ending, app: App, hasSecrets: boolean): Promise<Record<string, unknown>> {
  const dir = join(await temporaryFolder(ending), 'all')
  const { db, settings } = app
  await mkdir(join(settings.dataDir, 'uploads'), { recursive: true })
  const { copies } = await app.tablesOf(db.dialect)
  await exportAll({ db, secret: TEST_SECRET, copies, exports: app.exports(), sealed: app.sealed() }, dir, {
    hasSecrets,
    heading: 'Test',
    onProgress: () => undefined,
    signal: new AbortController().signal,
  })
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const files = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  const texts = files.map(async (file): Promise<[string, unknown]> => {
    const text = await readFile(file, 'utf8')
    return [
      file.slice(dir.length + 1),
      // Each table has one row at most.
      file.endsWith('.ndjson') && text !== '' ? JSON.parse(text) : text,
    ]
  })
  return Object.fromEntries(await Promise.all(texts))
}

/**
 * Gives each column of text a text of its own, where its constraints allow it.
 *
 * @returns the columns, as `table.column`
 */
async function plant(app: App): Promise<string[]> {
  const { db } = app
  const purposes = new Map(app.sealed().map(({ table, column, purpose }) => [`${table}.${column}`, purpose]))
  const planted: string[] = []
  for (const { name, columns } of (await tablesOf(db)).values())
    for (const column of columns) {
      if (column.kind !== 'text' || column.isGenerated || VALUES[name]?.[column.name]) continue
      const at = `${name}.${column.name}`
      const purpose = purposes.get(at)
      const text = purpose === undefined ? textOf(at) : deriveKey(TEST_SECRET, purpose).seal(textOf(at))
      try {
        await db.write(
          sql`update ${sql.literal(identifier(name))} set ${sql.literal(identifier(column.name))} = ${text}`,
        )
        planted.push(at)
      } catch (error) {
        if (!(error instanceof ConstraintError)) throw error
      }
    }
  return planted
}

const textOf = (at: string): string => `<${at}>`

const SUSPICIOUS =
  /hash|secret|token|salt|jwk|key|code|raw|payload|cipher|sealed|password|reference|fingerprint/

// What has the name of a secret, and is none: of transactions, blocks, tokens of chains, providers and callers.
const PUBLIC = [
  'auth_passkeys.public_key',
  'auth_signing_keys.public_jwk',
  'onchain_nft_holdings.token_id',
  'onchain_nft_transfers.token_id',
  'onchain_signed.hash',
  'onchain_signed.raw',
  'onchain_transactions.block_hash',
  'onchain_transactions.hash',
  'onchain_transactions.reference',
  'onchain_transactions.token_id',
  'onchain_wallets.key_store',
  'onchain_chains.genesis_hash',
  'pay_events.payload',
  'pay_receipts.transaction_hash',
  'pay_receivers.fingerprint',
  'pay_requests.fingerprint',
  'pay_requests.token',
  'pay_sweeps.hash',
  'pay_transactions.merchant_reference',
  'pay_transactions.reference',
  'sixwire_faults.fingerprint',
  'sixwire_log.code',
]

describe('an export', () => {
  const engines = {} as Record<Engine['name'], Engine>
  eachEngine((engine) => {
    engines[engine.name] = engine
    test('each table of every wire is exported, or declared as left out', async (t) => {
      const app = await openApplication(t, await engine.freshUrl())
      const tables = [...(await readCatalogue(app.db, engine.name)).values()]
      const exports = app.exports()
      const inForms = exports.flatMap(({ forms = [] }) => forms.flatMap((form) => form.tables))
      const { copies } = await app.tablesOf(engine.name)
      // A release that adds a table makes this fail until its wire says how it is exported, or why not.
      assert.deepEqual(
        tables
          .map(({ name }) => name)
          .filter(
            (name) =>
              !inForms.includes(name) &&
              copies[name]?.isLeftOut !== true &&
              !exports.some((one) => one.tables.some((table) => isAbout(table, name))),
          ),
        [],
      )
    })

    testOnOne(engine)(
      'tables of an application’s own wire are written as it declares them, and else as they are',
      async (t) => {
        const folder = await temporaryFolder(t)
        await writeFile(
          join(folder, '001-shop.sql'),
          `create table shop_carts (id text primary key, items text, token_hash text, is_open integer, created_at bigint);
         create table shop_cache (id text primary key);
         create table shop_notes (id text primary key, note_text text, noted_at bigint);`,
        )
        const shop = defineWire({
          name: 'shop',
          migrations: pathToFileURL(`${folder}/`),
          setup: () => ({
            routes: [],
            service: undefined,
            exports: {
              tables: [
                { table: 'shop_carts', about: 'Carts', json: ['items'], secrets: ['token_hash'] },
                { table: 'shop_cache', isLeftOut: 'A cache, which fills again' },
              ],
            },
          }),
        })
        const app = await openApplication(t, await engine.freshUrl(), { wires: [shop()] })
        await app.db.batch([
          sql`insert into shop_carts values ('c', '[1]', 'h', 1, 0)`,
          sql`insert into shop_cache values ('x')`,
          sql`insert into shop_notes values ('n', null, 0)`,
        ])
        const files = await exported(t, app, false)
        assert.deepEqual(files['shop/carts.ndjson'], {
          _id: 'c',
          items: [1],
          isOpen: true,
          createdAt: '1970-01-01T00:00:00.000Z',
        })
        assert.deepEqual(files['shop/notes.ndjson'], { id: 'n', note_text: null, noted_at: 0 })
        assert.equal(files['shop/cache.ndjson'], undefined)
        assert.match(String(files['README.md']), /^- A cache, which fills again: `shop_cache`$/m)
      },
    )

    if (engine.name === 'sqlite') return
    test('has a row of every table, no hash and no key unless they are asked for, and is the same on both engines', async (t) => {
      const { sqlite, postgres } = engines
      const app = await openApplication(t, await sqlite.freshUrl())
      await fill(app.db)
      const planted = await plant(app)
      const found = (files: Record<string, unknown>): string[] => {
        const text = JSON.stringify(files)
        return planted.filter((at) => text.includes(textOf(at)))
      }
      const plain = await exported(t, app, false)
      assert.deepEqual(
        found(plain)
          .filter((at) => SUSPICIOUS.test(at.split('.')[1]!))
          .toSorted(),
        PUBLIC.toSorted(),
      )
      const secret = await exported(t, app, true)
      const declared = [
        ...app.sealed(),
        ...app
          .exports()
          .flatMap(({ tables }) =>
            tables.flatMap((one) =>
              'isLeftOut' in one ? [] : (one.secrets ?? []).map((column) => ({ table: one.table, column })),
            ),
          ),
      ].map(({ table, column }) => `${table}.${column}`)
      const added = found(secret).filter((at) => !found(plain).includes(at))
      assert.deepEqual(
        added,
        planted.filter((at) => declared.includes(at) && !LEFT_OUT.includes(at)),
      )

      const url = await postgres.freshUrl()
      await moveDatabase(
        { db: app.db, clock: testClock(), tablesOf: (dialect) => app.tablesOf(dialect) },
        { to: url, drainMs: 0, signal: new AbortController().signal, onProgress: () => undefined },
      )
      assert.deepEqual(await exported(t, await openApplication(t, url), true), secret)
    })
  })
})

// Sealed columns of tables that are not exported.
const LEFT_OUT = [
  'sixwire_secrets.idempotency_key',
  'onchain_data_keys.ciphertext',
  'auth_totp_offers.secret',
]
