import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Type } from '../../../base/schema.ts'
import { json, raw } from '../../../http/bodies.ts'
import { route } from '../../../http/route.ts'
import { checkScreens } from './check-screens.ts'
import type { WireScreen } from '../../../kernel/wire/screen.ts'

const Order = Type.Object({
  _id: Type.String(),
  number: Type.Integer(),
  placedAt: Type.String({ format: 'date-time' }),
})
const nothing = () => ({}) as never
const routes = [
  route(
    'GET /shop/orders',
    {
      summary: 'List orders',
      access: 'operator',
      query: Type.Object({
        limit: Type.Integer(),
        cursor: Type.Optional(Type.String()),
        open: Type.Optional(Type.Boolean()),
      }),
      reply: { 200: Type.Object({ orders: Type.Array(Order), tags: Type.Array(Type.String()) }) },
    },
    nothing,
  ),
  route(
    'GET /shop/orders/:id',
    {
      summary: 'Get an order',
      access: 'operator',
      params: Type.Object({ id: Type.String() }),
      reply: { 200: Order },
    },
    nothing,
  ),
  route(
    'POST /shop/orders/:number/ship',
    {
      summary: 'Ship an order',
      access: 'operator',
      params: Type.Object({ number: Type.Integer() }),
      body: json(Type.Object({ by: Type.Enum(['post', 'bike']), notify: Type.Boolean({ default: true }) })),
      reply: { 200: Order },
    },
    nothing,
  ),
  route(
    'POST /shop/labels',
    { summary: 'Print', access: 'operator', body: raw({ maxBytes: 10 }), reply: { 200: Order } },
    nothing,
  ),
]
const orders: WireScreen = {
  name: 'orders',
  title: 'Orders',
  list: 'GET /shop/orders',
  rows: 'orders',
  columns: ['number', { field: 'placedAt', title: 'Ordered' }],
}
const check = (screens: unknown) => checkScreens('shop', routes, screens as WireScreen[])

describe('a screen', () => {
  test('has what its routes say: kinds of columns, filters, forms and what a record fills in', () => {
    const actions = [{ route: 'POST /shop/orders/:number/ship' as const }]
    const [screen] = check([{ ...orders, detail: 'GET /shop/orders/:id', actions }])
    assert.deepEqual(screen!.columns, [
      { field: 'number', title: 'Number', kind: 'number' },
      { field: 'placedAt', title: 'Ordered', kind: 'time' },
    ])
    assert.deepEqual(screen!.filters, [
      { name: 'open', in: 'query', title: 'Open', kind: 'boolean', isRequired: false },
    ])
    assert.deepEqual(screen!.detail, { route: 'GET /shop/orders/:id', from: { id: '_id' } })
    assert.deepEqual(screen!.actions, [
      {
        route: 'POST /shop/orders/:number/ship',
        title: 'Ship an order',
        danger: 'none',
        isOfRecord: true,
        from: { number: 'number' },
        fields: [
          {
            name: 'by',
            in: 'body',
            title: 'By',
            kind: 'choice',
            isRequired: true,
            options: ['post', 'bike'],
          },
          { name: 'notify', in: 'body', title: 'Notify', kind: 'boolean', isRequired: false, default: true },
        ],
        isIdempotent: false,
      },
    ])
  })

  for (const [fault, screen] of [
    ['screens[0]: there is no field "colums": did you mean columns?', { ...orders, colums: [] }],
    [
      'screens[0]: name can\'t be "My Orders": it takes small letters, digits and hyphens, like orders',
      { ...orders, name: 'My Orders' },
    ],
    [
      'screens: orders: list: the wire shop has no route "GET /shop/order": did you mean GET /shop/orders?',
      { ...orders, list: 'GET /shop/order' },
    ],
    [
      'screens: orders: list: GET /shop/orders/:id must have no ":id" in its path',
      { ...orders, list: 'GET /shop/orders/:id' },
    ],
    [
      'screens: orders: rows: name the list of records in the answer of GET /shop/orders: it has orders, tags',
      { ...orders, rows: undefined },
    ],
    [
      'screens: orders: columns: the records have no field "placed": did you mean placedAt?',
      { ...orders, columns: ['placed'] },
    ],
    ['screens: orders: detail: POST /shop/labels must be a GET', { ...orders, detail: 'POST /shop/labels' }],
    [
      'screens: orders: actions[0]: GET /shop/orders changes nothing: an action is no GET',
      { ...orders, actions: [{ route: 'GET /shop/orders' }] },
    ],
    [
      'screens: orders: actions[0]: POST /shop/labels takes no JSON: an action is a route with a JSON body or none',
      { ...orders, actions: [{ route: 'POST /shop/labels' }] },
    ],
    [
      'screens: orders: actions[0]: from: POST /shop/orders/:number/ship takes no "bye": did you mean by?',
      { ...orders, actions: [{ route: 'POST /shop/orders/:number/ship', from: { bye: '_id' } }] },
    ],
    [
      'screens: orders: actions[0]: danger can\'t be "high": it takes one of none, confirm, proof',
      { ...orders, actions: [{ route: 'POST /shop/orders/:number/ship', danger: 'high' }] },
    ],
  ] as const)
    test(`is refused: ${fault}`, () => {
      assert.throws(
        () => check([screen]),
        (error: Error) => {
          assert.equal(error.message, `wires: shop: ${fault}`)
          return true
        },
      )
    })
})
