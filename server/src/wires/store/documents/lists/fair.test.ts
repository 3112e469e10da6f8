import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { until } from '../../../../testing/until.ts'

const LARGE = 6

/** A filter of many clauses, each of which looks for a field that is not there. */
const costly = JSON.stringify({ $or: Array.from({ length: 199 }, (_, n) => ({ [`no${n}.x`]: n })) })

/** Nearly 1 MiB in many fields. */
const largeDocument = (): Record<string, string> =>
  Object.fromEntries(Array.from({ length: 25_000 }, (_, n) => [`field${n}`, `the value of it ${n}`]))

someEngine((engine) => {
  let app: TestApp
  let attacker: { _id: string; token: string }
  let other: { _id: string; token: string; email: string; password: string }
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, { config: { store: { queryLimitSeconds: 2 } } })
    attacker = await app.register()
    other = await app.register()
    const { documents } = app.app.service('store')
    const create = (collection: string, owner: string, fields: Record<string, unknown>) =>
      documents.create(collection, fields, { owner })
    for (let n = 0; n < LARGE; n++) await create('large', attacker._id, largeDocument())
    for (let n = 0; n < 3; n++) await create('books', other._id, { n })
  })

  const path = (route: string, filter: string) => `/store/${route}filter=${encodeURIComponent(filter)}`

  /** Many costly reads at once; answers their statuses when they have ended or their client has gone. */
  function attack(route: string, signal: AbortSignal) {
    const headers = { authorization: `Bearer ${attacker.token}` }
    return Array.from({ length: 80 }, async () => {
      const answer = await fetch(app.url + path(route, costly), { headers, signal }).catch(() => undefined)
      if (answer === undefined) return 'gone'
      const { error } = (await answer.json()) as { error?: { code: string } }
      if (answer.status === 503) assert.ok(Number(answer.headers.get('retry-after')) >= 1)
      return error?.code ?? answer.status
    })
  }

  for (const [reads, route] of [
    ['lists', 'large?'],
    ['groups', 'large/aggregate?by=field1&sum=field2&'],
  ] as const)
    test(`others are answered while one caller asks for more ${reads} than there is time for`, async () => {
      const client = new AbortController()
      const attacks = attack(route, client.signal)
      await Promise.race(attacks)
      const { token, email, password } = other
      for (const [name, answer] of Object.entries({
        health: await app.request('GET', '/health'),
        'sign-in': await app.request('POST', '/auth/login', { body: { email, password } }),
        list: await app.request('GET', '/store/books', { token }),
        'a filtered list': await app.request('GET', path('books?', '{"n":{"$gt":0}}'), { token }),
      }))
        assert.equal(answer.status, 200, `${name}: ${answer.text}`)
      client.abort()
      const outcomes = new Set(await Promise.all(attacks))
      for (const outcome of outcomes)
        assert.ok(['gone', 'UNAVAILABLE', 200].includes(outcome), String(outcome))
      // Nothing is left of what it asked for, once the server knows that nobody waits for it.
      await until(async () => {
        const { status } = await app.request('GET', path('large?', '{"no":1}'), { token: attacker.token })
        return status === 200
      })
    })
})
