// Ten thousand queued mails, and the server that sends them is killed in the middle.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openDatabase } from '../../../db/open.ts'
import { sql } from '../../../db/sql.ts'
import { eachEngine, temporaryFolder } from '../../../testing/engines.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { startScript, urlLiteral, type Program } from '../../../testing/program.ts'
import { POOL } from './outbox.ts'
import { environmentOf } from '../providers.fixture.ts'

const MAILS = 10_000
const BATCH = 500
const KILLS = 2
// A process sends no more at once, so each kill cuts no more acknowledgements.
const MOST_TWICE = POOL.atOnce * KILLS

const SERVER = `
  import { createApp } from ${urlLiteral('app.ts')}
  const app = await createApp({ folder: process.cwd(), logTo: { write() {} } })
  await app.listen()
  const messaging = app.service('messaging')
  if (process.argv[2] === 'queue')
    for (let n = 0; n < ${MAILS}; n += ${BATCH}) {
      const statements = []
      for (let i = n; i < n + ${BATCH}; i++)
        statements.push(...(await messaging.mail({ to: 'person' + i + '@example.com', template: 'magic-link',
          data: { link: 'https://app.example/#' + i } })))
      await app.db.batch(statements)
    }
  process.stdout.write('queued\\n')`

eachEngine((engine) => {
  test('ten thousand queued mails survive a kill in the middle', async (t) => {
    const folder = await temporaryFolder(t)
    const databaseUrl = await engine.migratedUrl()
    const mail = await startMailServer(t)
    const environment = {
      ...environmentOf(mail),
      DATA_DIR: folder,
      DATABASE_URL: databaseUrl,
      SIXWIRE_SANDBOX: 'off',
    }
    async function start(...words: string[]): Promise<Program> {
      const program = await startScript(t, SERVER, { folder, environment, words })
      await program.until(/queued/)
      return program
    }

    let program = await start('queue')
    for (let kill = 1; kill <= KILLS; kill++) {
      // At least so many are sent when it dies, and the rest are not.
      const moment = (MAILS * kill) / (KILLS + 2)
      while (mail.received.length < moment) await new Promise((resolve) => setTimeout(resolve, 5))
      await program.kill()
      assert.ok(mail.received.length < MAILS)
      program = await start()
    }

    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    const open = sql`select id from messaging_messages where status in ('queued', 'sending') limit 1`
    while (await db.get(open)) await new Promise((resolve) => setTimeout(resolve, 200))
    await program.kill()

    const counts = new Map<string, Set<string>>()
    for (const { to, messageId } of mail.received)
      counts.set(to[0]!, (counts.get(to[0]!) ?? new Set()).add(messageId))
    const twice = mail.received.length - MAILS
    t.diagnostic(`${twice} came twice, of at most ${MOST_TWICE} whose acknowledgement was cut`)
    assert.equal(counts.size, MAILS, 'none is lost')
    assert.ok(twice >= 0 && twice <= MOST_TWICE, `${twice} came twice`)
    assert.ok(
      [...counts.values()].every((ids) => ids.size === 1),
      'what came twice has one Message-ID',
    )
    const [left] = await db.all<{ sent: number; sealed: number }>(sql`
      select count(*) as sent, count(payload) as sealed from messaging_messages where status = 'sent'`)
    assert.deepEqual({ ...left }, { sent: MAILS, sealed: 0 })
  })
})
