// Lists of payments, messages and accounts in every order: their pages by cursors are the rows in that order, each once.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { leastIdOf } from '../base/ids.ts'
import { sql } from '../db/sql.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { eachEngine, endOfSuite } from '../testing/engines.ts'

const BEGIN = Date.UTC(2029, 0, 1)
const NUMBERS = Array.from({ length: 12 }, (_, n) => n)
const idAt = (n: number): string => leastIdOf(BEGIN + n) + String(n).padStart(16, '0')

type Key = string | number
/** What each order compares, by the number of the row. */
type List = { path: string; field: string; keys: Readonly<Record<string, (n: number) => Key>> }

const STATUSES = ['pending', 'completed', 'failed'] as const
const EMAILS = ['b@example.com', undefined, 'a_b@example.com', 'a.c@example.com', 'ä@example.com'] as const
const SENT = ['sent', 'bounced'] as const
const NAMES = ['zoë', undefined, 'ada-b', 'adac', '李'] as const
/** Smallest units and decimal places; the number that they are is the order. */
const AMOUNTS = [
  ['1250', 2],
  ['13', 0],
  ['1', 18],
  ['1249', 2],
  [String(2n ** 200n), 18],
  ['1300', 2],
] as const
const at = <T>(list: readonly T[], n: number): T => list[n % list.length]!
const numberOf = ([units, places]: readonly [string, number]): number => Number(units) / 10 ** places

const LISTS: Readonly<Record<string, List>> = {
  payments: {
    path: '/pay/transactions?from=2029-01-01',
    field: 'transactions',
    keys: {
      createdAt: (n) => n,
      status: (n) => at(STATUSES, n),
      provider: (n) => at(['onchain', 'cardpay'], n),
      email: (n) => at(EMAILS, n) ?? '',
      amount: (n) => numberOf(at(AMOUNTS, n)),
    },
  },
  messages: {
    path: '/messaging/logs?since=2029-01-01',
    field: 'logs',
    keys: { createdAt: (n) => n, status: (n) => at(SENT, n) },
  },
  accounts: {
    path: '/auth/users?since=2029-01-01',
    field: 'users',
    keys: {
      createdAt: (n) => Math.floor(n / 2),
      lastSignInAt: (n) => (n % 3 === 0 ? 0 : n % 4),
      email: (n) => `${11 - n}-x@example.com`,
      name: (n) => at(NAMES, n) ?? '',
    },
  },
}

const bytesOf = (key: Key): Key => (typeof key === 'string' ? Buffer.from(key).toString('hex') : key)

describe('sorted lists', () => {
  eachEngine((engine) => {
    let app: TestApp
    let token: string
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, { sandbox: true })
      token = (await app.register()).token
      await app.app.db.batch(
        NUMBERS.flatMap((n) => {
          const [amount, exponent] = at(AMOUNTS, n)
          const email = at(EMAILS, n) ?? null
          const name = at(NAMES, n) ?? null
          const lastSignInAt = n % 3 === 0 ? null : n % 4
          return [
            sql`
              insert into pay_transactions (id, owner, provider, status, amount, currency, exponent, captured, refunded, reserved,
                is_settled, version, created_at, updated_at, email, email_key)
              values (${idAt(n)}, 'ann', ${at(['onchain', 'cardpay'], n)}, ${at(STATUSES, n)}, ${amount}, 'X', ${exponent}, '0', '0', '0',
                1, 0, ${BEGIN}, ${BEGIN}, ${email}, ${email})`,
            sql`
              insert into messaging_messages (id, channel, recipient, status, attempts, lease_until, created_at, updated_at)
              values (${idAt(n)}, 'email', 'x', ${at(SENT, n)}, 1, 0, ${BEGIN}, ${BEGIN})`,
            sql`
              insert into auth_users (id, email, email_key, name, name_key, metadata, role, credentials_version, created_at, updated_at,
                last_sign_in_at)
              values (${idAt(n)}, ${`${11 - n}-x@example.com`}, ${`${11 - n}-x@example.com`}, ${name}, ${name}, '{}', 'user', 1,
                ${BEGIN + Math.floor(n / 2)}, ${BEGIN}, ${lastSignInAt})`,
          ]
        }),
      )
    })

    const page = async (path: string) => {
      const { status, body, text } = await app.request('GET', path, { token })
      assert.equal(status, 200, text)
      return body
    }

    for (const [list, { path, field, keys }] of Object.entries(LISTS))
      test(`of ${list} have each row once, page after page`, async () => {
        for (const [name, keyOf] of Object.entries(keys))
          for (const sort of [name, `-${name}`]) {
            const sign = sort.startsWith('-') ? -1 : 1
            const expected = NUMBERS.toSorted((a, b) => {
              const [one, other] = [bytesOf(keyOf(a)), bytesOf(keyOf(b))]
              return sign * (one === other ? a - b : one < other ? -1 : 1)
            }).map(idAt)
            const ids: string[] = []
            let cursor = ''
            do {
              const answer = await page(`${path}&sort=${sort}&limit=5${cursor}`)
              ids.push(...answer[field].map(({ _id }: { _id: string }) => _id))
              assert.equal(answer.total, NUMBERS.length)
              cursor = answer.nextCursor === undefined ? '' : `&cursor=${answer.nextCursor}`
            } while (cursor !== '')
            assert.deepEqual(ids, expected, sort)
          }
      })

    test('find by a part of the name in the order that is asked for', async () => {
      const { users } = await page('/auth/users?q=ada&sort=name')
      assert.deepEqual(
        users.map(({ name }: { name: string }) => name),
        ['ada-b', 'ada-b', 'adac', 'adac'],
      )
    })

    test('take no cursor of another order', async () => {
      const { nextCursor } = await page('/pay/transactions?sort=amount&limit=1')
      for (const sort of ['', '&sort=-amount', '&sort=createdAt', '&sort=status']) {
        const { status, body } = await app.request('GET', `/pay/transactions?cursor=${nextCursor}${sort}`, {
          token,
        })
        assert.equal(status, 400, sort)
        assert.match(body.error.message, /in the same order/)
      }
    })

    test('take no cursor that was made up', async () => {
      for (const [path, place] of [
        ['/pay/transactions?sort=amount', `amount ${idAt(1)} t%80`],
        ['/messaging/logs?sort=status', `status ${idAt(1)} n5`],
        ['/auth/users?sort=email', `email ${idAt(1)} t%C3`],
        ['/auth/users?sort=createdAt', `createdAt ${idAt(1)} tabc`],
        ['/auth/users?sort=-lastSignInAt', `-lastSignInAt ${idAt(1)} t`],
      ] as const) {
        const cursor = Buffer.from(place).toString('base64url')
        const { status, text } = await app.request('GET', `${path}&cursor=${cursor}`, { token })
        assert.equal(status, 400, text)
        assert.match(text, /\/query\/cursor/)
      }
    })
  })
})
