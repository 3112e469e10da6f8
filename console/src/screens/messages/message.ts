import type { Api, CallReply } from '../../../../client/src/index.ts'
import type { Tone } from '../../parts/text.tsx'

/** A message as the log lists it. */
export type MessageEntry = CallReply<Api, 'GET /messaging/logs'>['logs'][number]
/** A message with what happened to it. */
export type ShownMessage = CallReply<Api, 'GET /messaging/logs/:id'>

export const CHANNELS = [
  ['email', 'Email'],
  ['sms', 'SMS'],
  ['whatsapp', 'WhatsApp'],
] as const

const TONES: Record<MessageEntry['status'], Tone> = {
  queued: 'plain',
  sending: 'plain',
  sent: 'good',
  delivered: 'good',
  failed: 'bad',
  bounced: 'bad',
}

export const STATUSES = Object.keys(TONES).map((status) => [status, status] as const)

export const toneOf = (status: MessageEntry['status']): Tone => TONES[status]
