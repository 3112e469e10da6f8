// A call that is repeated at the moment at which the job of its message ends.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine } from '../../../testing/engines.ts'
import type { MailProvider, SendOutcome } from '../providers/provider.ts'

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('a message that is reopened while its job ends', () => {
  eachEngine((engine) => {
    test('has a job, which goes on with it if the process dies', async (t) => {
      const calls: PromiseWithResolvers<SendOutcome>[] = []
      const provider: MailProvider = {
        name: 'own',
        channel: 'email',
        send() {
          const call = Promise.withResolvers<SendOutcome>()
          calls.push(call)
          return call.promise
        },
        check: async () => undefined,
        close: async () => undefined,
      }
      const server = await startApp(t, engine, { config: { messaging: { email: [provider] } } })
      const { app } = server
      const { db } = app
      const token = (await app.service('auth').keys.create('test', ['*'])).key
      const send = () =>
        server.request('POST', '/messaging/email', {
          token,
          headers: { 'idempotency-key': 'one' },
          body: { to: 'a@example.com', subject: 'Hello', body: 'Hello' },
        })
      const refused: SendOutcome = { kind: 'refused', reason: 'not now' }

      // What a process leaves that dies while it sends.
      const first = send()
      await until(() => calls.length === 1)
      const row = await db.get(
        sql<{ id: string; payload: string }>`select id, payload from messaging_messages`,
      )
      calls[0]!.resolve(refused)
      assert.equal((await first).status, 500)
      const payload = JSON.stringify({ messageId: row!.id })
      await db.batch([
        sql`update messaging_messages set status = 'queued', payload = ${row!.payload} where id = ${row!.id}`,
        sql`insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
            values (${`messaging-${row!.id}`}, 'messaging.send', ${payload}, 'ready', 0, 0, 0)`,
      ])

      // Its job is refused, and the queue is slow to write that the job is done.
      const written = Promise.withResolvers<void>()
      let isHeld = false
      const batch = db.batch.bind(db)
      db.batch = (async (steps: Parameters<typeof batch>[0]) => {
        const [head] = steps
        if (Array.isArray(head) && head.length > 0 && !isHeld && calls.length === 2) {
          isHeld = true
          await written.promise
        }
        return batch(steps)
      }) as typeof db.batch
      await until(() => calls.length === 2)
      calls[1]!.resolve(refused)
      await until(() => isHeld)

      // The caller repeats the call, and the process dies while it sends: as far as the queue knows, it never ends.
      const second = send()
      await until(() => calls.length === 3)
      written.resolve()
      await until(
        async () =>
          !(await db.get(
            sql`select id from sixwire_jobs where kind = 'messaging.send' and claimed_by is not null`,
          )),
      )
      const job = await db.get(sql`select id from sixwire_jobs where id = ${`messaging-${row!.id}`}`)
      calls[2]!.resolve({ kind: 'accepted', id: 'm' })
      assert.equal((await second).status, 200)
      assert.ok(job, 'the message has no job while it is sent')
      assert.equal(await db.get(sql`select id from sixwire_jobs where kind = 'messaging.send'`), undefined)
    })
  })
})
