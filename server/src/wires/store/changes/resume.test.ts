import { randomInt } from 'node:crypto'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { openDatabase } from '../../../db/open.ts'
import { startApp } from '../../../testing/app.ts'
import { someEngine } from '../../../testing/engines.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { agree, mirror } from './mirror.fixture.ts'
import { randomFrom, writeByRequests, writeByTransactions, type Pool } from './random-writes.fixture.ts'

const SEED = Number(process.env['SEED'] ?? randomInt(2 ** 31))
const CUTS = 20
const CUT_MS = isLongRun ? 1500 : 100
/** What each writer writes to, by requests and by transactions of several statements. */
const REQUESTED = [
  ['tasks', 'notes'],
  ['notes', 'tasks'],
  ['memberships', 'tasks', 'tasks', 'notes', 'tasks'],
]
const WRITTEN = ['tasks', 'notes', 'tasks']

const store = {
  user: { teams: { collection: 'memberships', filter: { user: '$$user._id' }, value: 'team' } },
  collections: {
    tasks: {
      read: ['owner', { members: '$$user._id' }, { team: { $in: '$$user.teams' } }],
      create: 'user',
      showTo: { text: 'owner' },
    },
    notes: { read: 'public', create: 'user' },
    memberships: { read: 'admin', create: 'admin' },
  },
} as const

someEngine((engine) => {
  test('after many cuts under load, each client holds what its list shows', async (t) => {
    t.diagnostic(`seed ${SEED}`)
    const random = randomFrom(SEED)
    const databaseUrl = await engine.migratedUrl()
    const app = await startApp(t, engine, { config: { store }, databaseUrl })
    const admin = await app.register()
    const [ada, bob] = [await app.register(), await app.register()]
    const url = () => app.url
    const tasks = { collection: 'tasks' }
    const mirrors = [
      mirror(t, { url, token: ada.token, watches: [tasks] }),
      mirror(t, { url, token: bob.token, watches: [{ ...tasks, filter: { n: { $gt: 4 } } }] }),
      mirror(t, { url, token: undefined, watches: [{ collection: 'notes', filter: { state: 'open' } }] }),
      mirror(t, { url, token: admin.token, watches: [{ ...tasks, filter: { 'members.0': ada._id } }] }),
      mirror(t, {
        url,
        token: bob.token,
        watches: [
          { ...tasks, fields: 'n,state' },
          { collection: 'notes', filter: { team: { $ne: 'red' } } },
          { ...tasks, filter: { $or: [{ n: 1 }, { state: 'done' }] } },
        ],
      }),
    ]
    let isOver = false
    const writing = { random, users: [ada._id, bob._id] }
    const pool: Pool = new Map()
    const more = { writing, isOver: () => isOver }
    const requests = REQUESTED.map((collections) =>
      writeByRequests(app, admin.token, pool, { ...more, collections }),
    )
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    const others = WRITTEN.map((collection) => writeByTransactions(db, pool, { ...more, collection }))
    const began = performance.now()
    for (let cut = 0; cut < CUTS; cut++) {
      await delay(random(2 * CUT_MS))
      mirrors[random(mirrors.length)]!.cut()
    }
    isOver = true
    const writes = (await Promise.all([...requests, ...others])).reduce((sum, one) => sum + one, 0)
    const seconds = (performance.now() - began) / 1000
    t.diagnostic(
      `${writes} writes in ${seconds.toFixed(1)} s; ${JSON.stringify(mirrors.map(({ counts }) => counts))}`,
    )
    await agree(mirrors).catch((error: unknown) => {
      throw new Error(`SEED=${SEED} ${String(error)}`, { cause: error })
    })
    assert.ok(mirrors.every(({ held }) => held[0]!.size > 0))
  })
})
