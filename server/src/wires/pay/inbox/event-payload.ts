import { MASK } from '../../../kernel/config/masked.ts'

/** The longest text that is stored, in characters; what is longer is cut at fewer levels. */
const LENGTH_MAX = 8_192
const LEVELS = 8
const MEMBERS_MAX = 100
const TEXT_MAX = 200

/**
 * Members whose texts and numbers may be shown: what something is, which state it has, how much and when. Of everything else
 * an operator sees that it is there. Stripe: https://docs.stripe.com/api/events/object, PayPal:
 * https://developer.paypal.com/api/rest/webhooks/#link-eventheadermessage
 */
const SHOWN = new Set(
  `id object type status state mode livemode api_version event_type event_version resource_type resource_version
  created create_time update_time expires_at time
  amount amount_total amount_subtotal amount_refunded amount_captured amount_received amount_capturable value
  currency currency_code captured refunded disputed paid capture_id final_capture
  payment_status payment_intent charge balance_transaction latest_charge failure_code reason intent
  transaction_id custom_id dispute_id order_id seller_transaction_id
  dispute_state dispute_life_cycle_stage refund pending_webhooks`.split(/\s+/),
)

/** What is ours in metadata, where a merchant may keep anything under any name. */
const OURS = new Set(['transaction_id'])

/**
 * The body of an event as JSON that an operator may see: names, addresses, cards, links and free text are masked, and
 * members without a value left out.
 *
 * @returns undefined if there is none, or it is too large even without its inner levels
 */
export function shownPayload(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined
  for (let levels = LEVELS; levels > 1; levels--) {
    const text = JSON.stringify(mask(payload, { names: SHOWN, isOpen: false, levels }))
    if (text.length <= LENGTH_MAX) return text
  }
  return undefined
}

type Place = { names: ReadonlySet<string>; isOpen: boolean; levels: number }

function mask(value: unknown, { names, isOpen, levels }: Place): unknown {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'number') return isOpen ? value : MASK
  if (typeof value === 'string') return isOpen && isPlainWord(value) ? value : MASK
  if (typeof value !== 'object') return undefined
  if (levels === 0) return '…'
  if (Array.isArray(value))
    return value.slice(0, MEMBERS_MAX).map((one) => mask(one, { names, isOpen, levels: levels - 1 }))
  const members = Object.entries(value).filter(([name, one]) => isPlainWord(name) && one !== null)
  return Object.fromEntries(
    members.slice(0, MEMBERS_MAX).map(([name, one]) => {
      const inner = name === 'metadata' ? OURS : names
      return [name, mask(one, { names: inner, isOpen: names.has(name), levels: levels - 1 })]
    }),
  )
}

/** Whether a text looks like an id, a word, a number or a time, and so fits a database: no spaces, no address of a person. */
const isPlainWord = (text: string): boolean => text.length <= TEXT_MAX && /^[\w.:+-]*$/.test(text)
