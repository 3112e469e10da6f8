import assert from 'node:assert/strict'
import { mkdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { createApp } from '../app.ts'
import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { runProgram, startProgram } from '../testing/program.ts'
import { TEST_SECRET } from '../testing/templates.ts'

const PRODUCTION = { NODE_ENV: 'production', HOST: '127.0.0.1', SIXWIRE_SECRET: TEST_SECRET }

eachEngine((engine) => {
  test('an empty database beside the files of an installation is refused in production', async (t) => {
    const folder = await temporaryFolder(t)
    await mkdir(join(folder, 'uploads', 'aa'), { recursive: true })
    await mkdir(join(folder, 'backups'))
    let log = ''
    const start = async (environment: Record<string, string>, newDatabase?: boolean) => {
      const app = await createApp({
        environment: { PORT: '0', DATA_DIR: folder, SIXWIRE_SANDBOX: 'off', ...environment },
        folder,
        logTo: { write: (line) => void (log += line) },
        ...(newDatabase && { newDatabase }),
      })
      try {
        await app.start()
      } finally {
        await app.close()
      }
    }
    // What a disk of its own has, and a write that was cut off, are no files of an installation.
    const mounted = await temporaryFolder(t)
    await mkdir(join(mounted, 'uploads', 'lost+found'), { recursive: true })
    await writeFile(join(mounted, 'uploads', '.probe'), '')
    await start({ ...PRODUCTION, DATA_DIR: mounted, DATABASE_URL: await engine.freshUrl() })
    const DATABASE_URL = await engine.freshUrl()
    await assert.rejects(start({ ...PRODUCTION, DATABASE_URL }), {
      name: 'StartError',
      message:
        /^DATABASE_URL: the database is empty, while \S+ has the uploads of an installation: .*--new-database$/,
    })
    await start({ ...PRODUCTION, DATABASE_URL }, true)
    await start({ ...PRODUCTION, DATABASE_URL })
    assert.doesNotMatch(log, /is empty/)
    await start({ SIXWIRE_SECRET: TEST_SECRET, DATABASE_URL: await engine.freshUrl() })
    assert.match(log, /the database is empty, while \S+ has the uploads of an installation: a new/)
  })
})

test('the secret of an earlier start tells of a file that was removed or emptied', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'data', 'sixwire.db')
  const first = startProgram(t, ['start'], { folder, environment: { SIXWIRE_SANDBOX: 'off' } })
  await first.url()
  await first.kill()
  await truncate(file)
  const environment = PRODUCTION
  const beside = await runProgram(t, ['start'], { folder, environment })
  assert.equal(beside.code, 1)
  assert.match(beside.errors, /^sixwire: .*it is missing or empty beside its write-ahead log .*\n$/)
  for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix)
  const refused = await runProgram(t, ['start'], { folder, environment })
  assert.equal(refused.code, 1)
  assert.match(refused.errors, /^sixwire: DATABASE_URL: the database is empty, .* has the secret .*\n$/)
  const again = startProgram(t, ['start', '--new-database'], { folder, environment })
  await again.until(/runs at/)
})
