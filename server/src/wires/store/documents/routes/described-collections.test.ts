import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'

import { Type } from '../../../../base/schema.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { resolved } from '../../../../testing/description.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'

const config = {
  store: {
    collections: {
      projects: {
        schema: Type.Object({
          title: Type.String({ minLength: 1 }),
          price: Type.Optional(Type.Integer({ minimum: 0, default: 5 })),
        }),
      },
      // As it is written without TypeBox: with titles for people, references, and one to itself.
      'work-items': {
        read: 'public',
        schema: {
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          $id: 'https://shop.example/work-item',
          title: 'A piece of work',
          type: 'object',
          properties: {
            part: { $ref: '#/$defs/part' },
            title: { title: 'What to do', type: 'string' },
            kind: { anyOf: [{ type: 'object', properties: { code: { type: 'string' } } }, { type: 'null' }] },
          },
          required: ['part'],
          additionalProperties: false,
          $defs: {
            part: {
              type: 'object',
              properties: {
                name: { type: 'string' },
                parts: { type: 'array', items: { $ref: '#/$defs/part' } },
              },
            },
          },
        },
      },
      // Models of this name exist: Documents, DocumentPage.
      document: { schema: { properties: { text: { type: 'string' } } } },
      priced: {
        hidden: ['cost', 'supplier.iban'],
        schema: Type.Object({
          cost: Type.Integer(),
          supplier: Type.Object({ name: Type.String(), iban: Type.String() }),
        }),
      },
      notes: 'owner',
    },
  },
} as const

type Operation = { operationId: string; parameters: { name: string }[]; responses: Record<string, unknown> }
type Published = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Record<string, unknown>> }
}

someEngine((engine) => {
  describe('the collections with a schema in /openapi.json', () => {
    let app: TestApp
    let published: Published
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, { config })
      published = (await app.request('GET', '/openapi.json')).body
    })
    const properties = (name: string) =>
      Object.keys(published.components.schemas[name]!['properties'] as Record<string, object>)

    test('have routes of their own in a description that is valid', async () => {
      const { valid, errors } = await new Validator().validate(structuredClone(published))
      assert.ok(valid, JSON.stringify(errors, undefined, 1))
      const own = Object.entries(published.paths).filter(([path]) =>
        /^\/store\/(projects|work-items|document|notes)\b/.test(path),
      )
      assert.deepEqual(
        own.map(([path, methods]) => `${path} ${Object.keys(methods).join()}`),
        [
          '/store/projects post,put,patch,get',
          '/store/projects/{id} get,put,patch,delete',
          '/store/work-items post,put,patch,get',
          '/store/work-items/{id} get,put,patch,delete',
          '/store/document post,put,patch,get',
          '/store/document/{id} get,put,patch,delete',
        ],
      )
      const ids = Object.values(published.paths).flatMap((methods) =>
        Object.values(methods).map((one) => one.operationId),
      )
      assert.equal(new Set(ids).size, ids.length)
    })

    test('are as the routes of any collection, but for the parameter and the models', () => {
      for (const [generic, own] of [
        ['/store/{collection}', '/store/projects'],
        ['/store/{collection}/{id}', '/store/projects/{id}'],
      ] as const)
        for (const [method, one] of Object.entries(published.paths[generic]!)) {
          const found = published.paths[own]![method]
          if (!found) {
            assert.deepEqual([generic, method], ['/store/{collection}', 'delete'])
            continue
          }
          const names = (of: Operation) => of.parameters.map(({ name }) => name)
          assert.deepEqual(
            names(found),
            names(one).filter((name) => name !== 'collection'),
          )
          assert.deepEqual(Object.keys(found.responses), Object.keys(one.responses))
          for (const part of ['security', 'tags', 'description'] as const)
            assert.deepEqual((found as never)[part], (one as never)[part])
        }
      assert.match(JSON.stringify(published.paths['/store/projects/{id}']!['get']), /schemas\/Projects"/)
      assert.match(JSON.stringify(published.paths['/store/projects']!['get']), /schemas\/ProjectsPage"/)
      assert.match(JSON.stringify(published.paths['/store/projects']!['post']), /schemas\/ProjectsToCreate"/)
      // The body of a patch is operators, or any of the fields.
      const { patch: _, ...described } = published.paths['/store/projects']!
      assert.doesNotMatch(JSON.stringify(described), /schemas\/Document/)
    })

    test('have models: what is stored, what is sent, and what is changed', () => {
      const { schemas } = published.components
      assert.deepEqual(properties('Projects'), ['_id', 'title', 'price', 'createdAt', 'updatedAt'])
      assert.deepEqual(schemas['Projects']!['required'], ['_id', 'title', 'createdAt', 'updatedAt'])
      assert.deepEqual(schemas['ProjectsFields'], {
        type: 'object',
        required: ['title'],
        properties: { title: { type: 'string', minLength: 1 }, price: { type: 'integer', minimum: 0 } },
      })
      assert.equal(schemas['ProjectsChanges']!['required'], undefined)
      assert.deepEqual(properties('WorkItems'), ['_id', 'part', 'title', 'kind', 'createdAt', 'updatedAt'])
      assert.deepEqual(properties('WorkItemsPart'), ['name', 'parts'])
      assert.deepEqual(properties('Document2'), ['_id', 'text', 'createdAt', 'updatedAt'])
      assert.deepEqual(properties('Document'), ['_id', 'createdAt', 'updatedAt'])
      // What not everybody sees may be missing.
      assert.deepEqual(schemas['Priced']!['required'], ['_id', 'supplier', 'createdAt', 'updatedAt'])
      assert.deepEqual(schemas['PricedSupplier']!['required'], ['name'])
      assert.deepEqual(schemas['PricedFields']!['required'], ['cost', 'supplier'])
    })

    test('are answered as they are described', async () => {
      const { token } = await app.register()
      const paths = resolved(published).paths as unknown as Record<string, Record<string, never>>
      const ajv = new Ajv({ strict: false, validateFormats: false })
      const assertFits = (
        path: string,
        method: string,
        { status, body }: { status: number; body: unknown },
      ) => {
        const { responses } = paths[path]![method]! as {
          responses: Record<number, { content: Record<string, { schema: object }> }>
        }
        assert.ok(status < 300, JSON.stringify(body))
        const { schema } = responses[status]!.content['application/json']!
        assert.ok(ajv.validate(schema, body), `${method} ${path}: ${ajv.errorsText()}`)
      }
      const body = { title: 'A house', price: 3 }
      const created = await app.request('POST', '/store/projects', { token, body })
      const one = `/store/projects/${created.body._id}`
      assertFits('/store/projects', 'post', created)
      assertFits(
        '/store/projects',
        'post',
        await app.request('POST', '/store/projects', { token, body: [body, body] }),
      )
      assertFits('/store/projects', 'get', await app.request('GET', '/store/projects', { token }))
      assertFits('/store/projects/{id}', 'get', await app.request('GET', one, { token }))
      assertFits('/store/projects/{id}', 'put', await app.request('PUT', one, { token, body: { price: 4 } }))
      const item = { part: { name: 'roof', parts: [{ name: 'tile', parts: [] }] }, kind: null }
      const work = await app.request('POST', '/store/work-items', { token, body: item })
      assertFits('/store/work-items', 'post', work)
    })
  })
})
