import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

import { API_FILE, builtInApi } from '../../scripts/api-types.ts'
import type { errors } from '../../server/src/base/errors.ts'
import { apiTypes } from '../../server/src/http/api-types.ts'
import type { ApiOf } from '../../server/src/kernel/wire/wire.ts'
import { Type } from '../../server/src/base/schema.ts'
import { defineConfig, type BuiltInApi, type CollectionsOf, type Config } from '../../server/src/wires.ts'
import {
  isError,
  type Api,
  type CallError,
  type Client,
  type CallCode,
  type CallInput,
  type Collection,
  type KeyOf,
} from './index.ts'
import type { Api as ShopApi } from './shop-api.fixture.ts'
import { shopRoutes, type Known, type shop } from './shop.fixture.ts'
import { takesKey } from './retry.ts'

// What the compiler accepts and refuses; `npm run check` is the test.
type Input<K extends KeyOf<Known>> = Parameters<typeof six.call<K>>[1]
type Reply<K extends KeyOf<Known>> = Awaited<ReturnType<typeof six.call<K>>>
declare const six: Client<Known>
type Accepts<Expected, Given> = [Given] extends [Expected] ? true : false
type Equal<A, B> = [A, B] extends [B, A] ? true : false
type Yes<T extends true> = T
type No<T extends false> = T
type Login = Input<'POST /auth/login'>
type Read = Input<'GET /store/:collection/:id'>
type Checkout = {
  items: { name: string; amount: number; currency: string }[]
  successUrl: string
  cancelUrl: string
}
type Status =
  | 'pending'
  | 'completed'
  | 'failed'
  | 'expired'
  | 'cancelled'
  | 'partially_refunded'
  | 'refunded'
  | 'disputed'
  | 'lost'
export type Compiled = [
  Yes<Accepts<Login, { body: { email: string; password: string } }>>,
  Yes<Accepts<Login, { body: { email: string; password: string }; token: string; signal: AbortSignal }>>,
  No<Accepts<Login, { body: { email: string } }>>,
  No<Accepts<Login, { body: { email: number; password: string } }>>,
  No<Accepts<Login, object>>,
  No<Accepts<Login, undefined>>,
  Yes<Accepts<Read, { params: { collection: string; id: string } }>>,
  No<Accepts<Read, { params: { collection: string } }>>,
  No<Accepts<Read, { params: { collection: string; id: number } }>>,
  No<Accepts<Read, undefined>>,
  Yes<Accepts<Input<'GET /auth/me'>, undefined>>,
  Yes<Accepts<Input<'GET /auth/sessions'>, { query: { limit: number } }>>,
  No<Accepts<Input<'GET /auth/sessions'>, { query: { limit: string } }>>,
  No<Accepts<Input<'POST /shop/orders'>, { body: { count: string } }>>,
  Yes<Accepts<Input<'POST /shop/form'>, { body: URLSearchParams }>>,
  No<Accepts<Input<'POST /shop/form'>, { body: { code: string } }>>,
  Yes<Accepts<Input<'POST /shop/bytes'>, { body: Blob }>>,
  Yes<Accepts<Input<'POST /shop/bytes'>, { body: Uint8Array<ArrayBuffer> }>>,
  No<Accepts<Input<'POST /shop/bytes'>, { body: object }>>,
  Yes<Accepts<Input<'POST /shop/pictures'>, { body: FormData }>>,
  No<Accepts<Input<'POST /shop/pictures'>, { body: { alt: string } }>>,
  No<Accepts<KeyOf<Known>, 'GET /nothing'>>,
  No<Accepts<KeyOf<Known>, 'GET /auth/login'>>,
  Yes<Equal<Reply<'POST /auth/login'>['refreshToken'], string>>,
  Yes<Equal<Reply<'GET /store/:collection'>['total'], number | undefined>>,
  Yes<Equal<Reply<'GET /health'>['database'], 'connected' | 'disconnected'>>,
  Yes<Equal<Reply<'POST /shop/orders'>, { id: string } | { later: boolean }>>,
  Yes<Equal<Reply<'GET /shop/label'>, string>>,
  Yes<Accepts<Input<'POST /pay/cardpay/checkout'>, { body: Checkout }>>,
  No<Accepts<Input<'POST /pay/cardpay/checkout'>, { body: Omit<Checkout, 'cancelUrl'> }>>,
  Yes<Accepts<Input<'POST /pay/walletpay/refund'>, { body: { transactionId: string } }>>,
  No<Accepts<Input<'POST /pay/walletpay/refund'>, { body: { transactionId: string; amount: string } }>>,
  Yes<Accepts<Input<'POST /pay/walletpay/capture/:orderId'>, { params: { orderId: string } }>>,
  Yes<Accepts<Input<'GET /pay/transactions'>, { query: { provider: 'onchain'; status: Status } }>>,
  No<Accepts<Input<'GET /pay/transactions'>, { query: { status: 'paid' } }>>,
  Yes<Equal<Reply<'GET /pay/transactions'>['transactions'][number]['status'], Status>>,
  Yes<Equal<Reply<'GET /pay/transactions/:id'>['history'][number]['status'], Status>>,
  Yes<Equal<Reply<'POST /pay/cardpay/refund'>['status'], 'pending' | 'completed' | 'failed'>>,
  Yes<Equal<Reply<'POST /pay/walletpay/capture/:orderId'>['status'], 'COMPLETED' | 'PENDING'>>,
  Yes<Equal<Reply<'GET /pay/health'>['providers']['cardpay'], 'connected' | 'not_configured' | 'error'>>,
]

// The codes of a route are its own, and those that any route may answer.
type Own<Code> = Exclude<Code, CallCode<{ none: { errors: never } }, 'none'>>
type Register = Awaited<ReturnType<typeof six.try<'POST /auth/register'>>>
type Common = CallCode<{ none: { errors: never } }, 'none'>
export type Codes = [
  Yes<Equal<Own<CallCode<Known, 'POST /auth/register'>>, 'EMAIL_TAKEN' | 'REGISTRATION_CLOSED'>>,
  Yes<Equal<Own<CallCode<Known, 'POST /shop/orders'>>, 'SOLD_OUT'>>,
  Yes<Equal<Own<NonNullable<Register['error']>['code']>, 'EMAIL_TAKEN' | 'REGISTRATION_CLOSED'>>,
  Yes<Accepts<Uppercase<keyof typeof errors> | 'UNKNOWN', Common>>,
]

/** What is caught may be anything; a code that no route answers is a mistake. */
export function narrows(caught: unknown, tried: Register): void {
  if (isError(caught, 'EMAIL_TAKEN')) caught satisfies CallError<'EMAIL_TAKEN'>
  if (six.isError(caught, 'SOLD_OUT')) caught.code satisfies 'SOLD_OUT'
  // @ts-expect-error no route answers it
  six.isError(caught, 'SOLD_OUTS')
  if (six.isError(caught, 'POST /auth/register', 'EMAIL_TAKEN')) caught.code satisfies 'EMAIL_TAKEN'
  // @ts-expect-error another route answers it
  six.isError(caught, 'POST /auth/register', 'ACCOUNT_LOCKED')
  // @ts-expect-error another route answers it
  if (tried.error?.code === 'ACCOUNT_LOCKED') throw tried.error
  if (!tried.error) tried.data.user satisfies { _id: string }
}

// What has a default may be left out, and is in the answer.
type Search = CallInput<Known, 'GET /shop/:shelf/items/:item'>
type Params = { params: { shelf: string; item: string } }
export type Defaults = [
  Yes<Accepts<Search, Params>>,
  Yes<Accepts<Search, Params & { query: { size: number } }>>,
  No<Accepts<Search, Params & { query: { size: string } }>>,
  Yes<
    Accepts<Input<'POST /onchain/contracts/read'>, { body: { address: string; abi: string; method: string } }>
  >,
]

// Only routes that take an `Idempotency-Key` take one.
export type Keys = [
  Yes<Accepts<CallInput<Known, 'POST /store/backup'>, { idempotencyKey: string }>>,
  No<'idempotencyKey' extends keyof CallInput<Known, 'POST /auth/login'> ? true : false>,
]

// The documents of a collection are of the type of its schema in the configuration.
type Project = { title: string; price?: number }
const config = defineConfig({
  name: 'shop',
  auth: { registration: 'closed' },
  store: {
    collections: {
      projects: {
        read: 'public',
        schema: Type.Object({ title: Type.String(), price: Type.Optional(Type.Integer()) }),
      },
      'work-items': { schema: Type.Unsafe<{ part: string[] }>({ type: 'object' }) },
      plain: { schema: { type: 'object', properties: { text: { type: 'string' } } } },
      notes: 'owner',
      products: {
        schema: Type.Object({ name: Type.String(), photo: Type.String() }),
        files: { photo: { types: ['image/*'] }, 'box.labels': { max: 5 } },
      },
    },
  },
})
declare const typed: Client<Api & CollectionsOf<typeof config>>
declare const untyped: Client<Api & CollectionsOf<Config>>
const projects = () => typed.collection('projects')
const named = () => typed.collection<'projects'>('projects')
const items = () => typed.collection('work-items')
const plain = () => typed.collection('plain')
const notes = () => typed.collection<{ text: string }>('notes')
const books = () => untyped.collection<{ title: string }>('books')
export type Documents = [
  Yes<Equal<ReturnType<typeof projects>, Collection<Project>>>,
  Yes<Equal<ReturnType<typeof named>, Collection<Project>>>,
  Yes<Equal<ReturnType<typeof items>, Collection<{ part: string[] }>>>,
  Yes<Equal<ReturnType<typeof plain>, Collection<Record<string, unknown>>>>,
  Yes<Equal<ReturnType<typeof notes>, Collection<{ text: string }>>>,
  Yes<Equal<ReturnType<typeof books>, Collection<{ title: string }>>>,
  No<Accepts<KeyOf<Api & CollectionsOf<typeof config>>, 'collections'>>,
]

/** What is written and filtered has the type as well. */
export async function usesDocuments(): Promise<void> {
  const { data } = await typed.collection('projects').list({ filter: { price: { $gt: 5 } }, sort: '-title' })
  data[0]!.title satisfies string
  // @ts-expect-error no such field
  void data[0]!.titel
  // @ts-expect-error the title is a text
  await typed.collection('projects').create({ title: 5 })
  // @ts-expect-error there is no such collection with a schema
  typed.collection<'projets'>('projets')
}

/** Files are named by fields that take some, and need no `_id` in the document. */
export async function sendsFiles(photo: File): Promise<void> {
  const products = typed.collection('products')
  const made = await products.create({ name: 'Lamp' }, { files: { photo, 'box.labels': [photo, photo] } })
  made.photo satisfies string
  // @ts-expect-error the name is a text
  await products.create({ name: 5 }, { files: { photo } })
  // @ts-expect-error the photo is missing
  await products.create({ name: 'Lamp' })
  // @ts-expect-error no such field of files
  await products.create({ name: 'Lamp', photo: 'id' }, { files: { foto: photo } })
  await notes().create({ text: 'Lamp' }, { files: { anything: photo } })
  const records = await six.upload([photo, photo])
  records[0]!._id satisfies string
  // @ts-expect-error several files have their own names
  await six.upload([photo, photo], { name: 'lamp.png' })
}

/** What is followed has the type as well; with `fields` only `_id` is certain. */
export function followsDocuments(): void {
  const projects = typed.collection('projects')
  const handlers = { gone: () => undefined, reset: () => undefined }
  projects.watch(
    { filter: { price: { $gt: 5 } } },
    {
      ...handlers,
      put(project, { etag }) {
        project.title satisfies string
        project._id satisfies string
        etag satisfies string
        // @ts-expect-error no such field
        void project.titel
      },
    },
  )
  projects.watch(
    { fields: ['title'] },
    {
      ...handlers,
      put(project) {
        // @ts-expect-error it may be absent
        project.title satisfies string
      },
    },
  )
  // @ts-expect-error no such value
  projects.watch({ filter: { price: 'high' } }, { ...handlers, put: () => undefined })
  const live = projects.live({ sort: '-price', limit: 5 })
  live.getSnapshot()[0]!.title satisfies string
  live.subscribe((documents) => documents[0]!.price satisfies number | undefined)
  const chosen = projects.live({ fields: ['title'] })
  // @ts-expect-error it may be absent
  chosen.getSnapshot()[0]!.title satisfies string
}

/** A typed configuration is checked as one without types. */
export const mistaken = () => [
  // @ts-expect-error no such setting
  defineConfig({ nmae: 'shop' }),
  // @ts-expect-error no such option
  defineConfig({ store: { collection: {} } }),
  // @ts-expect-error no such audience
  defineConfig({ store: { collections: { notes: 'all' } } }),
  // @ts-expect-error no such rule
  defineConfig({ store: { collections: { notes: { write: 'owner', schema: Type.Object({}) } } } }),
]

// The types that are written as text are those of the code.
type Parts = 'query' | 'body' | 'reply' | 'errors' | 'idempotent'
type Part<R, P> = P extends keyof R ? R[P] : undefined
type Differing<A, B> = {
  [P in Parts]: Equal<Part<A, P>, Part<B, P>> extends true ? never : P
}[Parts]
type Differences<A, B> = { [K in keyof A & keyof B]: Differing<A[K], B[K]> }[keyof A & keyof B]
type InferredShop = ApiOf<typeof shop>
export type Written = [
  Yes<Equal<keyof Api, keyof BuiltInApi>>,
  Yes<Equal<Differences<Api, BuiltInApi>, never>>,
  Yes<Equal<keyof ShopApi, keyof InferredShop>>,
  Yes<Equal<Differences<ShopApi, InferredShop>, never>>,
  Yes<Equal<Differing<{ query: { a: string } }, { query: { a?: string } }>, 'query'>>,
]

test('client/src/generated/api.ts is made of the routes', async () => {
  assert.equal(await readFile(API_FILE, 'utf8'), await builtInApi(), 'run npm run reference')
})

test('the routes of an application are written likewise', async () => {
  assert.equal(await readFile(new URL('shop-api.fixture.ts', import.meta.url), 'utf8'), apiTypes(shopRoutes))
})

test('the client knows which routes take an Idempotency-Key', async () => {
  const routes = [...(await readFile(API_FILE, 'utf8')).matchAll(/^ {2}'(.*)': \{\n([^]*?)^ {2}\}/gm)]
  assert.ok(routes.length > 80)
  for (const [, key = '', fields = ''] of routes)
    assert.equal(takesKey(key), fields.includes('    idempotent: true'), key)
})
