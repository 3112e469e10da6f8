import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { endOfSuite, someEngine, temporaryFolder } from '../../../../testing/engines.ts'
import { until } from '../../../../testing/until.ts'
import { storedObjects, upload } from '../files.fixture.ts'

const MINUTE_MS = 60_000
const UNKNOWN_ID = '01arz3ndektsv4rrffq69g5fav'

someEngine((engine) => {
  describe('many files', () => {
    const ending = endOfSuite()
    let folder: string
    let app: TestApp
    let [admin, ann, bob]: { _id: string; token: string; email: string }[] = []
    const ids: string[] = []
    before(async () => {
      folder = await temporaryFolder(ending)
      app = await startApp(ending, engine, { environment: { DATA_DIR: folder } })
      ;[admin, ann, bob] = [await app.register(), await app.register(), await app.register()]
      for (const [who, name, bytes] of [
        [ann, 'a.txt', '1'],
        [ann, 'B.txt', '22'],
        [bob, 'c.json', '333'],
        [bob, 'd.json', '4444'],
        [bob, 'e.json', '55555'],
      ] as const) {
        const type = name.endsWith('json') ? 'application/json' : 'text/plain'
        const { status, text, body } = await upload(app, who.token, { name, bytes, type })
        assert.equal(status, 201, text)
        ids.push(body._id)
      }
    })
    const bulk = (body: object, token = admin!.token) =>
      app.request('POST', '/store/files/bulk', { token, body: { action: 'delete', ...body } })
    const usage = async (query = '') =>
      (await app.request('GET', `/store/files/usage${query}`, { token: admin!.token })).body
    const total = async () => (await app.request('GET', '/store/files', { token: admin!.token })).body.total
    const lastEntry = () =>
      app.app.db.get(sql`select * from sixwire_audit where action like 'files.%' order by id desc limit 1`)

    test('take so much, in all and of each owner', async () => {
      const owners = [
        { owner: bob!._id, files: 3, bytes: 12 },
        { owner: ann!._id, files: 2, bytes: 3 },
      ]
      assert.deepEqual(await usage(), { files: 5, bytes: 15, owners })
      assert.deepEqual(await usage('?limit=1'), { files: 5, bytes: 15, owners: owners.slice(0, 1) })
      assert.deepEqual((await usage(`?owner=${ann!._id}`)).owners, owners.slice(1))
      assert.deepEqual((await usage(`?owner=${UNKNOWN_ID}`)).owners, [])
    })

    test('are for operators', async () => {
      const selection = { filter: { owner: ann!._id }, dryRun: true }
      assert.equal((await bulk(selection, ann!.token)).status, 403)
      assert.equal((await app.request('GET', '/store/files/usage', { token: ann!.token })).status, 403)
    })

    test('are counted by a dry run, and stay', async () => {
      for (const [selection, files, bytes] of [
        [{ filter: {} }, 5, 15],
        [{ filter: { owner: bob!._id } }, 3, 12],
        [{ filter: { q: 'b' } }, 1, 2],
        [{ filter: { contentType: 'application/*', q: '.JSON' } }, 3, 12],
        [{ ids: [ids[0], ids[4], UNKNOWN_ID] }, 2, 6],
      ] as const)
        assert.deepEqual((await bulk({ ...selection, dryRun: true })).body, { dryRun: true, files, bytes })
      assert.equal(await total(), 5)
    })

    test('are deleted if there are so many, with an entry in the audit log', async () => {
      const wrong = await bulk({ filter: { owner: bob!._id }, expected: 2 })
      assert.deepEqual([wrong.status, wrong.body.error.details.files], [409, 3], wrong.text)
      assert.equal(await total(), 5)
      assert.equal(await lastEntry(), undefined)

      const filter = { owner: bob!._id, contentType: 'application/json' }
      const { status, body, text } = await bulk({ filter, expected: 3 })
      assert.deepEqual([status, body], [200, { dryRun: false, files: 3, bytes: 12 }], text)
      assert.deepEqual(await usage(), {
        files: 2,
        bytes: 3,
        owners: [{ owner: ann!._id, files: 2, bytes: 3 }],
      })
      assert.equal((await app.request('GET', `/store/files/${ids[4]}`, { token: admin!.token })).status, 404)
      await until(async () => (await storedObjects(folder)).length === 2)
      const entry = (await lastEntry())!
      assert.deepEqual(
        [entry['action'], entry['actor_id'], JSON.parse(String(entry['old_value']))],
        ['files.deleted', admin!._id, { files: 3, bytes: 12, filter }],
      )

      assert.equal((await bulk({ ids: [ids[0], ids[0]], expected: 2 })).status, 409)
      assert.equal((await bulk({ ids: [ids[0]], expected: 1 })).status, 200)
      assert.equal(await total(), 1)
      assert.equal((await bulk({ ids: [ids[0]], expected: 0 })).status, 200)
    })

    test('are not deleted by a call that leaves open which, or how many', async () => {
      for (const [body, path] of [
        [{ filter: { owner: ann!._id } }, '/body/expected'],
        [{ expected: 1 }, '/body'],
        [{ ids, filter: {}, expected: 1 }, '/body'],
        [{ filter: { onwer: ann!._id }, expected: 1 }, '/body/filter/onwer'],
        [{ filter: { owner: 'of ann' }, expected: 1 }, '/body/filter/owner'],
      ] as const) {
        const answered = await bulk(body)
        assert.deepEqual(
          [answered.status, answered.body.error.details?.issues[0].path],
          [400, path],
          answered.text,
        )
      }
      assert.equal(await total(), 1)
    })

    test('need a recent sign-in to be deleted, not to be counted', async () => {
      app.clock.advance(11 * MINUTE_MS)
      const filter = { owner: ann!._id }
      assert.equal((await bulk({ filter, dryRun: true })).body.files, 1)
      const refused = await bulk({ filter, expected: 1 })
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'RECENT_SIGN_IN_REQUIRED'])
      assert.equal(await total(), 1)
    })
  })
})
