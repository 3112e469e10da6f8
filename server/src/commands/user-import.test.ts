import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { startApp } from '../testing/app.ts'
import { login } from '../testing/auth.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { TEST_SECRET } from '../testing/templates.ts'

const DJANGO = 'pbkdf2_sha256$20000$seasalt$oBSd886ysm3AqYun62DOdin8YcfbU1z9cksZSuLP9r0='

eachEngine((engine) => {
  test('users are imported from a file while the server runs, with the lines that are refused', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const app = await startApp(t, engine, { databaseUrl })
    const folder = await temporaryFolder(t)
    const environment = {
      DATABASE_URL: databaseUrl,
      SIXWIRE_SECRET: TEST_SECRET,
      DATA_DIR: folder,
      LOG_LEVEL: 'silent',
    }
    const sixwire = (...words: string[]) => runHere(['user', 'import', ...words], { folder, environment })
    const lines = [
      { _id: 'u-1', email: 'one@example.com', passwordHash: DJANGO, role: 'admin' },
      { _id: 'u-2', email: 'two@example.com', passwordHash: 'secret' },
      { _id: 'u-3', email: 'three@example.com' },
    ]
    await writeFile(join(folder, 'users.ndjson'), lines.map((line) => JSON.stringify(line)).join('\n'))

    const checked = await sixwire('users.ndjson', '--dry-run')
    assert.equal(checked.code, 1)
    assert.match(checked.output, /^line 2 \(u-2\): VALIDATION_ERROR passwordHash: is of no known form/)
    assert.match(
      checked.output,
      /\nNothing was written\. It would be: 2 created, 0 unchanged, 1 refused\.\n$/,
    )
    assert.equal((await login(app, 'one@example.com', 'lètmein')).status, 401)

    const imported = await sixwire('users.ndjson')
    assert.match(imported.output, /\n2 created, 0 unchanged, 1 refused\.\n$/, imported.errors)
    const { status, body } = await login(app, 'one@example.com', 'lètmein')
    assert.deepEqual([status, body.user?._id], [200, 'u-1'])

    const again = await sixwire('users.ndjson', '--json')
    const report = JSON.parse(again.output)
    assert.deepEqual([report.created, report.unchanged, report.errors.length], [0, 2, 1])
    const missing = await sixwire('nowhere.ndjson')
    assert.deepEqual([missing.code, missing.output], [1, ''])
    assert.match(missing.errors, /^sixwire: nowhere\.ndjson cannot be read: /)
  })
})
