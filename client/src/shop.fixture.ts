import { Type } from '../../server/src/base/schema.ts'

import type { Static } from 'typebox'

import { defineErrors, errors } from '../../server/src/base/errors.ts'
import { form, json, multipart, raw } from '../../server/src/http/bodies.ts'
import { answer, Bytes, NoBody, route } from '../../server/src/http/route.ts'
import { defineWire, type ApiOf } from '../../server/src/kernel/wire/wire.ts'
import type { Api } from './index.ts'

const shopErrors = defineErrors({ sold_out: [409, 'There is none left.'] })

const Found = Type.Object(
  { title: Type.String(), price: Type.Union([Type.Number(), Type.Null()]) },
  { title: 'Record' },
)
const Search = Type.Object(
  {
    found: Type.Array(Found, { description: 'In the order of `sort`.' }),
    size: Type.Integer({ default: 1 }),
    best: Type.Optional(Found),
  },
  { title: 'search-result', additionalProperties: true },
)

/** Routes of every kind; most tell what reached them. */
export const shopRoutes = [
  route(
    'GET /shop/:shelf/items/:item',
    {
      summary: 'What was asked',
      access: 'public',
      params: Type.Object({ shelf: Type.String(), item: Type.String() }),
      query: Type.Object({
        soon: Type.Optional(Type.Boolean()),
        size: Type.Number({ default: 1 }),
        text: Type.Optional(Type.String()),
      }),
      reply: {
        200: Type.Object({
          shelf: Type.String(),
          item: Type.String(),
          query: Type.Record(Type.String(), Type.Unknown()),
        }),
      },
    },
    ({ params, query }) => ({ ...params, query: { ...query } }),
  ),
  route(
    'POST /shop/orders',
    {
      summary: 'Order',
      access: 'user',
      body: json(Type.Object({ count: Type.Integer() })),
      reply: { 201: Type.Object({ id: Type.String() }), 202: Type.Object({ later: Type.Boolean() }) },
      errors: [shopErrors.sold_out],
    },
    ({ body }) => {
      if (body.count > 5) throw shopErrors.sold_out({ details: { left: 5 } })
      return answer({ later: true }, { status: 202 })
    },
  ),
  route(
    'POST /shop/form',
    {
      summary: 'Take a form',
      access: 'public',
      body: form(Type.Object({ code: Type.String() })),
      reply: { 200: Type.Object({ code: Type.String() }) },
    },
    ({ body }) => body,
  ),
  route(
    'POST /shop/bytes',
    {
      summary: 'Take bytes',
      access: 'public',
      body: raw({ maxBytes: 1000 }),
      reply: { 200: Type.Object({ text: Type.String(), type: Type.Optional(Type.String()) }) },
    },
    ({ body: { bytes, contentType: type } }) => ({
      text: String(bytes),
      ...(type !== undefined && { type }),
    }),
  ),
  route(
    'POST /shop/pictures',
    {
      summary: 'Take a picture',
      access: 'public',
      body: multipart({ fields: Type.Object({ alt: Type.String() }), file: { maxBytes: 1000 } }),
      reply: { 200: Type.Object({ name: Type.String(), alt: Type.String() }) },
    },
    async ({ body }) => ({ name: body.file.name, ...(await body.fields()) }),
  ),
  route('GET /shop/label', { summary: 'A label', access: 'public', reply: { 200: Type.String() } }, () =>
    answer('<label>', { headers: { 'content-type': 'text/plain; charset=utf-8' } }),
  ),
  route(
    'POST /shop/searches/:id',
    {
      summary: 'Take and answer every kind of value */',
      access: 'public',
      idempotent: true,
      params: Type.Object({ id: Type.String() }),
      query: Type.Object({ text: Type.String(), page: Type.Integer({ default: 1 }) }),
      body: json(
        Type.Object({
          sort: Type.Enum(['title', "author's"], { default: 'title' }),
          'in-stock': Type.Optional(Type.Boolean()),
          tags: Type.Array(Type.Union([Type.String(), Type.Null()]), { default: [] }),
          ranges: Type.Array(Type.Object({ from: Type.Number(), to: Type.Number({ default: 9 }) })),
          names: Type.Record(Type.String(), Type.Array(Type.Integer())),
          kind: Type.Literal('book'),
          free: Type.Unknown(),
        }),
      ),
      reply: { 200: Search, 201: Type.Array(Search), 204: NoBody },
      errors: [errors.not_found, shopErrors.sold_out],
    },
    () => answer<Static<typeof Search>>('{}', { status: 200 }),
  ),
  route('GET /shop/picture', { summary: 'A picture', access: 'public', reply: { 200: Bytes } }, () =>
    answer<Blob>(Buffer.from('x'), { headers: { 'content-disposition': 'inline' } }),
  ),
] as const

/** A wire of an application. */
export const shop = defineWire({ name: 'shop', setup: () => ({ service: undefined, routes: shopRoutes }) })

/** The routes of a server with this wire. */
export type Known = Api & ApiOf<typeof shop>
