import { leastIdOf } from '../../server/src/base/ids.ts'
import { sql, type Sql } from '../../server/src/db/sql.ts'
import type { TestApp } from '../../server/src/testing/app.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAYS = 60

/** Up and down over a week, and growing: how many of something there are on a day that is so many days ago. */
const wave = (daysAgo: number, most: number): number =>
  Math.round(
    most * (0.35 + 0.65 * (1 - daysAgo / DAYS)) * (0.7 + 0.3 * Math.cos(((daysAgo % 7) / 7) * 2 * Math.PI)),
  )

/** Rows as sixty days of use leave them behind: accounts, activity, payments, messages, requests and levels. */
export async function addBusyMonth(app: TestApp): Promise<void> {
  const now = app.clock.now()
  const steps: Sql[] = [
    sql`insert into store_usage (owner, slot, files, bytes) values ('', 15, 900, 226000000)`,
  ]
  let count = 0
  const idAt = (ms: number): string => `${leastIdOf(ms)}${String(++count).padStart(16, '0')}`
  for (let daysAgo = DAYS; daysAgo >= 0; daysAgo--) {
    const noon = now - daysAgo * DAY_MS - HOUR_MS
    for (let n = 0; n < wave(daysAgo, 14); n++) steps.push(...accountSql(idAt(noon - n * 60_000), noon))
    steps.push(
      sumSql('revenue', noon, 'EUR', wave(daysAgo, 184_250)),
      sumSql('revenue', noon, 'USD', wave(daysAgo + 3, 61_900)),
      ...(daysAgo % 4 === 1 ? [sumSql('refunds', noon, 'EUR', 4_990 + daysAgo * 10)] : []),
      levelSql('store stored-bytes', 'files', noon, 40_000_000 + (DAYS - daysAgo) * 3_100_000),
    )
    for (const [status, most] of [
      ['delivered', 30],
      ['sent', 6],
      ['bounced', 2],
      ['failed', 1],
    ] as const)
      for (let n = 0; n < wave(daysAgo, most); n++)
        steps.push(messageSql(idAt(noon - n * 60_000), status, noon))
    for (let hour = 0; hour < 24; hour++)
      steps.push(hourSql(Math.floor(noon / HOUR_MS) - hour, wave(daysAgo, 900 + 40 * (hour % 12))))
  }
  await app.app.db.batch(steps)
}

const accountSql = (id: string, at: number): Sql[] => [
  sql`
    insert into auth_users (id, email, email_key, metadata, role, credentials_version, email_verified_at, created_at, updated_at)
    values (${id}, ${`${id}@example.com`}, ${`${id}@example.com`}, '{}', 'user', 1, ${at}, ${at}, ${at})`,
  ...Array.from({ length: 6 }, (_, n) => Math.floor(at / HOUR_MS) + n * 26).map(
    (hour, n) => sql`
      insert into auth_active_hours (user_id, hour, previous_hour) values (${id}, ${hour}, ${n === 0 ? null : hour - 26})`,
  ),
]

const sumSql = (kind: string, at: number, currency: string, amount: number): Sql => sql`
  insert into pay_sums (kind, quarter, currency, exponent, limb, writer, amount)
  values (${kind}, ${Math.floor(at / 900_000)}, ${currency}, 2, 0, 0, ${amount})`

const messageSql = (id: string, status: string, at: number): Sql => sql`
  insert into messaging_messages (id, channel, recipient, status, attempts, lease_until, created_at, updated_at)
  values (${id}, 'email', 'eve@example.com', ${status}, 1, 0, ${at}, ${at})`

const hourSql = (hour: number, requests: number): Sql => sql`
  insert into sixwire_log_hours (hour, process, requests, refusals, failures, us, omitted)
  values (${hour}, 'before', ${requests}, ${Math.round(requests / 22)}, ${hour % 17 === 0 ? 3 : 0}, ${requests * 4_000}, 0)`

const levelSql = (series: string, part: string, at: number, value: number): Sql => sql`
  insert into sixwire_levels (series, part, hour, value) values (${series}, ${part}, ${Math.floor(at / HOUR_MS)}, ${value})`
