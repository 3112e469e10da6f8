// A wire whose routes show what /openapi.json has to describe.
import { Type } from '../base/schema.ts'

import { defineErrors } from '../base/errors.ts'
import { defineWire } from '../kernel/wire/wire.ts'
import { form, json, multipart, raw } from './bodies.ts'
import { answer, route } from './route.ts'

const shopErrors = defineErrors({ sold_out: [409, 'There is none left.'] })

const Count = Type.Integer({ default: 1, examples: [2] })
const Picking = Type.Object(
  { fragile: Type.Boolean({ default: false }), floor: Type.Optional(Type.Integer({ default: 0 })) },
  { title: 'Picking' },
)

/** A wire of an application that uses what Sixwire's own do not. */
export const shop = defineWire({
  name: 'shop',
  description: 'Items and their parts.',
  setup: () => ({
    service: undefined,
    routes: [
      route(
        'PATCH /shop/items/:item/parts/:part',
        {
          summary: 'Change a part',
          description: 'At length.',
          access: 'admin',
          scope: 'shop:change',
          limit: '10/hour',
          idempotent: true,
          params: Type.Object({
            item: Type.String(),
            part: Type.Integer({ title: 'PartNumber', description: 'From 1.', examples: [7] }),
          }),
          query: Type.Object({ soon: Type.Optional(Type.Boolean()) }),
          headers: Type.Object({ 'x-shop': Type.Optional(Type.String()) }),
          body: json(Type.Object({ name: Type.String() })),
          reply: { 200: Type.Object({ item: Type.String() }, { title: 'Part' }), 202: Type.Object({}) },
          errors: [shopErrors.sold_out],
        },
        ({ params }) => ({ item: params.item }),
      ),
      route('GET /shop/label', { summary: 'A label', access: 'public', reply: { 200: Type.String() } }, () =>
        answer('<label>', { headers: { 'content-type': 'text/plain; charset=utf-8' } }),
      ),
      route(
        'PUT /shop/hook',
        {
          summary: 'Receive a webhook',
          access: 'public',
          body: raw({ maxBytes: 1000 }),
          reply: { 200: Type.Object({}) },
        },
        () => ({}),
      ),
      route(
        'PUT /shop/events',
        {
          summary: 'Receive an event',
          access: 'public',
          body: raw({ maxBytes: 1000, contentTypes: ['application/json', 'image/png'] }),
          reply: { 200: Type.Object({}) },
        },
        () => ({}),
      ),
      route(
        'PUT /shop/login-form',
        {
          summary: 'Sign in by a form',
          access: 'public',
          body: form(Type.Object({ code: Type.String({ examples: ['a'] }) })),
          reply: { 200: Type.Object({}) },
        },
        () => ({}),
      ),
      route(
        'PUT /shop/pictures',
        {
          summary: 'Upload a picture',
          access: 'public',
          body: multipart({
            fields: Type.Object({ alt: Type.String(), more: Type.Optional(Type.Object({})) }),
            file: { field: 'picture', maxBytes: 1000 },
          }),
          reply: { 200: Type.Object({}) },
        },
        () => ({}),
      ),
      route(
        'PUT /shop/album',
        {
          summary: 'Upload pictures',
          access: 'public',
          body: multipart({ file: { maxBytes: 1000, max: 3 } }),
          reply: { 200: Type.Object({}) },
        },
        () => ({}),
      ),
      route(
        'PUT /shop/card',
        {
          summary: 'Write a card with pictures',
          access: 'public',
          body: json(Type.Object({ text: Type.String({ examples: ['hi'] }) }), {
            files: { max: 3, maxBytes: 1000 },
          }),
          reply: { 200: Type.Object({}) },
        },
        () => ({}),
      ),
      route(
        'PUT /shop/orders',
        {
          summary: 'Place an order',
          access: 'public',
          body: json(
            Type.Object({
              gift: Type.Boolean({ default: false }),
              address: Type.Object({ city: Type.String({ examples: ['Bonn'] }) }),
              lines: Type.Array(Type.Object({ part: Type.String({ examples: ['lid'] }), count: Count })),
              pick: Type.Optional(Picking),
            }),
          ),
          reply: {
            200: Type.Object({ picking: Picking }),
            202: Type.Object({ later: Type.Union([Type.String(), Type.Null()]) }),
          },
        },
        ({ body: { pick = { fragile: false } } }) => ({ picking: { fragile: pick.fragile } }),
      ),
      route(
        'GET /shop-label',
        { summary: 'Read a label', access: 'public', reply: { 200: Type.Object({}) } },
        () => ({}),
      ),
    ] as const,
  }),
})
