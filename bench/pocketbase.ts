import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { freePort } from '../server/src/testing/free-port.ts'
import type { Bench } from './bench.ts'
import { startListener, type Listener } from './process.ts'
import { accountOf, ask, askFor } from './servers.ts'

/**
 * Starts PocketBase with a collection that everybody may read and write.
 * https://pocketbase.io/docs/api-realtime/
 */
export async function openPocketBase(
  { folder, after }: Bench,
  program: string,
  collection: string,
): Promise<Listener & { base: string }> {
  const place = ['--dir', join(folder, 'pocketbase')]
  const { email, password } = accountOf(0)
  await promisify(execFile)(program, ['superuser', 'upsert', email, password, ...place])
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const listener = await startListener(
    ['serve', '--http', `127.0.0.1:${port}`, ...place],
    { cwd: folder, env: { PATH: process.env['PATH'] }, log: join(folder, 'pocketbase.log'), program },
    async () => (await ask(base, 'GET /api/health')).status === 200,
  )
  after(() => listener.stop())
  const signIn = 'POST /api/collections/_superusers/auth-with-password'
  const { token } = await askFor<{ token: string }>(base, signIn, { body: { identity: email, password } })
  const rules = { listRule: '', viewRule: '', createRule: '', updateRule: '' }
  const fields = [
    { name: 'n', type: 'number' },
    { name: 'note', type: 'text' },
  ]
  await askFor(base, 'POST /api/collections', {
    token,
    body: { name: collection, type: 'base', fields, ...rules },
  })
  return { ...listener, base }
}
