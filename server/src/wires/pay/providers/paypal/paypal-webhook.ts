import { verify } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { crc32 } from 'node:zlib'

import type { Clock } from '../../../../base/clock.ts'
import { errors, invalid } from '../../../../base/errors.ts'
import { jsonOf, type Reply } from '../../../../outbound/outbound.ts'
import { receiveErrors, type Receiver } from '../../../../providers/receive.ts'
import type { ProviderEvent } from '../provider.ts'
import type { Certificates } from './paypal-certificate.ts'
import { eventOf } from './paypal-event.ts'
import { objectOf } from './paypal-fields.ts'
import { sentence } from './paypal-outcome.ts'

/** PayPal repeats a webhook for 3 days, and may keep the time of its first transmission. */
const OLDEST_MS = 3 * 24 * 3_600_000
const AHEAD_MS = 300_000
const HEADER_MAX = 1_000
const ASK_MS = 5_000
const ASKS_A_MINUTE = 60
const ASKS_AT_ONCE = 4

type Transmission = {
  id: string
  time: string
  signature: string
  certUrl: string
  algorithm: string
  address: URL
}

/**
 * Verifies and reads PayPal's webhooks: https://developer.paypal.com/api/rest/webhooks/rest/#link-selfverification
 *
 * The signature is checked here if the certificate of the sender can be had and is trusted. If not, PayPal is asked
 * (`verify-webhook-signature`), at most 60 times a minute; a certificate is trusted after PayPal has confirmed a signature of it.
 *
 * @param options.ask sends a body to `verify-webhook-signature`
 */
export function paypalReceiver(options: {
  webhookId: string | undefined
  certificates: Certificates
  ask: (body: Buffer, limitMs: number) => Promise<Reply>
  clock: Clock
}): Required<Receiver<ProviderEvent>> {
  const { webhookId, certificates, ask, clock } = options
  let asks: number[] = []
  let asking = 0

  function configured(): string {
    if (webhookId !== undefined) return webhookId
    throw errors.provider_not_configured({
      message:
        'Webhooks of PayPal cannot be verified: set PAYPAL_WEBHOOK_ID to the ID of the webhook at PayPal.',
    })
  }

  function transmissionOf(headers: IncomingHttpHeaders): Transmission {
    const header = (name: string): string => {
      const value = headers[name]
      if (typeof value === 'string' && value !== '' && value.length <= HEADER_MAX) return value
      throw receiveErrors.invalid_signature()
    }
    const certUrl = header('paypal-cert-url')
    const address = certificates.addressOf(certUrl)
    const transmission = {
      id: header('paypal-transmission-id'),
      time: header('paypal-transmission-time'),
      signature: header('paypal-transmission-sig'),
      algorithm: header('paypal-auth-algo'),
    }
    const sentAt = Date.parse(transmission.time)
    const now = clock.now()
    const isTimely = sentAt >= now - OLDEST_MS && sentAt <= now + AHEAD_MS
    if (!address || !isTimely || transmission.algorithm.toLowerCase() !== 'sha256withrsa')
      throw receiveErrors.invalid_signature()
    return { ...transmission, certUrl, address }
  }

  /** Asks PayPal whether a request is its own. The event is sent byte by byte as it came: the signature is over these. */
  async function askPayPal(transmission: Transmission, id: string, bytes: Buffer): Promise<void> {
    asks = asks.filter((at) => at > clock.elapsed() - 60_000)
    if (asks.length >= ASKS_A_MINUTE || asking >= ASKS_AT_ONCE)
      throw errors.unavailable({
        retryAfter: 60,
        cause: new Error('PayPal is asked about too many webhooks'),
      })
    asks.push(clock.elapsed())
    asking++
    const fields = JSON.stringify({
      auth_algo: transmission.algorithm,
      cert_url: transmission.certUrl,
      transmission_id: transmission.id,
      transmission_sig: transmission.signature,
      transmission_time: transmission.time,
      webhook_id: id,
    })
    const body = Buffer.concat([
      Buffer.from(`${fields.slice(0, -1)},"webhook_event":`),
      bytes,
      Buffer.from('}'),
    ])
    const reply = await ask(body, ASK_MS).finally(() => asking--)
    const status = reply.kind === 'answered' && reply.status === 200 ? statusOf(reply) : undefined
    if (status === 'SUCCESS') return
    // 400: what the request says of itself is not even well-formed.
    if (status !== undefined || (reply.kind === 'answered' && reply.status === 400))
      throw receiveErrors.invalid_signature()
    const reason = reply.kind === 'answered' ? sentence(reply) : reply.reason
    throw errors.unavailable({ cause: new Error(`a webhook cannot be verified now: ${reason}`) })
  }

  return {
    authorize(headers) {
      configured()
      transmissionOf(headers)
    },

    async receive({ headers, bytes }) {
      const id = configured()
      const transmission = transmissionOf(headers)
      const certificate = await certificates.get(transmission.address)
      if (certificate) {
        const message = Buffer.from(`${transmission.id}|${transmission.time}|${id}|${crc32(bytes)}`)
        const signature = Buffer.from(transmission.signature, 'base64')
        // A certificate from PayPal's host that did not make this signature is enough to refuse it.
        if (!verify('sha256', message, certificate.key, signature)) throw receiveErrors.invalid_signature()
      }
      const event = parse(bytes)
      const ask = async (): Promise<void> => {
        if (event === undefined) throw receiveErrors.invalid_signature()
        await askPayPal(transmission, id, bytes)
      }
      await (certificate ? certificate.confirm(ask) : ask())
      const providerEvent = eventOf(event)
      if (!providerEvent)
        throw invalid({ path: '/body', message: 'must be an event with an id and an event_type' })
      return [{ ...providerEvent, payload: event }]
    },
  }
}

function statusOf(reply: Reply & { kind: 'answered' }): string | undefined {
  const { verification_status } = objectOf(jsonOf(reply))
  return typeof verification_status === 'string' ? verification_status : undefined
}

/** Parses the body; undefined if it is not JSON in UTF-8. */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)) as unknown
  } catch {
    return undefined
  }
}
