// What `/openapi.json` describes, as requests: sensible ones, and those that are not.
import fc from 'fast-check'

import { codesIn, resolved } from './description.ts'
import {
  hostileBytes,
  hostileForm,
  hostileHeader,
  hostileMultipart,
  hostileSegment,
  hostileText,
  hostileValue,
  spoiledJson,
  tampered,
  tamperedText,
} from './hostile.ts'

export type OpenapiSchema = {
  type?: string | string[]
  properties?: Record<string, OpenapiSchema>
  enum?: string[]
}

/** One route, as it is described. */
export type OpenapiOperation = {
  /** `POST /store/{collection}` */
  key: string
  method: string
  path: string
  parameters: { in: 'path' | 'query' | 'header'; name: string; required?: boolean; schema: OpenapiSchema }[]
  /** What its body is sent as; `application/json` also if it has none. */
  mediaType: string
  /** The schema of its body; undefined if it has none. */
  body: OpenapiSchema | undefined
  /** The codes that are described for each status; none for a success. */
  codes: Map<number, Set<string>>
}

/** A request before what is in `{{braces}}` is filled in: with what the server knows at the moment it is sent. */
export type Draft = {
  caller: string
  segments: Record<string, string>
  query: [name: string, value: string][]
  headers: Record<string, string>
  body: string | Buffer | undefined
}

const TEST_PASSWORD = 'correct horse battery'

// What some inputs have to look like to get past the first check; `{{…}}` is filled in when it is sent.
const SENSIBLE: Record<string, readonly string[]> = {
  collection: ['things', 'things', 'others'],
  limit: ['1', '20', '5000'],
  offset: ['0', '3'],
  sort: ['-createdAt', 'n', '-n,a.b', '_id'],
  filter: ['{}', '{"n":1}', '{"n":{"$gte":1},"$or":[{"a":null},{"a.b":{"$exists":true}}]}'],
  cursor: ['{{cursor}}'],
  documents: ['{{documents}}'],
  email: ['{{email}}', '{{newEmail}}'],
  phone: ['+4915112345678'],
  code: ['123456'],
  browser: ['a random text of this browser'],
  password: [TEST_PASSWORD],
  currentPassword: [TEST_PASSWORD],
  newPassword: ['another passphrase'],
  refreshToken: ['{{refreshToken}}'],
  'if-match': ['"1"', '*'],
  to: ['a@example.com', '+4915112345678'],
  cc: ['a@example.com'],
  bcc: ['a@example.com'],
  replyTo: ['a@example.com'],
  template: ['magic-link'],
  status: ['bounced'],
  channel: ['email'],
  provider: ['twilio', 'smtp', 'nobody'],
  authorization: ['Bearer the secret of the tests'],
  'idempotency-key': ['one', 'two', '{{newEmail}}'],
  currency: ['EUR'],
  description: ['Momo'],
  successUrl: ['https://shop.example/paid'],
  returnUrl: ['https://shop.example/paid'],
  cancelUrl: ['https://shop.example/cart'],
  orderId: ['{{orderId}}'],
  reference: ['{{orderId}}'],
  from: ['2026-01-01T00:00:00Z'],
  userId: ['{{userId}}'],
  owner: ['{{userId}}'],
  total: ['count', 'none'],
  preview: ['200'],
  minAmount: ['1'],
  maxAmount: ['1000'],
  expiresAt: [new Date(Date.now() + 3 * 3_600_000).toISOString()],
}
/** Of both ceremonies, by an authenticator that nobody knows. */
const UNKNOWN_PASSKEY = {
  id: 'AAAA',
  rawId: 'AAAA',
  type: 'public-key',
  response: {
    clientDataJSON: 'e30',
    attestationObject: 'AAAA',
    authenticatorData: 'AAAA',
    signature: 'AAAA',
  },
}
/** What inputs mean on the routes below a path, where they mean something else than elsewhere; the first path counts. */
const SENSIBLE_BELOW: readonly [path: string, values: Readonly<Record<string, unknown>>][] = [
  ['/auth/providers', { name: 'idpa' }],
  ['/auth/passkeys', { name: 'Laptop', passkey: UNKNOWN_PASSKEY }],
  ['/pay/transactions/{id}/cancel', { id: '{{paymentRequest}}' }],
  ['/pay/transactions', { provider: 'cardpay', status: 'completed', to: '2030-01-01T00:00:00Z' }],
  ['/store/files/public', { name: '{{publicName}}', range: 'bytes=0-1' }],
  [
    '/store/files',
    {
      id: '{{fileId}}',
      sort: '-size',
      contentType: 'text/*',
      name: 'a.txt',
      width: '10',
      range: 'bytes=0-1',
      expiresIn: 60,
    },
  ],
  ['/store/backup', { id: '{{backupId}}' }],
  // A number gets three texts an hour: those to sign in would use them up.
  ['/auth/phone', { phone: '+4915112345679' }],
  ['/pay/onchain/', { id: '{{paymentRequest}}', amount: '0.5', token: 'ETH', chain: 'ethereum' }],
  [
    '/onchain/contracts/',
    {
      address: '{{token20}}',
      abi: 'erc20',
      method: 'transfer',
      args: ['{{walletAddress}}', '0'],
      chain: 'ethereum',
      value: '0',
      walletId: '{{wallet}}',
    },
  ],
  [
    '/onchain/',
    {
      id: '{{wallet}}',
      name: 'Till',
      privateKey: '{{newKey}}',
      address: '{{walletAddress}}',
      token: '{{token20}}',
      to: '{{walletAddress}}',
      value: '0.000001',
      chain: 'ethereum',
      walletId: '{{wallet}}',
      hash: '{{hash}}',
      contractAddress: '{{nft}}',
      ownerAddress: '{{walletAddress}}',
      tokenId: '{{tokenId}}',
      tokenURI: 'data:application/json,{}',
      amount: '1',
    },
  ],
]

const sensibleBelow = ({ path }: OpenapiOperation): Readonly<Record<string, unknown>> =>
  SENSIBLE_BELOW.find(([prefix]) => path.startsWith(prefix))?.[1] ?? {}

const SENSIBLE_VALUES: Record<string, unknown> = {
  amount: 5,
  items: [{ name: 'Momo', amount: 500, currency: 'eur' }],
  data: { link: 'https://app.example/' },
  confirmed: true,
  scopes: ['store:read'],
  media: { url: 'https://app.example/a.png' },
}
const SENSIBLE_IDS: Record<string, string> = {
  store: '{{documentId}}',
  auth: '{{sessionId}}',
  pay: '{{cardpayTransaction}}',
}

/** The Authorization header of each caller. */
export const AUTHORIZATION: Record<string, string | undefined> = {
  user: 'Bearer {{token}}',
  key: 'Bearer {{key}}',
  nobody: undefined,
  forger: 'Bearer {{token}}x',
  confused: 'Basic {{token}}',
}

/** In how many places it takes something. */
export const inputsOf = ({ parameters, body }: OpenapiOperation): number =>
  parameters.length + Object.keys(body?.properties ?? {}).length + (body ? 1 : 0)

type Description = {
  parameters?: OpenapiOperation['parameters']
  requestBody?: { content: Record<string, { schema: OpenapiSchema }> }
  responses: Record<string, { content?: { 'application/json'?: { schema: OpenapiSchema } } }>
}

const JSON_TYPE = 'application/json'

// Reads the Authorization header itself, which OpenAPI describes by `security` and not as a parameter.
const BOUNCE = '/messaging/email/bounce'
const AUTHORIZATION_HEADER = {
  in: 'header',
  name: 'authorization',
  required: true,
  schema: { type: 'string' },
} as const

/** @param description the parsed `/openapi.json` */
export function readOperations(description: {
  paths: Record<string, Record<string, Description>>
}): OpenapiOperation[] {
  return Object.entries(resolved(description).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, responses }]) => {
      const [mediaType, media] = Object.entries(requestBody?.content ?? {})[0] ?? [JSON_TYPE]
      return {
        key: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters: path === BOUNCE ? [...parameters, AUTHORIZATION_HEADER] : parameters,
        mediaType,
        body: media?.schema,
        codes: new Map(
          Object.entries(responses).map(([status, { content }]) => [
            Number(status),
            new Set(codesIn(content?.[JSON_TYPE]?.schema)),
          ]),
        ),
      }
    }),
  )
}

/** Whether an operation takes a body, and takes it as JSON. */
export const takesJson = ({ mediaType, body }: OpenapiOperation): boolean =>
  mediaType === JSON_TYPE && body !== undefined

const sensibleId = ({ path }: OpenapiOperation): string =>
  SENSIBLE_IDS[path.split('/')[1]!] ?? '{{documentId}}'

/** A payment by the provider of a route: `{{walletpayTransaction}}`. */
const transactionOf = ({ path }: OpenapiOperation): string => `{{${path.split('/')[2]!}Transaction}}`

function sensible(name: string, operation: OpenapiOperation, schema: OpenapiSchema): fc.Arbitrary<unknown> {
  const below = sensibleBelow(operation)
  if (Object.hasOwn(below, name)) return fc.constant(below[name])
  if (name === 'id') return fc.constant(sensibleId(operation))
  if (name === 'transactionId') return fc.constant(transactionOf(operation))
  const known = SENSIBLE[name]
  if (known) return fc.constantFrom(...known)
  if (Object.hasOwn(SENSIBLE_VALUES, name)) return fc.constant(SENSIBLE_VALUES[name])
  if (schema.type === 'integer' || schema.type === 'number') return fc.nat(100)
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'array') return fc.constant([])
  return schema.type === 'object' ? fc.constant({}) : fc.string()
}

const mostly = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, weight = 4): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd })

const MULTIPART = 'multipart/form-data'

const contentTypeOf = ({ mediaType }: OpenapiOperation): string =>
  mediaType === MULTIPART ? `${MULTIPART}; boundary=b` : mediaType.replace('*/*', 'application/octet-stream')

/** A body of another kind than JSON; undefined if the operation takes JSON, or no body. */
function otherBodyOf(operation: OpenapiOperation): fc.Arbitrary<Buffer> | undefined {
  const { mediaType, body } = operation
  if (mediaType === JSON_TYPE) return undefined
  const properties = Object.entries(body?.properties ?? {})
  if (mediaType === MULTIPART)
    return hostileMultipart(
      Object.fromEntries(properties.map(([name, { type }]) => [name, type === 'object' ? '{}' : 'text'])),
    )
  return mediaType === 'application/x-www-form-urlencoded'
    ? hostileForm(properties.map(([name]) => name))
    : hostileBytes
}

/** Requests to a route, most of them with something in them that does not belong there. */
export function drafts(operation: OpenapiOperation): fc.Arbitrary<Draft> {
  const { parameters } = operation
  const text = ({ name, schema }: OpenapiOperation['parameters'][number]): fc.Arbitrary<string> =>
    sensible(name, operation, schema).map(String)
  const of = (place: string) => parameters.filter((parameter) => parameter.in === place)

  const segments = fc.record(
    Object.fromEntries(
      of('path').map((parameter) => [
        parameter.name,
        mostly(
          // What stands for an id of a test is encoded once it is known.
          text(parameter).map((value) => (value.startsWith('{{') ? value : encodeURIComponent(value))),
          hostileSegment.filter((segment) => segment !== 'health'),
          6,
        ),
      ]),
    ),
  )
  // Most are left out, so that those that are there are looked at.
  const times = fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2)
  const query = fc
    .tuple(
      ...of('query').map((parameter) => {
        const odd = fc.oneof(hostileText, tamperedText(text(parameter)), tamperedText(text(parameter)))
        return fc
          .tuple(times, mostly(text(parameter), odd, 1))
          .map(([count, value]) =>
            Array.from({ length: count }, (): [string, string] => [parameter.name, value]),
          )
      }),
      fc.array(fc.tuple(hostileText, hostileText), { maxLength: 1 }),
    )
    .map((groups) => groups.flat())
  const headers = fc.record(
    {
      ...Object.fromEntries(of('header').map((one) => [one.name, mostly(text(one), hostileHeader, 2)])),
      'idempotency-key': mostly(fc.constantFrom(...SENSIBLE['idempotency-key']!), hostileHeader),
      'x-request-id': mostly(fc.constant('abc-123'), hostileHeader),
      'content-type': mostly(fc.constant(contentTypeOf(operation)), hostileHeader, 9),
      accept: hostileHeader,
      'user-agent': hostileHeader,
      'x-forwarded-for': hostileHeader,
    },
    { requiredKeys: ['content-type'] },
  )
  const fields = Object.entries(operation.body?.properties ?? {})
  // The more fields there are, the more seldom one is odd: else hardly a body of many would get past the first check.
  const weight = Math.max(5, 2 * fields.length)
  const known = fc.record(
    Object.fromEntries(
      fields.map(([name, schema]) => [name, mostly(sensible(name, operation, schema), hostileValue, weight)]),
    ),
  )
  const json = fc
    .oneof({ weight: 2, arbitrary: known }, { weight: 1, arbitrary: tampered(known) })
    .map((value) => JSON.stringify(value))
  const body: fc.Arbitrary<string | Buffer> =
    otherBodyOf(operation) ??
    fc.oneof(
      { weight: 6, arbitrary: json },
      { weight: 2, arbitrary: spoiledJson(json) },
      { weight: 1, arbitrary: hostileValue.map((value) => JSON.stringify(value)) },
    )
  return fc.record({
    caller: mostly(
      fc.constantFrom('user', 'user', 'key'),
      fc.constantFrom('nobody', 'forger', 'confused'),
      5,
    ),
    segments,
    query,
    headers,
    body: operation.body
      ? fc.option(body, { freq: 20, nil: undefined })
      : fc.option(body, { freq: 2, nil: undefined }),
  })
}

/** A request that fits its description, without a body: the caller adds it. */
export const plainDraft = (operation: OpenapiOperation): Draft => ({
  caller: 'user',
  segments: Object.fromEntries(
    operation.parameters
      .filter((parameter) => parameter.in === 'path')
      .map(({ name }) => [
        name,
        (sensibleBelow(operation)[name] as string | undefined) ??
          (name === 'id' ? sensibleId(operation) : (SENSIBLE[name]?.[0] ?? 'text')),
      ]),
  ),
  query: [],
  headers: {
    'content-type': contentTypeOf(operation),
    ...Object.fromEntries(
      operation.parameters
        .filter((parameter) => parameter.in === 'header' && parameter.required)
        .map(({ name }) => [name, SENSIBLE[name]?.[0] ?? 'text']),
    ),
  },
  body: undefined,
})

/** Something that fits, for each field of the body. */
export const plainBody = (operation: OpenapiOperation): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(operation.body?.properties ?? {}).flatMap(
      ([name, { type, enum: values }]): [string, unknown][] => {
        if (type === 'object') return [] // a value of this name is that of a query
        const below = sensibleBelow(operation)
        if (Object.hasOwn(below, name)) return [[name, below[name]]]
        if (name === 'transactionId') return [[name, transactionOf(operation)]]
        if (Object.hasOwn(SENSIBLE_VALUES, name)) return [[name, SENSIBLE_VALUES[name]]]
        return SENSIBLE[name] || type === 'string'
          ? [[name, SENSIBLE[name]?.[0] ?? values?.[0] ?? 'text']]
          : []
      },
    ),
  )
