// Images that are not stored, for clients that do not read them.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'

import sharp from 'sharp'

import { startApp } from '../../../testing/app.ts'
import { anyEngine, temporaryFolder } from '../../../testing/engines.ts'
import { upload } from './files.fixture.ts'

anyEngine((engine) => {
  test('images of 64 MiB are held in memory, no more', async (t) => {
    const app = await startApp(t, engine, { environment: { DATA_DIR: await temporaryFolder(t) } })
    const { token } = await app.register()
    const raw = { width: 1600, height: 1600, channels: 3 } as const
    const image = await sharp(randomBytes(1600 * 1600 * 3), { raw })
      .png()
      .toBuffer()
    const { body } = await upload(app, token, { bytes: new Uint8Array(image), type: 'image/png' })
    const content = `/store/files/${body._id}/content`
    const get = (width: number) => app.request('GET', `${content}?width=${width}`, { token })
    for (let width = 1; width <= 20; width++) await get(width)

    const { hostname, port } = new URL(app.url)
    const clients = []
    const statuses = []
    for (let width = 1590; width < 1600; width++) {
      const client = connect(Number(port), hostname)
      clients.push(client)
      client.write(
        `GET ${content}?width=${width} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n\r\n`,
      )
      const [answer] = (await once(client, 'data')) as [Buffer]
      client.pause()
      statuses.push(answer.toString('latin1', 9, 12))
    }
    assert.deepEqual(statuses, [...Array(8).fill('200'), '503', '503'])
    for (const client of clients) client.destroy()
    while ((await get(1590)).status === 503);
  })
})
