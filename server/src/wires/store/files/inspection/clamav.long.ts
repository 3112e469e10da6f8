// The scan of docs/files.md with a real ClamAV, which knows one signature: that of the EICAR test file.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'

import type { Config } from '../../../../app.ts'
import { startApp } from '../../../../testing/app.ts'
import { eachEngine, temporaryFolder, type Ending } from '../../../../testing/engines.ts'
import { applicationFolder, blocksOf, importFile } from '../../../../testing/examples.ts'
import { until } from '../../../../testing/until.ts'
import { contentPath, upload, type Uploaded } from '../content/file-content.fixture.ts'

const CLAMD = '/usr/sbin/clamd'
// In two pieces, so that no scanner finds it here (https://www.eicar.org/download-anti-malware-testfile/).
const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD', '-ANTIVIRUS-TEST-FILE!$H+H*'].join('')
const SIGNATURE = `Eicar-Test-Signature:0:*:${Buffer.from(EICAR).toString('hex')}\n`

/** Starts ClamAV with a database of its own. @returns what ends it */
async function startClamd(ending: Ending, folder: string, socket: string): Promise<() => Promise<void>> {
  const config = join(folder, 'clamd.conf')
  await mkdir(join(folder, 'database'), { recursive: true })
  await writeFile(join(folder, 'database', 'test.ndb'), SIGNATURE)
  await writeFile(
    config,
    `Foreground yes\nLocalSocket ${socket}\nDatabaseDirectory ${folder}/database\nTemporaryDirectory ${folder}\n`,
  )
  const clamd = spawn(CLAMD, ['--config-file', config], { stdio: 'ignore' })
  const ended = once(clamd, 'exit')
  const end = async () => {
    clamd.kill()
    await ended
  }
  ending.after(end)
  await until(async () => {
    assert.equal(clamd.exitCode, null, 'clamd has ended')
    const probe = connect(socket)
    const isOpen = await once(probe, 'connect').then(
      () => true,
      () => false,
    )
    probe.destroy()
    return isOpen
  })
  return end
}

eachEngine((engine) => {
  test(
    'ClamAV finds what it knows, also in an archive, and what comes while it is down is scanned later',
    { skip: !existsSync(CLAMD) && 'ClamAV is not installed' },
    async (t) => {
      const folder = await temporaryFolder(t)
      const socket = join(folder, 'clamd.ctl')
      const [example] = (await blocksOf('docs/files.md', 'ts')).filter((block) => block.includes('INSTREAM'))
      const application = await applicationFolder(t, {
        'sixwire.config.ts': example!.replace("process.env['CLAMD_SOCKET']", JSON.stringify(socket)),
      })
      const { default: config } = (await importFile(join(application, 'sixwire.config.ts'))) as {
        default: Config
      }
      const app = await startApp(t, engine, { config })
      const { key } = await app.app.service('auth').keys.create('key', ['store'])
      const content = (file: Uploaded) => app.request('GET', contentPath(file), { token: key })
      const settled = async (file: Uploaded) => {
        await until(async () => {
          app.clock.advance(10_000)
          return (await content(file)).status !== 409
        })
        return app.request('GET', `/store/files/${file._id}`, { token: key })
      }

      const early = await upload(app, key, { bytes: 'while it is down' })
      const end = await startClamd(t, folder, socket)
      assert.equal((await settled(early)).body.status, undefined)

      const large = new Uint8Array(3_000_000).fill(1)
      const clean = await upload(app, key, { bytes: large })
      assert.equal((await settled(clean)).body.status, undefined)
      for (const bytes of [EICAR, new Uint8Array(gzipSync(EICAR))]) {
        const { status, refusal } = (await settled(await upload(app, key, { bytes }))).body
        assert.deepEqual([status, refusal], ['refused', 'Eicar-Test-Signature.UNOFFICIAL'])
      }

      await end()
      const late = await upload(app, key, { bytes: EICAR })
      await until(() => /store\.files\.scan: connect/.test(app.log()))
      assert.equal((await content(late)).status, 409)
      await startClamd(t, folder, socket)
      assert.equal((await settled(late)).body.status, 'refused')
    },
  )
})
