// Rules of the outbox's rows that a race could break too seldom for a test through HTTP to see it.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { deriveKey } from '../../base/crypto.ts'
import { newId } from '../../base/ids.ts'
import { openDatabase } from '../../db/open.ts'
import { startApp, testClock } from '../../testing/app.ts'
import { eachEngine } from '../../testing/engines.ts'
import { createOutboxRows, type Message } from './outbox-rows.ts'

const PHONE = '+4915112345678'
const EQUAL = 10

eachEngine((engine) => {
  test('equal texts that are looked for at the same moment never take the same message of the provider', async (t) => {
    const databaseUrl = await engine.freshUrl()
    await startApp(t, engine, { databaseUrl })
    const replicas = await Promise.all([1, 2].map(() => openDatabase(databaseUrl)))
    t.after(async () => void (await Promise.all(replicas.map((db) => db.close()))))
    const clock = testClock()
    const key = deriveKey('a secret of the tests that is long enough', 'messaging-outbox')
    const outboxes = replicas.map((db) => createOutboxRows(db, clock, key))
    for (let round = 0; round < 5; round++) {
      const sids = Array.from({ length: EQUAL }, (_, at) => `SM${round}-${at}`)
      const ended = await Promise.all(
        sids.map(async (_, at) => {
          const rows = outboxes[at % 2]!
          const id = newId()
          const message: Message = {
            id,
            owner: null,
            recipient: PHONE,
            keys: [PHONE],
            subject: null,
            template: null,
            content: { channel: 'sms', text: { id, to: PHONE, body: 'Hello' } },
          }
          await replicas[at % 2]!.batch(rows.insertion(message))
          const taken = await rows.take(id)
          await rows.doubt(taken!.turn, 'nobody knows')
          return rows.settleAsOneOf(taken!.turn, sids, 'twilio')
        }),
      )
      const taken = ended.map((end) =>
        typeof end === 'object' && end.status === 'sent' ? end.messageId : end,
      )
      assert.deepEqual(new Set(taken), new Set(sids))
    }
  })
})
