import type { Api, CallReply } from '../../../../client/src/index.ts'
import type { Tone } from '../../parts/text.tsx'

/** A transaction as the list shows it. */
export type ShownTransaction = CallReply<Api, 'GET /onchain/transactions'>['transactions'][number]

export const TONES: Record<ShownTransaction['status'], Tone> = {
  pending: 'plain',
  confirmed: 'good',
  failed: 'bad',
  replaced: 'warning',
}

/** A hash is one of a chain. */
export const idOf = ({ chain, hash }: { chain: string; hash: string }): string => `${chain}:${hash}`
