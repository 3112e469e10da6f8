import { oneLine } from '../../../base/one-line.ts'
import {
  ENTRY_STATES,
  type PaymentBuyer,
  type LedgerEntry,
  type ProviderEvent,
  type PaymentSnapshot,
  type PostalAddress,
} from './provider.ts'

// A provider may be an operator's own: what it answers is checked before it becomes part of the books.

type Fields = Record<string, unknown>

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isTextOrNone = (value: unknown): boolean => value === undefined || isText(value)
const isNumberOrNone = (value: unknown): boolean => value === undefined || Number.isSafeInteger(value)
const fieldsOf = (value: unknown): Fields =>
  (typeof value === 'object' && value !== null ? value : {}) as Fields

const LARGEST = BigInt(Number.MAX_SAFE_INTEGER)

export function isEntry(value: unknown): value is LedgerEntry {
  const { kind, objectId, status, amount, currency, version, callId, reason, createdAt } = fieldsOf(value)
  return (
    isText(kind) &&
    Object.hasOwn(ENTRY_STATES, kind) &&
    (ENTRY_STATES[kind as LedgerEntry['kind']] as readonly unknown[]).includes(status) &&
    isText(objectId) &&
    typeof amount === 'bigint' &&
    amount >= 0n &&
    amount <= LARGEST &&
    typeof currency === 'string' &&
    isNumberOrNone(version) &&
    isNumberOrNone(createdAt) &&
    isTextOrNone(callId) &&
    (reason === undefined || typeof reason === 'string')
  )
}

export function isSnapshot(value: unknown): value is PaymentSnapshot {
  const { transactionId, reference, paymentId, url, entries } = fieldsOf(value)
  return (
    isText(reference) &&
    [transactionId, paymentId, url].every(isTextOrNone) &&
    Array.isArray(entries) &&
    entries.every(isEntry)
  )
}

const OBJECT_KINDS: ReadonlySet<unknown> = new Set(['refund', 'dispute', 'reversal'])

export function isEvent(value: unknown): value is ProviderEvent {
  const { id, type, subject } = fieldsOf(value)
  if (!isText(id) || !isText(type)) return false
  if (subject === undefined) return true
  const { transactionId, reference, paymentId, objects = [] } = fieldsOf(subject)
  return (
    [transactionId, reference, paymentId].every(isTextOrNone) &&
    [transactionId, reference, paymentId].some(isText) &&
    Array.isArray(objects) &&
    objects.every((one) => isText(fieldsOf(one)['id']) && OBJECT_KINDS.has(fieldsOf(one)['kind']))
  )
}

const BUYER_TEXT_MAX = 300
const BUYER_TEXTS = ['name', 'email', 'phone'] as const
const ADDRESS_TEXTS = ['line1', 'line2', 'postalCode', 'city', 'state', 'country'] as const

/** The texts of a buyer that are there, each as one line. */
export function buyerFrom(value: unknown): PaymentBuyer {
  const { address, shipping } = fieldsOf(value)
  const recipient = fieldsOf(shipping)
  return {
    ...textsIn(value, BUYER_TEXTS),
    ...filled('address', textsIn<keyof PostalAddress>(address, ADDRESS_TEXTS)),
    ...filled('shipping', {
      ...textsIn(recipient, ['name']),
      ...filled('address', textsIn<keyof PostalAddress>(recipient['address'], ADDRESS_TEXTS)),
    }),
  }
}

const textsIn = <K extends string>(value: unknown, names: readonly K[]) =>
  Object.fromEntries(
    names.flatMap((name) => {
      const text = fieldsOf(value)[name]
      const line = typeof text === 'string' ? oneLine(text, BUYER_TEXT_MAX) : ''
      return line === '' ? [] : [[name, line]]
    }),
  ) as { [N in K]?: string }

const filled = <K extends string, V extends object>(name: K, value: V) =>
  (Object.keys(value).length === 0 ? {} : { [name]: value }) as { [N in K]?: V }
