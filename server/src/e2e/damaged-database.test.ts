import assert from 'node:assert/strict'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'

import { startApp } from '../testing/app.ts'
import { temporaryFolder } from '../testing/engines.ts'
import { runProgram } from '../testing/program.ts'

const DOCUMENTS = 60
const PAGE_BYTES = 4096

/** Sets pages of a database file to zero, counted from 1. */
async function damage(file: string, pages: readonly number[]): Promise<void> {
  const handle = await open(file, 'r+')
  for (const page of pages)
    await handle.write(Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES)
  await handle.close()
}

function pagesOf(file: string, condition: string): number[] {
  const db = new DatabaseSync(file)
  const rows = db.prepare(`select pageno from dbstat where ${condition} order by pageno`).all()
  db.close()
  return rows.map(({ pageno }) => pageno as number)
}

test('a read of a damaged page fails alone, and /health and doctor tell of it', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'damaged.db')
  const databaseUrl = `sqlite:${file}`
  const start = () => startApp(t, { migratedUrl: async () => databaseUrl })
  const before = await start()
  const { token } = await before.register()
  const ids: string[] = []
  for (let i = 0; i < DOCUMENTS; i++) {
    const { body } = await before.request('POST', '/store/things', { token, body: { text: 'x'.repeat(400) } })
    ids.push(body._id)
  }
  await before.stop()
  const [, page] = pagesOf(file, "name = 'store_documents' and pagetype = 'leaf'")
  await damage(file, [page!])

  const app = await start()
  const answers = []
  for (const id of ids) answers.push(await app.request('GET', `/store/things/${id}`, { token }))
  const failed = answers.filter(({ status }) => status !== 200)
  assert.deepEqual(new Set(failed.map(({ body }) => body.error.code)), new Set(['STORAGE_DAMAGED']))
  assert.ok(failed.length < DOCUMENTS / 4, `${failed.length} documents of one page`)
  const list = await app.request('GET', '/store/things?limit=100', { token })
  assert.deepEqual([list.status, list.body.error.code], [500, 'STORAGE_DAMAGED'])
  const added = await app.request('POST', '/store/others', { token, body: {} })
  assert.equal(added.status, 201)
  const health = await app.request('GET', '/health')
  assert.deepEqual([health.status, health.body.storage], [503, 'damaged'])
  await app.stop()

  const environment = { DATABASE_URL: databaseUrl, DATA_DIR: folder, SIXWIRE_SECRET: 'x'.repeat(40) }
  const doctor = await runProgram(t, ['doctor'], { folder, environment })
  assert.equal(doctor.code, 1)
  assert.match(doctor.output, /^fault +database file: .*damaged.*\n +.*docs\/backups\.md/m)

  // The first table that a start reads.
  await damage(file, pagesOf(file, "name = 'sixwire_migrations'"))
  const started = await runProgram(t, ['start'], { folder, environment })
  assert.equal(started.code, 1)
  assert.match(
    started.errors,
    /^sixwire: DATABASE_URL: \S+ is damaged or no database: .*docs\/backups\.md.*\n$/,
  )
})
