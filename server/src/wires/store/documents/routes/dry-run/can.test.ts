import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { registerAs } from '../../../../../testing/administration.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'

const DEFINITION = {
  read: ['owner', { published: true }],
  create: 'user',
  update: { before: { locked: { $ne: true } }, after: 'owner' },
  delete: 'admin',
  readOnly: ['votes'],
  schema: { type: 'object', properties: { title: { type: 'string' } } },
}

eachEngine((engine) => {
  describe('POST /store/collections/:name/can', () => {
    const ending = endOfSuite()
    let app: TestApp
    let admin: string
    let ann: { _id: string; email: string; token: string }
    let bob: { _id: string; email: string; token: string }
    let hidden: string
    before(async () => {
      app = await startApp(ending, engine)
      admin = (await registerAs(app, 'admin')).token
      ann = await app.register()
      bob = await app.register()
      await app.request('PUT', '/store/collections/posts', { token: admin, body: DEFINITION })
      const body = { title: 'Momo', locked: true }
      hidden = (await app.request('POST', '/store/posts', { token: ann.token, body })).body._id
    })
    const can = async (body: object) => {
      const answer = await app.request('POST', '/store/collections/posts/can', { token: admin, body })
      assert.equal(answer.status, 200, answer.text)
      return answer.body
    }

    test('answers yes with the alternative of the rule that lets in', async () => {
      const read = { action: 'read', id: hidden }
      assert.deepEqual(await can({ ...read, user: ann.email }), {
        allowed: true,
        because: 'The document belongs to the account.',
        rule: 'owner',
      })
      const { body } = await app.request('POST', '/store/posts', {
        token: ann.token,
        body: { published: true },
      })
      assert.deepEqual(await can({ action: 'read', id: body._id, user: bob._id }), {
        allowed: true,
        because: 'The rule holds for the document.',
        rule: { published: true },
      })
      assert.equal(
        (await can({ action: 'read', id: body._id })).allowed,
        true,
        'a stranger reads what is published',
      )
      assert.equal(
        (await can({ ...read, user: 'key' })).because,
        (await can({ ...read, action: 'delete', user: 'key' })).because,
      )
      assert.deepEqual((await can({ action: 'read', user: null })).rule, DEFINITION.read, 'of a list')
    })

    test('answers no with the rule or the fields that refuse', async () => {
      assert.deepEqual(await can({ action: 'read', id: hidden, user: bob.email }), {
        allowed: false,
        because: 'The rule of reading does not hold for this document: to this caller it is not there.',
        rule: DEFINITION.read,
        step: 'readable',
        status: 404,
        code: 'NOT_FOUND',
      })
      const update = await can({ action: 'update', id: hidden, user: ann.email, document: { title: 'New' } })
      assert.deepEqual(
        [update.allowed, update.step, update.rule],
        [false, 'before', DEFINITION.update.before],
      )
      assert.deepEqual(
        [
          (await can({ action: 'delete', id: hidden, user: ann.email })).step,
          (await can({ action: 'create', user: null })).status,
        ],
        ['audience', 401],
      )
      const create = await can({ action: 'create', user: ann.email, document: { title: 7 } })
      assert.deepEqual(
        [create.step, create.issues],
        ['schema', [{ path: '/body/title', message: 'must be string' }]],
      )
      assert.equal(
        (await can({ action: 'read', id: 'nowhere', user: ann.email })).because,
        'There is no document with this _id.',
      )
    })

    test('writes nothing, and is for operators who name an account that there is', async () => {
      const ask = (body: unknown, token: string | undefined) =>
        app.request('POST', '/store/collections/posts/can', { token, body })
      assert.equal((await ask({ action: 'read' }, ann.token)).status, 403)
      assert.equal((await ask({ action: 'read' }, (await registerAs(app, 'viewer')).token)).status, 200)
      assert.equal((await ask({ action: 'read', user: 'zoe@example.com' }, admin)).status, 404)
      assert.equal((await ask({ action: 'delete' }, admin)).body.error.details.issues[0].path, '/body/id')
      const all = await app.request('GET', '/store/posts', { token: admin })
      assert.equal((await can({ action: 'create', user: ann.email, document: { title: 'x' } })).allowed, true)
      assert.deepEqual((await app.request('GET', '/store/posts', { token: admin })).body, all.body)
    })
  })
})
