import { createHmac } from 'node:crypto'

import { sandboxAsset } from '../asset.ts'
import { deriveKey } from '../../../server/src/base/crypto.ts'
import { sql } from '../../../server/src/db/sql.ts'
import { createFiles } from '../files.ts'
import { PROVIDER_PAGE_POLICY } from '../provider-page.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import { expireOverdue as endOverdue } from './cancellations.ts'
import { createCardpayApi } from './cardpay-api.ts'
import { createChanges, type Origin } from './change.ts'
import { createCheckout } from './checkout.ts'
import { disputeLater } from './disputes.ts'
import { createIdempotentCalls } from './idempotency.ts'
import { counts, latestChange, overdueSessions } from './objects.ts'
import { settleLater } from './refunds.ts'
import { createSandboxApi } from './sandbox-api.ts'
import { CARD_WORDS } from './test-cards.ts'

const NAME = 'cardpay'

/** Where the application takes the webhooks, below its own address. */
const WEBHOOK_PATH = '/pay/cardpay/webhook'

/**
 * The header of a webhook.
 *
 * @see https://docs.stripe.com/webhooks#verify-manually
 * @param time seconds since 1970
 */
export const signatureOf = (secret: string, time: number, body: string): string =>
  `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`

/** Stands in for Stripe: its API, its hosted checkout page and its webhooks. */
export function createCardpay(context: StandInContext): StandIn {
  const { db, clock, settings, log, jobs, faults, base } = context
  const key = deriveKey(settings.secret, 'sandbox.cardpay')
  const text = (purpose: string): string =>
    key
      .mac(purpose)
      .replaceAll(/[^A-Za-z0-9]/g, '')
      .slice(0, 32)
  const secretKey = `sk_test_${text('secret key')}`
  const ownWebhookSecret = `whsec_${text('webhook secret')}`
  let webhookSecret = ownWebhookSecret
  const address = `${base}/${NAME}`
  const root = new URL(base).pathname

  const webhooks = context.webhooks.of(NAME, {
    // This process sends them, so to the address where it listens.
    url: base.replace(/\/sandbox$/, '') + WEBHOOK_PATH,
    sign: ({ body }) => ({
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
      'stripe-signature': signatureOf(webhookSecret, Math.floor(clock.now() / 1000), body),
    }),
  })
  const changes = createChanges(
    { db, clock, jobs, webhooks },
    {
      perform: (change, { what, id }) =>
        what === 'dispute' ? disputeLater(change, id) : settleLater(change, id),
    },
  )
  const calls = createIdempotentCalls({ db, clock })

  /** What a buyer does is no call, but its webhooks get lost all the same. */
  async function originOf(): Promise<Origin> {
    const { [NAME]: fault } = await faults.all()
    if (fault?.callback === undefined) return {}
    const { callback } = await faults.next(NAME)
    return { callback }
  }

  async function expireOverdue(): Promise<void> {
    const overdue = await overdueSessions(db, Math.floor(clock.now() / 1000))
    for (const id of overdue) await changes.run(await originOf(), (change) => endOverdue(change, id))
  }

  return {
    name: NAME,
    takesFaults: true,
    describe: () => ({
      STRIPE_API_BASE: address,
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: ownWebhookSecret,
    }),
    async routes(engine) {
      const pageOf = (id: string): string => `${address}/pay/${id}`
      await engine.register(
        createCardpayApi({
          db,
          clock,
          log,
          faults,
          changes,
          calls,
          address,
          secretKey,
          pageOf,
          expireOverdue,
        }),
        { prefix: `/${NAME}/v1` },
      )
      await engine.register(
        createFiles({
          folder: sandboxAsset('cardpay/page/'),
          at: `/${NAME}/page`,
          pages: [],
          words: {},
          policy: PROVIDER_PAGE_POLICY,
        }),
      )
      await engine.register(
        createCheckout({ db, clock, changes, application: settings.name, root, originOf, expireOverdue }),
        { prefix: `/${NAME}/pay` },
      )
      await engine.register(createSandboxApi({ db, changes }, { originOf, expireOverdue }))
    },
    async state() {
      const {
        event: events = 0,
        session: sessions = 0,
        refund: refunds = 0,
        dispute: disputes = 0,
      } = await counts(db)
      return {
        address,
        secretKey,
        webhookSecret,
        sessions,
        refunds,
        disputes,
        events,
        webhooksWaiting: await webhooks.waiting(),
        magic: CARD_WORDS,
      }
    },
    part: { name: NAME, version: () => latestChange(db) },
    async reset() {
      await db.batch([
        webhooks.deleteSql(),
        changes.deleteLaterSql(),
        sql`delete from sandbox_cardpay_calls`,
        sql`delete from sandbox_cardpay_objects`,
      ])
    },
    async start(configured) {
      webhookSecret = configured['STRIPE_WEBHOOK_SECRET'] ?? webhookSecret
      await calls.releaseAll()
    },
  }
}
