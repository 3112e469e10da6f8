// What /openapi.json gives a client generator: models with names, and fields that are there when it says so.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../testing/app.ts'
import { endOfSuite, someEngine } from '../testing/engines.ts'
import { shop } from './openapi.fixture.ts'

type Schema = {
  $ref?: string
  type?: string
  required?: string[]
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
  [keyword: string]: unknown
}
type Media = { schema: Schema }
type Operation = {
  operationId: string
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { $ref?: string; content?: Record<string, Media> }>
}

const DATA = new Set(['default', 'enum', 'example', 'examples'])

/** Every schema for which a generator makes a type, and that has no name. */
function anonymousIn(node: unknown, where: string): string[] {
  if (typeof node !== 'object' || node === null) return []
  const { properties, anyOf, oneOf, allOf } = node as Schema
  const isModel = (properties && Object.keys(properties).length > 0) || anyOf || oneOf || allOf
  const inner = Object.entries(node).filter(([name]) => !DATA.has(name))
  return [
    ...(isModel ? [where] : []),
    ...inner.flatMap(([name, one]) => anonymousIn(one, `${where}/${name}`)),
  ]
}

const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })

someEngine((engine) => {
  describe('the models of /openapi.json', () => {
    let app: TestApp
    let schemas: Record<string, Schema>
    let responses: Record<string, { content: Record<string, Media> }>
    let paths: Record<string, Record<string, Operation>>
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, { config: { wires: [shop()] } })
      const { body } = await app.request('GET', '/openapi.json')
      ;({ paths } = body)
      ;({ schemas, responses } = body.components)
    })
    const operation = (key: string): Operation => {
      const [method = '', path = ''] = key.split(' ')
      return paths[path]![method.toLowerCase()]!
    }
    const bodyOf = (key: string) => operation(key).requestBody!.content['application/json']!.schema
    const answerOf = (key: string, status: number) =>
      operation(key).responses[status]!.content!['application/json']!.schema

    test('each has a name', () => {
      const fields = Object.entries(schemas).flatMap(([name, { properties = {}, ...keywords }]) =>
        Object.entries({ ...properties, ...keywords }).flatMap(([field, schema]) =>
          anonymousIn(schema, `${name}/${field}`),
        ),
      )
      assert.deepEqual([...anonymousIn(paths, ''), ...anonymousIn(responses, ''), ...fields], [])
    })

    test('those of Sixwire have names of their own, not of their routes', () => {
      const ids = app.app.routes
        .filter(({ wire }) => wire !== 'shop')
        .flatMap(({ routes }) => routes)
        .map(
          ({ method, path }) => paths[path.replaceAll(/:(\w+)/g, '{$1}')]![method.toLowerCase()]!.operationId,
        )
      const prefixes = ids.map((id) => id.charAt(0).toUpperCase() + id.slice(1))
      const derived = Object.keys(schemas).filter((name) =>
        prefixes.some((prefix) => new RegExp(`^${prefix}(Request|Reply)`).test(name)),
      )
      // The file is not part of the schema that the route declares.
      assert.deepEqual(derived, [
        'AuthUsersImportRequest',
        'PostStoreByCollectionImportRequest',
        'PostStoreByCollectionRequest',
        'PostStoreUploadLinksByIdRequest',
        'StoreFilesRequest',
        'StoreUploadRequest',
      ])
    })

    test('one without a title is named by its place', () => {
      assert.deepEqual(bodyOf('PUT /shop/orders'), refTo('PutShopOrdersRequest'))
      const { address, lines } = schemas['PutShopOrdersRequest']!.properties!
      assert.deepEqual(address, refTo('PutShopOrdersRequestAddress'))
      assert.deepEqual(lines!.items, refTo('PutShopOrdersRequestLinesItem'))
      assert.deepEqual(answerOf('PUT /shop/orders', 200), refTo('PutShopOrdersReply'))
      assert.deepEqual(answerOf('PUT /shop/orders', 202), refTo('PutShopOrdersReply202'))
    })

    test('a field with a default may be left out of a request, and is always in an answer', () => {
      assert.deepEqual(schemas['PutShopOrdersRequest']!.required, ['address', 'lines'])
      assert.deepEqual(schemas['PutShopOrdersRequestLinesItem']!.required, ['part'])
      const { pick } = schemas['PutShopOrdersRequest']!.properties!
      assert.deepEqual(pick, refTo('PickingInput'))
      assert.equal(schemas['PickingInput']!.required, undefined)
      assert.deepEqual(schemas['Picking']!.required, ['fragile', 'floor'])
      assert.equal(schemas['CreateFileLinkRequest']!.required, undefined)
    })

    test('as the server takes and answers it', async () => {
      const body = { address: { city: 'Bonn' }, lines: [{ part: 'lid' }], pick: {} }
      const answered = await app.request('PUT', '/shop/orders', { body })
      assert.deepEqual(answered.body.picking, { fragile: false, floor: 0 })
    })

    test('a value that may be null has two types', () => {
      const { later } = schemas['PutShopOrdersReply202']!.properties!
      assert.deepEqual(later, { type: ['string', 'null'] })
    })

    test('a list has its page, and what explains it is another route', () => {
      assert.deepEqual(answerOf('GET /store/{collection}', 200), refTo('DocumentPage'))
      const { required, properties } = schemas['DocumentPage']!
      assert.deepEqual(required, ['data', 'limit', 'offset'])
      assert.deepEqual(properties!['data'], { type: 'array', items: refTo('AnsweredDocument') })
      assert.deepEqual(answerOf('GET /store/{collection}/explain', 200), refTo('Explanation'))
    })

    test('an error is one flat model for each set of codes, with message and details', () => {
      assert.deepEqual(operation('GET /auth/me').responses['403'], {
        $ref: '#/components/responses/EmailNotVerifiedOrForbiddenOrSecondFactorMissingResponse',
      })
      const { schema } =
        responses['EmailNotVerifiedOrForbiddenOrSecondFactorMissingResponse']!.content['application/json']!
      assert.deepEqual(schema, refTo('EmailNotVerifiedOrForbiddenOrSecondFactorMissingResponse'))
      assert.deepEqual(schemas['EmailNotVerifiedOrForbiddenOrSecondFactorMissingResponse'], {
        type: 'object',
        required: ['error'],
        properties: { error: refTo('EmailNotVerifiedOrForbiddenOrSecondFactorMissingError') },
      })
      const { required, properties } = schemas['EmailNotVerifiedOrForbiddenOrSecondFactorMissingError']!
      assert.deepEqual(required, ['code', 'message'])
      assert.deepEqual(Object.keys(properties!), ['code', 'message', 'details'])
      assert.deepEqual(properties!['code']!['enum'], [
        'EMAIL_NOT_VERIFIED',
        'FORBIDDEN',
        'SECOND_FACTOR_MISSING',
      ])
      assert.equal(properties!['details']!['additionalProperties'], true)
      assert.doesNotMatch(JSON.stringify({ schemas, responses, paths }), /"allOf"/)
    })

    test('the details of an invalid request have its issues', () => {
      assert.deepEqual(schemas['ValidationError']!.properties!['details'], refTo('ValidationDetails'))
      const { issues } = schemas['ValidationDetails']!.properties!
      assert.deepEqual(issues!.items, refTo('ValidationIssue'))
    })

    test('a status that is an answer and a failure is named after both', () => {
      assert.deepEqual(answerOf('GET /health', 503), refTo('HealthOrUnavailableResponse'))
      assert.deepEqual(schemas['HealthOrUnavailableResponse'], {
        anyOf: [refTo('Health'), refTo('UnavailableResponse')],
      })
    })

    test('the example of a model is made of those of its fields', () => {
      assert.deepEqual(schemas['LoginRequest']!['examples'], [
        { email: 'ada@example.com', password: 'correct horse battery' },
      ])
    })
  })
})
