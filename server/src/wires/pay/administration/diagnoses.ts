import type { Static } from 'typebox'

import type { Clock } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { findingIf, warning, type Diagnosis } from '../../../kernel/wire/diagnosis.ts'
import type { PayOptions } from '../options.ts'

const DAY_MS = 86_400_000
const WAIT_MS = 600_000

type Options = Pick<Static<typeof PayOptions>, 'stripe' | 'paypal'>

/** What `sixwire doctor` looks at in payments. */
export const payDiagnoses = (
  { db, clock }: { db: Database; clock: Pick<Clock, 'now'> },
  { stripe, paypal }: Options,
  { production, providers }: { production: boolean; providers: readonly string[] },
): Diagnosis[] => [
  {
    name: 'test providers',
    about: 'whether a production server uses the test mode of a payment provider',
    opens: { title: 'Show the settings of payments', at: 'settings?q=pay' },
    find: async () => [
      ...findingIf(production && /^(sk|rk)_test_/.test(stripe?.secretKey ?? ''), () =>
        warning(
          'STRIPE_SECRET_KEY is a key of the test mode: no money is charged',
          'set the live key from the Stripe dashboard',
        ),
      ),
      ...findingIf(production && /sandbox/.test(paypal?.apiBase ?? ''), () =>
        warning(
          'PAYPAL_API_BASE is the sandbox of PayPal: no money is charged',
          'remove it, and set the live credentials',
        ),
      ),
    ],
  },
  {
    name: 'events',
    about: 'whether anything was ever received of a provider that payments were made with',
    opens: { title: 'Show the payment events', at: 'payment-events' },
    async find() {
      const silent: string[] = []
      for (const provider of providers) {
        // Of older ones the events are forgotten; one of now may still come.
        const now = clock.now()
        const newest = await db.get<{ created_at: number }>(sql`
          select created_at from pay_transactions where provider = ${provider} and status = 'completed'
          order by id desc limit 1`)
        const isRecent = newest && newest.created_at > now - DAY_MS && newest.created_at < now - WAIT_MS
        if (isRecent && !(await hasEvents(db, provider))) silent.push(provider)
      }
      return silent.map((provider) =>
        warning(
          `payments were made with ${provider}, and no event of it was ever received`,
          'enter the webhook in the dashboard of the provider: docs/pay.md has its address and events',
        ),
      )
    },
  },
]

const hasEvents = async (db: Database, provider: string): Promise<boolean> =>
  (await db.get(sql`select event_id from pay_events where provider = ${provider} limit 1`)) !== undefined
