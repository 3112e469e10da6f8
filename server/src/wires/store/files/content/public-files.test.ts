import assert from 'node:assert/strict'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../../testing/engines.ts'
import { contentPath, upload, type Uploaded } from './file-content.fixture.ts'

const PUBLIC_URL = 'https://api.example/v1'
const PUBLIC = /^https:\/\/api\.example\/v1(\/store\/files\/public\/[0-9a-f]{32}\.txt)$/
const SHOP = 'https://shop.example'

eachEngine((engine) => {
  let app: TestApp
  let token: string
  let other: string
  let folder: string
  const ending = endOfSuite()
  before(async () => {
    folder = await temporaryFolder(ending)
    app = await startApp(ending, engine, {
      environment: {
        DATA_DIR: folder,
        SIXWIRE_POLICY: 'guarded',
        PUBLIC_URL,
        APP_URL: SHOP,
        SIXWIRE_ORIGINS: SHOP,
      },
      config: { auth: { local: { requireEmailVerification: false } } },
    })
    token = (await app.register()).token
    other = (await app.register()).token
  })
  const publish = (bytes: string, name = 'a.txt', type = 'text/plain') =>
    upload(app, token, { bytes, name, type, access: 'public' })
  const pathOf = ({ url }: { url: string }) => url.slice(PUBLIC_URL.length)
  const change = ({ _id }: Uploaded, body: object, by: string | undefined = token) =>
    app.request('PATCH', `/store/files/${_id}`, { token: by, body })

  test('a public file is read without a token, and kept by caches for a year', async () => {
    const file = await publish('abcdefghij')
    assert.match(file.url, PUBLIC)
    const path = pathOf(file)
    const { status, text, headers } = await app.request('GET', path)
    assert.deepEqual([status, text], [200, 'abcdefghij'])
    const expected = {
      'cache-control': 'public, max-age=31536000, immutable',
      etag: `"${file.sha256}"`,
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '10',
      'content-disposition': 'inline; filename="a.txt"',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
    }
    assert.partialDeepStrictEqual(Object.fromEntries(headers), expected)
    assert.match(headers.get('content-security-policy')!, /^sandbox; default-src 'none';/)
    const head = await app.request('HEAD', path, { token })
    assert.partialDeepStrictEqual(Object.fromEntries(head.headers), expected)
    const part = await app.request('GET', path, { headers: { range: 'bytes=2-4' } })
    assert.deepEqual([part.status, part.text], [206, 'cde'])
    const current = await app.request('GET', path, { headers: { 'if-none-match': `"${file.sha256}"` } })
    assert.deepEqual([current.status, current.headers.get('cache-control')], [304, expected['cache-control']])
    // The ending is for readers, and a token that has ended does not matter.
    assert.equal((await app.request('GET', path.replace('.txt', ''), { token: 'x' })).text, 'abcdefghij')
  })

  test('pages of every origin may read it, and caches need one copy for all', async () => {
    const path = pathOf(await publish('a'))
    for (const origin of ['https://stranger.example', SHOP, undefined]) {
      const { headers } = await app.request('GET', path, { headers: origin === undefined ? {} : { origin } })
      assert.deepEqual(
        [headers.get('access-control-allow-origin'), headers.get('vary')],
        ['*', null],
        String(origin),
      )
      assert.match(headers.get('access-control-expose-headers')!, /\betag\b/)
    }
  })

  test('what could run in a browser is an attachment', async () => {
    const page = await publish('<script>alert(1)</script>', 'a.html', 'text/html')
    const { headers } = await app.request('GET', pathOf(page))
    assert.equal(headers.get('content-disposition'), 'attachment; filename="a.html"')
    const text = pathOf(await publish('a'))
    assert.match(
      (await app.request('GET', `${text}?download`)).headers.get('content-disposition')!,
      /^attachment/,
    )
  })

  test('it is private at once when it is made so, and its address is not used again', async () => {
    const file = await publish('taken back')
    const path = pathOf(file)
    const hidden = await change(file, { access: 'private' })
    assert.deepEqual(
      [hidden.status, hidden.body.access, pathOf(hidden.body)],
      [200, 'private', contentPath(file)],
    )
    const gone = await app.request('GET', path)
    assert.deepEqual([gone.status, gone.headers.get('cache-control')], [404, 'no-store'])
    assert.equal((await app.request('GET', contentPath(file))).status, 401)
    assert.equal((await app.request('GET', contentPath(file), { token })).text, 'taken back')

    const shown = await change(file, { access: 'public' })
    assert.match(shown.body.url, PUBLIC)
    assert.notEqual(pathOf(shown.body), path)
    assert.equal((await app.request('GET', pathOf(shown.body))).text, 'taken back')
    assert.equal((await app.request('GET', path)).status, 404)
    await app.request('DELETE', `/store/files/${file._id}`, { token })
    assert.equal((await app.request('GET', pathOf(shown.body))).status, 404)
  })

  test('only who may change a file makes it public, and what is not sent stays', async () => {
    const file = await upload(app, token, { bytes: 'mine', metadata: { album: 'a' } })
    const { body: stored } = await app.request('GET', `/store/files/${file._id}`, { token })
    assert.equal((await change(file, { access: 'public' }, '')).status, 401)
    assert.equal((await change(file, { access: 'public' }, other)).status, 404)
    for (const body of [{ access: 'all' }, { metadata: [] }])
      assert.equal((await change(file, body)).body.error.code, 'VALIDATION_ERROR')
    assert.deepEqual((await app.request('GET', `/store/files/${file._id}`, { token })).body, stored)

    assert.deepEqual((await change(file, { size: 1 })).body, stored)

    const described = await change(file, { metadata: { album: 'b', at: 1 } })
    assert.deepEqual(described.body, { ...stored, metadata: { album: 'b', at: 1 } })
    const { body: shown } = await change(file, { access: 'public' })
    assert.deepEqual(shown, { ...described.body, access: 'public', url: shown.url })
    // Said again, it changes nothing: the address stays.
    assert.deepEqual((await change(file, { access: 'public' })).body, shown)
  })

  test('a small one is in memory once it was read, and still private at once', async () => {
    const file = await publish('small')
    const large = await publish('x'.repeat(70_000))
    for (const one of [file, large]) {
      assert.equal((await app.request('GET', pathOf(one))).status, 200)
      await unlink(join(folder, 'uploads', one.filename.slice(-2), one.filename))
    }
    const { text, headers } = await app.request('GET', pathOf(file))
    assert.deepEqual([text, headers.get('content-length')], ['small', '5'])
    assert.equal((await app.request('GET', pathOf(large))).status, 500)
    await change(file, { access: 'private' })
    assert.equal((await app.request('GET', pathOf(file))).status, 404)
  })

  test('an address that nobody has got leads nowhere', async () => {
    const key = 'f'.repeat(32)
    const { status, body, headers } = await app.request('GET', `/store/files/public/${key}.jpg`)
    assert.deepEqual([status, body.error.code], [404, 'NOT_FOUND'])
    assert.deepEqual(
      [headers.get('cache-control'), headers.get('access-control-allow-origin')],
      ['no-store', '*'],
    )
  })
})
