import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { startApp } from '../../../testing/app.ts'
import { eachEngine, temporaryFolder } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'

eachEngine((engine) => {
  test('files that are deleted while an archive is made are in it, and their bytes go afterwards', async (t) => {
    const dataDir = await temporaryFolder(t)
    const { app, clock, ...server } = await startApp(t, engine, { environment: { DATA_DIR: dataDir } })
    const { token } = await server.register()
    const body = new FormData()
    body.append('file', new Blob(['the bytes of a file']), 'a.txt')
    const headers = { authorization: `Bearer ${token}` }
    const uploaded = await fetch(`${server.url}/store/upload`, { method: 'POST', body, headers })
    const { _id: id } = (await uploaded.json()) as { _id: string }
    const files = app.service('store').installedFiles
    const texts = await files.hold(() =>
      app.db.snapshot(async (snapshot) => {
        assert.deepEqual(await files.count(snapshot), { files: 1, bytes: 19 })
        const { status } = await server.request('DELETE', `/store/files/${id}`, { token })
        assert.equal(status, 200)
        const read: string[] = []
        for await (const file of files.list(snapshot)) {
          const pieces: Buffer[] = []
          for await (const piece of files.read(file)) pieces.push(piece)
          read.push(Buffer.concat(pieces).toString())
        }
        return read
      }),
    )
    assert.deepEqual(texts, ['the bytes of a file'])
    await until(async () => {
      clock.advance(60_000)
      const stored = await readdir(join(dataDir, 'uploads'), { recursive: true, withFileTypes: true })
      return !stored.some((entry) => entry.isFile())
    })
  })
})
