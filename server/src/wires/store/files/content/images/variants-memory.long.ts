// Images that are not stored, for clients that do not read them.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'

import sharp from 'sharp'

import { startApp } from '../../../../../testing/app.ts'
import { anyEngine, temporaryFolder } from '../../../../../testing/engines.ts'
import { upload } from '../../files.fixture.ts'

anyEngine((engine) => {
  test('images of 64 MiB are held in memory, no more, and of one caller 16 MiB', async (t) => {
    const app = await startApp(t, engine, { environment: { DATA_DIR: await temporaryFolder(t) } })
    const tokens = await Promise.all(Array.from({ length: 5 }, async () => (await app.register()).token))
    const raw = { width: 1600, height: 1600, channels: 3 } as const
    const image = await sharp(randomBytes(1600 * 1600 * 3), { raw })
      .png()
      .toBuffer()
    const { body } = await upload(app, tokens[0], { bytes: new Uint8Array(image), type: 'image/png' })
    const content = `/store/files/${body._id}/content`
    const get = (width: number) => app.request('GET', `${content}?width=${width}`, { token: tokens[0] })
    for (let width = 1; width <= 20; width++) await get(width)

    const { hostname, port } = new URL(app.url)
    const clients = []
    const statuses = []
    for (const [n, token] of tokens.entries())
      for (let width = 1590 + n; width < 1593 + n; width++) {
        const client = connect(Number(port), hostname)
        clients.push(client)
        client.write(
          `GET ${content}?width=${width} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n\r\n`,
        )
        const [answer] = (await once(client, 'data')) as [Buffer]
        client.pause()
        statuses.push(answer.toString('latin1', 9, 12))
      }
    const ofOne = ['200', '200', '503']
    assert.deepEqual(statuses, [...ofOne, ...ofOne, ...ofOne, ...ofOne, '503', '503', '503'])
    for (const client of clients) client.destroy()
    while ((await get(1590)).status === 503);
  })
})
