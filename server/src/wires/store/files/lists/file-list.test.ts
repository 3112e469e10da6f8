import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../testing/engines.ts'
import { upload, type TestFile } from '../files.fixture.ts'

const FILES: TestFile[] = [
  { name: 'b.txt', bytes: 'bb' },
  { name: 'ä.txt', bytes: 'a' },
  { name: 'B.txt', bytes: 'bb' },
  { name: 'a.png', bytes: new Uint8Array(Buffer.from('89504e470d0a1a0a0000000d4948445200', 'hex')) },
  { name: 'a.json', bytes: '{}', type: 'application/json' },
  { name: 'a.gif', bytes: 'GIF89a\u0001\u0000', type: '' },
  { name: 'b.txt', bytes: '' },
  { name: '%_.txt', bytes: 'bb', type: 'text/markdown' },
]

eachEngine((engine) => {
  describe('the list of files', () => {
    let app: TestApp
    let token: string
    let owner: string
    let admin: string
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, { environment: { SIXWIRE_POLICY: 'guarded' } })
      admin = (await app.register()).token
      ;({ token, _id: owner } = await app.register())
      for (const file of FILES) {
        app.clock.advance(5)
        assert.equal((await upload(app, token, file)).status, 201)
      }
      await upload(app, admin, { name: 'b.txt' })
    })

    const list = async (query: string, as = token) => {
      const answered = await app.request('GET', `/store/files?${query}`, { token: as })
      assert.equal(answered.status, 200, answered.text)
      return answered.body
    }
    const names = async (query: string): Promise<string> => {
      const { files } = await list(query)
      return files.map(({ originalName }: { originalName: string }) => originalName).join(' ')
    }

    test('has the caller’s own files, newest first, and all for an administrator', async () => {
      const { files, ...rest } = await list('')
      assert.deepEqual(rest, { total: 8, limit: 20, offset: 0 })
      assert.equal(
        await names(''),
        FILES.map(({ name }) => name)
          .toReversed()
          .join(' '),
      )
      const { body } = await app.request('GET', `/store/files/${files[0]._id}`, { token })
      assert.deepEqual(files[0], body)
      const { total, limit } = await list('limit=5000', admin)
      assert.deepEqual([total, limit], [9, 1000])
      assert.equal((await app.request('GET', '/store/files')).status, 401)
    })

    test('is sorted, with the id as the tie-breaker', async () => {
      for (const [sort, expected] of [
        ['createdAt', 'b.txt ä.txt B.txt a.png a.json a.gif b.txt %_.txt'],
        ['originalName', '%_.txt B.txt a.gif a.json a.png b.txt b.txt ä.txt'],
        ['size', 'b.txt ä.txt b.txt B.txt a.json %_.txt a.gif a.png'],
        ['contentType', 'a.json a.gif a.png %_.txt b.txt ä.txt B.txt b.txt'],
      ] as const) {
        assert.equal(await names(`sort=${sort}`), expected)
        assert.equal(await names(`sort=-${sort}`), expected.split(' ').toReversed().join(' '))
      }
    })

    test('is filtered by a part of the name, and by owner for operators', async () => {
      for (const [query, expected] of [
        ['q=.TXT', '%_.txt b.txt B.txt ä.txt b.txt'],
        ['q=b.t', 'b.txt B.txt b.txt'],
        [`q=${encodeURIComponent('Ä')}`, ''],
        [`q=${encodeURIComponent('ä')}`, 'ä.txt'],
        ['q=%25_', '%_.txt'],
        ['q=a.&contentType=image/*', 'a.gif a.png'],
      ] as const) {
        assert.equal(await names(query), expected, query)
        assert.equal((await list(`${query}&limit=1`)).total, expected.split(' ').filter(Boolean).length)
      }
      const mine = await list(`owner=${owner}&q=b.txt&limit=1`, admin)
      assert.deepEqual([mine.total, mine.files.length], [3, 1])
      assert.equal((await list(`owner=${owner}`, admin)).total, 8)
      assert.deepEqual([mine.files[0].owner, (await list('limit=1')).files[0].owner], [owner, undefined])
      const uncounted = await list(`total=none&q=b.txt&limit=1`, admin)
      assert.deepEqual([uncounted.total, uncounted.files.length], [undefined, 1])
      const next = await list(`total=none&q=b.txt&limit=1&cursor=${uncounted.nextCursor}`, admin)
      assert.notEqual(next.files[0]._id, uncounted.files[0]._id)
      const { status } = await app.request('GET', `/store/files?owner=${owner}`, { token })
      assert.equal(status, 403)
    })

    test('is filtered by type and name', async () => {
      for (const [query, expected] of [
        ['contentType=image/*', 'a.gif a.png'],
        ['contentType=IMAGE/PNG', 'a.png'],
        ['contentType=text/*', '%_.txt b.txt B.txt ä.txt b.txt'],
        ['contentType=text/pl', ''],
        ['contentType=tex/*', ''],
        ['name=b.txt', 'b.txt b.txt'],
        ['name=%25_.txt', '%_.txt'],
        ['name=%25', ''],
        [`name=${encodeURIComponent('ä.txt')}&contentType=text/plain`, 'ä.txt'],
        ['name=b.txt&contentType=image/*', ''],
      ] as const) {
        assert.equal(await names(query), expected, query)
        assert.equal((await list(`${query}&limit=1`)).total, expected.split(' ').filter(Boolean).length)
      }
    })

    test('is read page by page, by offset and by cursor, in every order', async () => {
      for (const sort of ['createdAt', '-createdAt', 'originalName', '-size', 'contentType', '-contentType'])
        for (const filter of ['', '&contentType=text/*']) {
          const expected = await list(`sort=${sort}${filter}`)
          const byCursor = []
          const byOffset = []
          let page = await list(`sort=${sort}${filter}&limit=3`)
          for (;;) {
            byCursor.push(...page.files)
            byOffset.push(...(await list(`sort=${sort}${filter}&limit=3&offset=${byOffset.length}`)).files)
            assert.equal(page.total, expected.total)
            if (page.nextCursor === undefined) break
            page = await list(`sort=${sort}${filter}&limit=3&cursor=${page.nextCursor}`)
          }
          assert.deepEqual(byCursor, expected.files)
          assert.deepEqual(byOffset, expected.files)
        }
    })

    test('refuses what it does not know, and cursors of other lists', async () => {
      const { nextCursor } = await list('limit=1&sort=size')
      const forged = (...content: unknown[]): string =>
        Buffer.from(
          JSON.stringify([JSON.parse(Buffer.from(nextCursor, 'base64url').toString())[0], ...content]),
        ).toString('base64url')
      for (const [query, path] of [
        ['sort=name', 'sort'],
        ['sort=', 'sort'],
        ['sort=size,createdAt', 'sort'],
        ['contentType=image', 'contentType'],
        ['contentType=*/*', 'contentType'],
        ['contentType=image/p*', 'contentType'],
        [`name=${'x'.repeat(256)}`, 'name'],
        ['q=', 'q'],
        ['owner=x.y', 'owner'],
        ['limit=0', 'limit'],
        ['offset=-1', 'offset'],
        ['cursor=x', 'cursor'],
        [`cursor=${nextCursor}`, 'cursor'],
        [`sort=size&name=a&cursor=${nextCursor}`, 'cursor'],
        [`sort=size&offset=1&cursor=${nextCursor}`, 'cursor'],
        [`sort=size&cursor=${forged('1', '01arz3ndektsv4rrffq69g5fav', null)}`, 'cursor'],
        [`sort=size&cursor=${forged(1, 'x', null)}`, 'cursor'],
        [`sort=size&cursor=${forged(1e300, '01arz3ndektsv4rrffq69g5fav', null)}`, 'cursor'],
        [`sort=size&cursor=${forged(1, '01arz3ndektsv4rrffq69g5fav', -1)}`, 'cursor'],
      ] as const) {
        const { status, body, text } = await app.request('GET', `/store/files?${query}`, { token })
        assert.equal(status, 400, `${query}: ${text}`)
        assert.equal(body.error.details.issues[0].path, `/query/${path}`, text)
      }
    })
  })
})
