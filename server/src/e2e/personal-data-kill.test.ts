// A server is killed while it exports the data of a person, and while it erases them: the next one ends both.
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { sql } from '../db/sql.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { startProgram } from '../testing/program.ts'
import { TEST_SECRET } from '../testing/templates.ts'
import { until } from '../testing/until.ts'
import { readZip } from '../testing/zip.ts'

const DOCUMENTS = 300
const FILES = 5

eachEngine((engine) => {
  test('an export and an erasure go on after their server was killed', async (t) => {
    const folder = await temporaryFolder(t)
    const databaseUrl = await engine.migratedUrl()
    const open = () => startApp(t, engine, { databaseUrl, environment: { DATA_DIR: folder } })
    const signIn = async (url: string, body: object): Promise<string> => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${url}/auth/login`, { method: 'POST', headers, body: JSON.stringify(body) })
      return ((await answer.json()) as { token: string }).token
    }
    /** Sends a request of the person to a server that is killed once it has answered. */
    async function killAfter(method: string, path: string, body?: object): Promise<number> {
      const environment = {
        DATABASE_URL: databaseUrl,
        DATA_DIR: folder,
        SIXWIRE_SECRET: TEST_SECRET,
        PORT: '0',
      }
      const program = startProgram(t, ['start'], { folder, environment })
      const url = await program.url()
      const answer = await fetch(url + path, {
        method,
        headers: {
          authorization: `Bearer ${await signIn(url, { email, password })}`,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      })
      await program.kill()
      return answer.status
    }
    const objects = async (): Promise<string[]> =>
      (await readdir(join(folder, 'uploads'), { recursive: true, withFileTypes: true }))
        .filter((file) => file.isFile() && !file.name.startsWith('.probe'))
        .map(({ name }) => name)
    const documentsOf = async ({ app }: TestApp, owner: string): Promise<number> =>
      (await app.db.all(sql`select id from store_documents where owner = ${owner}`)).length

    /** The clock is set forward, to when what the killed server held is free. */
    const soon = (condition: () => Promise<boolean>): Promise<void> =>
      until(() => {
        server.clock.advance(1_000)
        return condition()
      })

    let server = await open()
    const { _id, email, password, token } = await server.register()
    const { documents } = server.app.service('store')
    await Promise.all(
      Array.from({ length: DOCUMENTS }, (_, n) => documents.create('notes', { n }, { owner: _id })),
    )
    for (let n = 0; n < FILES; n++) {
      const body = new FormData()
      body.append('file', new Blob(['x'.repeat(100_000)]), `${n}.txt`)
      const headers = { authorization: `Bearer ${token}` }
      assert.equal((await fetch(`${server.url}/store/upload`, { method: 'POST', body, headers })).status, 201)
    }
    await server.stop()

    assert.equal(await killAfter('GET', '/auth/me/export'), 202)
    server = await open()
    const again = await signIn(server.url, { email, password })
    const exported = () => server.request('GET', '/auth/me/export', { token: again })
    await soon(async () => (await exported()).status === 200)
    const { url } = (await exported()).body as { url: string }
    const { pathname, search } = new URL(url)
    const archive = await fetch(server.url + pathname + search)
    const files = readZip(Buffer.from(await archive.arrayBuffer()))
    assert.equal(files.get('store/documents/notes.ndjson')!.toString().trim().split('\n').length, DOCUMENTS)
    assert.equal([...files.keys()].filter((name) => name.startsWith('store/files/')).length, FILES)
    assert.equal((await objects()).length, FILES + 1)
    await server.stop()

    assert.equal(await killAfter('DELETE', '/auth/me', { password }), 200)
    server = await open()
    await soon(async () => (await documentsOf(server, _id)) === 0)
    await soon(async () => (await objects()).length === 0)
  })
})
