// An upload goes on where it was after the real server has been killed in its middle.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { createClient } from '../../../../../../client/src/index.ts'
import { openDatabase } from '../../../../db/open.ts'
import { sql } from '../../../../db/sql.ts'
import { someEngine, temporaryFolder } from '../../../../testing/engines.ts'
import { freePort } from '../../../../testing/free-port.ts'
import { startProgram } from '../../../../testing/program.ts'
import { storedObjects } from '../files.fixture.ts'
import { contentOf, uploadByTus } from './resumable.fixture.ts'

const MIB = 1_048_576
const KILLS = 2

someEngine((engine) => {
  test('a server killed in the middle of a resumable upload', async (t) => {
    const folder = await temporaryFolder(t)
    const databaseUrl = await engine.migratedUrl()
    const environment = {
      PORT: String(await freePort()),
      DATA_DIR: folder,
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: 'warn',
    }
    const start = () => startProgram(t, ['start'], { folder, environment })
    let server = start()
    const url = await server.url()
    const registered = await fetch(`${url}/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'writer@example.com', password: 'correct horse battery' }),
    })
    const { token } = (await registered.json()) as { token: string }

    const bytes = randomBytes(20 * MIB)
    const offsets: number[] = []
    let kills = 0
    async function restart(): Promise<void> {
      await server.kill()
      server = start()
      await server.url()
    }
    let restarting = Promise.resolve()
    const { done, upload } = uploadByTus(url, token, bytes, {
      chunkSize: 2 * MIB,
      retryDelays: Array.from({ length: 300 }, () => 100),
      // With an endpoint it would begin again where HEAD is answered 503, as while a server starts.
      onUploadUrlAvailable: () => void (upload.options.endpoint = null),
      onChunkComplete: (_size, accepted) => {
        offsets.push(accepted)
        // The next request is under way then.
        if (kills < KILLS && accepted >= (kills + 1) * 6 * MIB) {
          kills++
          restarting = delay(Math.random() * 20).then(restart)
        }
      },
    })
    const six = createClient(url, { token })
    const bySix = six.upload(new File([bytes], 'six.bin'), { metadata: { by: 'sixwire' } })
    const { file } = await done
    const own = await bySix
    await restarting
    assert.equal(kills, KILLS)
    assert.ok((await contentOf({ url }, token, file!)).equals(bytes))
    assert.deepEqual([own.originalName, own.metadata], ['six.bin', { by: 'sixwire' }])
    assert.ok((await contentOf({ url }, token, own._id)).equals(bytes))
    // Nothing was sent again that an answer had confirmed.
    assert.deepEqual(
      offsets,
      [...new Set(offsets)].toSorted((a, b) => a - b),
    )
    assert.equal(new URL(upload.url!).origin, url)

    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    assert.deepEqual(await db.all(sql`select object from store_upload_pieces`), [])
    const named = await db.all<{ key: string }>(
      sql`select object as key from store_files union all select key from store_unclaimed`,
    )
    const keys = new Set(named.map(({ key }) => key))
    const strays = (await storedObjects(folder)).filter(
      (name) => name !== '.probe' && !keys.has(name.replace(/^\.(.*)\.part$/, '$1')),
    )
    assert.deepEqual(strays, [], join(folder, 'uploads'))
    await server.kill()
  })
})
