import type { Api, CallReply } from '../../client/src/index.ts'
import { isError } from '../../client/src/index.ts'
import { hasWire } from './parts/installation.ts'
import { messageOf } from './parts/load.tsx'
import { href } from './parts/router.tsx'
import { six } from './parts/session.ts'
import { moneyText } from './screens/payments/amounts.ts'

/** Something that the search can open. */
export type Found = { title: string; hint: string; address: string }

type Collection = CallReply<Api, 'GET /store/collections'>['data'][number]

const EACH = 3
const COLLECTIONS_MAX = 100
const LETTERS_MIN = 2
const ID = /^[0-9a-hjkmnp-tv-z]{26}$/
/** Also an id that an import has brought. */
const DOCUMENT_ID = /^[\w-]{10,64}$/
/** Likewise of a user. One without a digit is taken for a name. */
const IMPORTED_ID = /^(?=.*\d)[\w-]{10,64}$/
/** A number that a double holds. */
const DECIMAL = /^-?\d{1,15}(?:\.\d{1,6})?$/

/** The collections of the store, the first 100 by name. */
export async function loadCollections(signal: AbortSignal): Promise<readonly Collection[]> {
  if (!hasWire('store')) return []
  return (await six.call('GET /store/collections', { query: { limit: COLLECTIONS_MAX }, signal })).data
}

/**
 * Finds records of all wires by an id, an address, a name or words.
 *
 * @returns what was found, and what the server said where it refused
 */
export async function findRecords(
  text: string,
  collections: readonly Collection[],
  signal: AbortSignal,
): Promise<{ found: readonly Found[]; refusals: readonly string[] }> {
  if (text.length < LETTERS_MIN) return { found: [], refusals: [] }
  const few = { limit: EACH, total: 'none' } as const
  const searches: Promise<readonly Found[]>[] = [findUsers(text, signal)]
  if (hasWire('store')) {
    searches.push(
      six
        .call('GET /store/files', { query: { q: text, ...few }, signal })
        .then(({ files }) => files.map((one) => found('files', one._id, one.originalName, 'File'))),
      ...collections.map(async (one) => findDocuments(text, one, signal)),
    )
  }
  if (hasWire('pay')) searches.push(findPayments(text, signal))
  if (hasWire('messaging'))
    searches.push(
      six
        .call('GET /messaging/logs', { query: { q: text, ...few }, signal })
        .then(({ logs }) =>
          logs.map(({ _id, to, subject }) =>
            found('messages', _id, subject === undefined ? to : `${subject}, to ${to}`, 'Message'),
          ),
        ),
    )
  if (hasWire('onchain'))
    searches.push(
      six
        .call('GET /onchain/wallets', { query: { q: text, ...few }, signal })
        .then(({ wallets }) =>
          wallets.map(({ _id, name, address }) => found('wallets', _id, name ?? address, 'Wallet')),
        ),
    )
  const results = await Promise.allSettled(searches)
  return {
    found: results.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])),
    refusals: [
      ...new Set(results.flatMap((one) => (one.status === 'rejected' ? [messageOf(one.reason)] : []))),
    ],
  }
}

const found = (screen: string, id: string, title: string, hint: string): Found => ({
  title,
  hint,
  address: href([screen, id]),
})

/** A list without the record of this id. */
function noneIfMissing(error: unknown): [] {
  if (isError(error, 'NOT_FOUND')) return []
  throw error
}

async function findUsers(text: string, signal: AbortSignal): Promise<Found[]> {
  const isId = ID.test(text)
  const [withId, matching] = await Promise.all([
    isId || IMPORTED_ID.test(text)
      ? six
          .call('GET /auth/users/:id', { params: { id: text }, signal })
          .then(({ user }) => [user], noneIfMissing)
      : [],
    isId
      ? []
      : six
          .call('GET /auth/users', { query: { q: text, limit: EACH, total: 'none' }, signal })
          .then((page) => page.users),
  ])
  return [...withId, ...matching].map(({ _id, email, name }) =>
    found('users', _id, name ? `${email}, ${name}` : email, 'User'),
  )
}

async function findPayments(text: string, signal: AbortSignal): Promise<Found[]> {
  const list = async (query: { email: string } | { reference: string } | { merchantReference: string }) =>
    (await six.call('GET /pay/transactions', { query: { ...query, limit: EACH, total: 'none' }, signal }))
      .transactions
  const payments = ID.test(text)
    ? await six
        .call('GET /pay/transactions/:id', { params: { id: text }, signal })
        .then((one) => [one], noneIfMissing)
    : text.includes('@')
      ? await list({ email: text })
      : (await Promise.all([list({ reference: text }), list({ merchantReference: text })])).flat()
  return payments.map(({ _id, displayAmount, currency, email }) =>
    found('payments', _id, [moneyText(displayAmount, currency), email].filter(Boolean).join(', '), 'Payment'),
  )
}

/** Documents by their id, by a unique field, or by words where the collection has a search. The last word may be a beginning. */
async function findDocuments(
  text: string,
  { name, search, unique }: Collection,
  signal: AbortSignal,
): Promise<Found[]> {
  const list = async (query: { filter: string } | { search: string }) => {
    const { data } = await six.call('GET /store/:collection', {
      params: { collection: name },
      query: { ...query, limit: EACH, total: 'none', preview: 80 },
      signal,
    })
    return data as unknown as readonly { readonly _id: string; readonly [field: string]: unknown }[]
  }
  const where = (filter: object) => list({ filter: JSON.stringify(filter) })
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? []
  const alone = unique.flatMap(({ fields, ignoreCase }) =>
    fields.length === 1 ? [{ path: fields[0]!, ignoreCase }] : [],
  )
  const lists = await Promise.all([
    DOCUMENT_ID.test(text) ? where({ _id: text }) : [],
    ...alone.map(async ({ path, ignoreCase }) => where({ [path]: { $in: valuesOf(text, ignoreCase) } })),
    search.length > 0 && words.length > 0 ? list({ search: `${words.join(' ')}*` }) : [],
  ])
  const titles = [...search, ...alone.map(({ path }) => path)]
  return [...new Map(lists.flat().map((one) => [one._id, one])).values()].map((one) => {
    const title = titles.map((path) => one[path]).find((value) => typeof value === 'string')
    return { title: title ?? one._id, hint: name, address: href(['data', name, one._id]) }
  })
}

/** What a field can hold that is written like this. */
const valuesOf = (text: string, ignoreCase: boolean): readonly (string | number)[] => [
  text,
  ...(ignoreCase ? [text.toLowerCase(), text.toUpperCase()] : []),
  ...(DECIMAL.test(text) ? [Number(text)] : []),
]
