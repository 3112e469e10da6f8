import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { contentPath, upload, type Uploaded } from '../content/file-content.fixture.ts'

someEngine((engine) => {
  let app: TestApp
  let token: string
  let file: Uploaded
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, {
      environment: { SIXWIRE_POLICY: 'guarded', PUBLIC_URL: 'https://api.example/v1' },
      config: { auth: { local: { requireEmailVerification: false } } },
    })
    token = (await app.register()).token
    file = await upload(app, token, { name: 'notes.txt', bytes: 'abcdefghij' })
  })
  const link = (body: object, { _id } = file) =>
    app.request('POST', `/store/files/${_id}/link`, { token, body })
  const queryOf = (url: string) => new URL(url).search
  const open = (query: string, of = file) => app.request('GET', contentPath(of, query))

  test('a link opens its file without a token, until it expires', async () => {
    const { status, body } = await link({ expiresIn: 60 })
    assert.equal(status, 200)
    const msLeft = Date.parse(body.expiresAt) - app.clock.now()
    assert.ok(msLeft > 50_000 && msLeft <= 60_000, body.expiresAt)
    assert.ok(body.url.startsWith(`https://api.example/v1${contentPath(file)}?token=`), body.url)
    const query = queryOf(body.url)
    const opened = await open(query)
    assert.deepEqual([opened.status, opened.text], [200, 'abcdefghij'])
    assert.match((await open(`${query}&download`)).headers.get('content-disposition')!, /^attachment/)
    // A page may send the token of its user as well.
    assert.equal((await app.request('GET', contentPath(file, query), { token })).status, 200)

    app.clock.advance(msLeft - 10_000)
    assert.equal((await open(query)).status, 200)
    app.clock.advance(10_001)
    const expired = await open(query)
    assert.equal(expired.status, 401)
    assert.match(expired.body.error.message, /expired/)
    assert.ok(!app.log().includes(query.slice('?token='.length)), 'the log has a token')
  })

  test('a link opens no other file, and a changed link opens none', async () => {
    const other = await upload(app, token, { bytes: 'other' })
    const query = queryOf((await link({})).body.url)
    assert.equal((await open(query)).status, 200)
    const [, expiry = '', mac = ''] = /^\?token=(\w+)\.(.+)$/.exec(query)!
    const later = (Number.parseInt(expiry, 36) + 1).toString(36)
    const forged = [
      `${later}.${mac}`,
      `${expiry}.${mac.slice(1)}A`,
      `${expiry}.`,
      expiry,
      '',
      '.',
      `0${expiry}.${mac}`,
    ]
    for (const one of forged) assert.equal((await open(`?token=${one}`)).status, 401, one)
    assert.equal((await open(query, other)).status, 401)
    assert.equal((await app.request('GET', `/store/files/${file._id}${query}`)).status, 401)
    assert.equal((await app.request('DELETE', `/store/files/${file._id}${query}`)).status, 401)
    assert.equal((await app.request('GET', contentPath(file, '?token='), { token })).status, 401)
  })

  test('a link opens nothing after its file is deleted', async () => {
    const deleted = await upload(app, token, { bytes: 'deleted' })
    const query = queryOf((await link({}, deleted)).body.url)
    assert.equal((await open(query, deleted)).status, 200)
    assert.equal((await app.request('DELETE', `/store/files/${deleted._id}`, { token })).status, 200)
    assert.equal((await open(query, deleted)).status, 404)
  })

  test('only users who may read a file create links to it, for up to 7 days', async () => {
    const other = (await app.register()).token
    const path = `/store/files/${file._id}/link`
    assert.equal((await app.request('POST', path, { token: other, body: {} })).status, 404)
    assert.equal((await app.request('POST', path, { body: {} })).status, 401)
    for (const expiresIn of [0, -1, 604_801, 1.5, '60']) assert.equal((await link({ expiresIn })).status, 400)
    assert.equal((await link({ expiresIn: 604_800 })).status, 200)
  })
})
