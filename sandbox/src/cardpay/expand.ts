import { StripeError } from './errors.ts'
import { find, list, type StripeObjectKind, type Reads } from './objects.ts'

type Fields = Record<string, unknown>

const DEPTH_MAX = 4

/** The kinds of objects by the prefix of their ids. */
const KINDS: Readonly<Record<string, StripeObjectKind>> = {
  ch: 'charge',
  cs: 'session',
  du: 'dispute',
  pi: 'payment_intent',
  re: 'refund',
  txn: 'balance_transaction',
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null

/** A list as the API answers it. */
export const listOf = (url: string, data: readonly unknown[], hasMore = false): Fields => ({
  object: 'list',
  data,
  has_more: hasMore,
  url,
})

const cannot = (path: string): StripeError =>
  new StripeError(400, `This property cannot be expanded (${path.slice(0, 100)}).`, { param: 'expand' })

/** The lists that an object has only when they are asked for. */
async function includedList(reads: Reads, { object, id }: Fields, name: string): Promise<Fields | undefined> {
  if (object === 'checkout.session' && name === 'line_items') {
    const items = (await find(reads, 'session', id as string))?.details.items ?? []
    return listOf(`/v1/checkout/sessions/${String(id)}/line_items`, items)
  }
  if (object !== 'charge' || name !== 'refunds') return undefined
  const refunds = await list(reads, 'refund', { charge: id as string }, { limit: 10 })
  return listOf(
    `/v1/charges/${String(id)}/refunds`,
    refunds.map((one) => one.object),
  )
}

async function valueOf(reads: Reads, owner: Fields, name: string, path: string): Promise<unknown> {
  const value = owner[name] ?? (await includedList(reads, owner, name))
  if (typeof value !== 'string') {
    // A field that may have an object, and has none yet.
    if (owner[name] === null) return null
    if (value === undefined) throw cannot(path)
    return value
  }
  const kind = KINDS[value.split('_', 1)[0]!]
  const object = kind && name !== 'id' ? await find(reads, kind, value) : undefined
  if (!object) throw cannot(path)
  return object.object
}

async function expandOne(
  reads: Reads,
  target: unknown,
  names: readonly string[],
  path: string,
): Promise<void> {
  const [name, ...rest] = names
  if (name === undefined || target === null) return
  if (Array.isArray(target)) {
    for (const one of target) await expandOne(reads, one, names, path)
    return
  }
  if (!isObject(target)) throw cannot(path)
  const value = await valueOf(reads, target, name, path)
  target[name] = value
  await expandOne(reads, value, rest, path)
}

/**
 * Puts objects in the place of their ids, by `expand` of a call: `latest_charge`, `data.payment_intent`.
 *
 * @see https://docs.stripe.com/expand
 * @throws StripeError for a field that holds no id
 */
export async function expand<T>(reads: Reads, answer: T, paths: readonly string[]): Promise<T> {
  if (paths.length === 0) return answer
  const expanded = structuredClone(answer)
  for (const path of paths) {
    const names = path.split('.')
    if (names.length > DEPTH_MAX + 1)
      throw new StripeError(400, `You cannot expand more than ${DEPTH_MAX} levels of a property.`, {
        param: 'expand',
      })
    await expandOne(reads, expanded, names, path)
  }
  return expanded
}
