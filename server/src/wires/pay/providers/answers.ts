import { ENTRY_STATES, type LedgerEntry, type ProviderEvent, type PaymentSnapshot } from './provider.ts'

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
