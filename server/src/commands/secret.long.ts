import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { startApp } from '../testing/app.ts'
import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { startProgram } from '../testing/program.ts'
import { checkFilled, fill } from './secret.fixture.ts'

const KILLS = 25
/** How long a rotation of this little takes, once the new secret is written down; SQLite starts a thread for its reads. */
const WINDOW_MS = { sqlite: 200, postgres: 60 }

eachEngine((engine) => {
  test(`sixwire secret rotate, killed ${KILLS} times at any moment, loses nothing`, async (t) => {
    const folder = await temporaryFolder(t)
    const databaseUrl = await engine.migratedUrl()
    const start = () =>
      startApp(t, engine, { databaseUrl, environment: { DATA_DIR: folder, SIXWIRE_SECRET: '' } })
    const secret = () => readFile(join(folder, 'secret'), 'utf8')
    let server = await start()
    const filled = await fill(server)
    await server.stop()
    const ends = { before: 0, finished: 0, after: 0 }
    for (let kill = 1; kill <= KILLS; kill++) {
      const before = await secret()
      const program = startProgram(t, ['secret', 'rotate', '--stopped'], {
        folder,
        environment: { DATABASE_URL: databaseUrl, DATA_DIR: folder },
      })
      const next = join(folder, 'secret.next')
      while (!existsSync(next)) await delay(1)
      const pauseMs = Math.random() * WINDOW_MS[engine.name]
      await delay(pauseMs)
      await program.kill()
      const killedAs = await secret()
      server = await start()
      await checkFilled(server, filled)
      await server.stop()
      const now = await secret()
      // The next run would use it, and nothing would show when it begins to encrypt.
      await rm(next, { force: true })
      if (now === before) ends.before++
      else if (now === killedAs) ends.after++
      else ends.finished++
      t.diagnostic(`killed after ${Math.round(pauseMs)} ms: ${JSON.stringify(ends)}`)
    }
    assert.ok(ends.finished + ends.after > 0, 'some were killed after the database was changed')
    const { ended } = startProgram(t, ['secret', 'rotate', '--stopped'], {
      folder,
      environment: { DATABASE_URL: databaseUrl, DATA_DIR: folder },
    })
    assert.equal(await ended, 0)
    await checkFilled(await start(), filled)
  })
})
