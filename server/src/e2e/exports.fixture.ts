// One of each thing that an application can export. `tsc` writes declarations of it: see package.test.ts.
import {
  afterCommit,
  answer,
  apple,
  auth,
  core,
  createApp,
  createClient,
  createOutbound,
  defineConfig,
  defineErrors,
  defineWire,
  errors,
  eventStream,
  form,
  invalid,
  json,
  jsonText,
  messaging,
  microsoft,
  multipart,
  oidc,
  onchain,
  pay,
  raw,
  receiveErrors,
  requireRow,
  route,
  sql,
  store,
  Type,
} from 'sixwire'
import { awsKms } from 'sixwire/aws-kms'
import { createClient as createBrowserClient } from 'sixwire/client'
import { paypal } from 'sixwire/paypal'
import { smtp } from 'sixwire/smtp'
import { stripe } from 'sixwire/stripe'
import { twilio } from 'sixwire/twilio'

export const Order = Type.Object({
  title: Type.String({ default: 'New' }),
  count: Type.Integer({ default: 1 }),
  prices: Type.Array(Type.Number(), { default: [] }),
  state: Type.Enum(['open', 'closed'], { default: 'open' }),
  kind: Type.Enum(['a', 'b']),
  flags: Type.Record(Type.String(), Type.Boolean({ default: true })),
  note: Type.Optional(Type.Union([Type.Null(), Type.Literal('none'), Type.String()])),
  more: Type.Unknown(),
  blob: Type.Unsafe<Blob>({}),
})

export const orderErrors = defineErrors({ not_enough_points: [409, 'There are not enough points for this.'] })
export const otherErrors = { errors, receiveErrors, refused: invalid({ path: '/a', message: 'b' }) }

export const bodies = {
  json: json(Order),
  form: form(Type.Object({ a: Type.String() })),
  raw: raw({ maxBytes: 1 }),
  file: multipart({ file: { maxBytes: 1 }, fields: Type.Object({ a: Type.Optional(Type.String()) }) }),
}
export const answers = { answer: answer({ a: 1 }, {}), text: jsonText<{ a: 1 }>('{"a":1}') }
export const stream = eventStream(() => ({ drained() {}, ending: () => '', closed() {} }))

export const createOrder = route(
  'POST /orders/:id',
  {
    summary: 'Create an order',
    access: 'user',
    idempotent: true,
    limit: { rate: '5/min', keys: true },
    params: Type.Object({ id: Type.String() }),
    query: Type.Object({ page: Type.Integer({ default: 1 }) }),
    body: bodies.json,
    reply: { 200: Order },
    errors: [orderErrors.not_enough_points, errors.conflict],
  },
  ({ body }) => body,
)
export const uploadFile = route(
  'POST /orders/file',
  { summary: 'Upload a file', access: 'admin', body: bodies.file, reply: { 200: Type.Null() } },
  () => null,
)

export const orders = defineWire({
  name: 'orders',
  needs: [auth, core, messaging.optional, onchain, pay, store],
  options: Type.Object({ word: Type.String({ default: 'Order' }), size: Type.Optional(Type.Integer()) }),
  setup(context, options) {
    const send = context.jobs.define(
      'orders.send',
      { payload: Type.Object({ id: Type.String() }) },
      async () => undefined,
    )
    const count = context.metrics.counter({ name: 'orders_total', help: 'Orders.', labels: ['state'] })
    return {
      routes: [createOrder, uploadFile] as const,
      service: { ...context, options, send, count, get: (id: string) => ({ id }) },
    }
  },
})
export const configured = orders({ word: 'An order' })
export const wires = { auth, core, messaging, onchain, pay, store }

export const providers = {
  apple: apple({ clientId: 'a', teamId: 'a', keyId: 'a', privateKey: 'a' }),
  microsoft: microsoft({ clientId: 'a', clientSecret: 'a', tenant: 'common' }),
  oidc: oidc({ issuer: 'https://a.example', clientId: 'a', clientSecret: 'a' }),
  smtp: smtp({ url: 'smtp://localhost', appUrl: 'http://localhost' }),
  twilio,
  stripe,
  paypal,
  awsKms,
}

export const outbound = createOutbound()
export const reply = await outbound.call('/a')
export const step = sql<{ id: string }>`select id from orders`
export const steps = [requireRow(step, () => errors.not_found()), afterCommit(step, () => undefined)]

export const client = createClient('http://localhost:3000')
export const browser = createBrowserClient('http://localhost:3000')
export const books = client.collection<{ title: string }>('books')
export const page = await books.list()
export const live = books.live()
export const me = await client.call('GET /auth/me')

const config = defineConfig({
  store: { collections: { books: { schema: Type.Object({ title: Type.String() }), read: 'public' } } },
  schedule: { digest: { cron: '@daily', run: async () => undefined } },
  wires: [configured],
})
export default config

export const app = await createApp({ config })
export const routes = app.routes
