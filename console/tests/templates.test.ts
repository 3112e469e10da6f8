// The templates of collections, on a real server: each is taken with its documents, and its rules let nobody in by mistake.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  loadTemplate,
  makeTemplate,
  TEMPLATES,
  withPrefix,
} from '../src/screens/data/definition/templates.ts'
import { registerAs } from '../../server/src/testing/administration.ts'
import { startApp, type TestAnswer } from '../../server/src/testing/app.ts'
import { eachEngine } from '../../server/src/testing/engines.ts'

eachEngine((engine) => {
  test('each template is taken with five documents in each collection, and guards them', async (t) => {
    const app = await startApp(t, engine)
    const { token, _id: me } = await registerAs(app, 'admin')
    const { token: other } = await registerAs(app, 'user')
    const ok = (answer: TestAnswer, status: number, what: string): TestAnswer['body'] => {
      assert.equal(answer.status, status, `${what}: ${answer.text}`)
      return answer.body
    }
    const made: [name: string, id: string][] = []
    assert.equal(Object.keys(TEMPLATES).length, 12)
    for (const name of Object.keys(TEMPLATES)) {
      const template = await loadTemplate(name)
      await makeTemplate(
        template,
        {
          me,
          define: async (definitions) => {
            const body = { definitions: definitions.map((one) => ({ ...one, version: 0 })) }
            return ok(await app.request('PUT', '/store/collections', { token, body }), 200, name)
          },
          create: async (collection, body) => {
            const { data } = ok(
              await app.request('POST', `/store/${collection}`, { token, body }),
              201,
              collection,
            )
            assert.equal(data.length, 5, collection)
            made.push([collection, data[0]._id])
            return data.map(({ _id }: { _id: string }) => _id)
          },
        },
        { prefix: '', withDocuments: true },
      )
      // Names that lead elsewhere would be refused.
      const { collections } = withPrefix(template, 'my_')
      for (const { definition } of collections)
        for (const { to } of Object.values((definition['relations'] ?? {}) as Record<string, { to: string }>))
          assert.ok(
            collections.some((one) => one.name === to),
            `${name}: ${to}`,
          )
    }
    const again = { token, body: {}, headers: { 'if-match': '"0"' } }
    assert.equal(
      (await app.request('PUT', '/store/collections/notes', again)).status,
      412,
      'one that is there stays',
    )
    for (const [collection, id] of made) {
      ok(
        await app.request('POST', `/store/${collection}`, { body: {} }),
        401,
        `a stranger creates in ${collection}`,
      )
      for (const [method, as] of [
        ['PATCH', undefined],
        ['DELETE', undefined],
        ['PATCH', other],
        ['DELETE', other],
      ] as const) {
        const body = method === 'PATCH' ? { body: {} } : {}
        const { status } = await app.request(method, `/store/${collection}/${id}`, { token: as, ...body })
        assert.ok(
          [401, 403, 404].includes(status),
          `${method} ${collection} by ${as ? 'another' : 'a stranger'}: ${status}`,
        )
      }
    }
  })
})
