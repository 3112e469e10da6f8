import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

import { createApp, createClient, type Api, type ApiOf } from 'sixwire'

import { notes } from './index.ts'

const folder = await mkdtemp(join(tmpdir(), 'notes-'))
const app = await createApp({
  config: { wires: [notes()] },
  environment: { PORT: '0', LOG_LEVEL: 'silent', SIXWIRE_SANDBOX: 'off' },
  folder,
})
const api = createClient<Api & ApiOf<typeof notes>>(await app.listen())
after(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

async function register(email: string): Promise<string> {
  const body = { email, password: 'a long passphrase' }
  const { token } = await api.call('POST /auth/register', { body })
  return token
}

test('users read the notes that they wrote, and no others', async () => {
  const [ada, eve] = [await register('ada@example.com'), await register('eve@example.com')]
  const note = await api.call('POST /notes', { token: ada, body: { text: 'Buy milk' } })
  assert.equal(note.text, 'Buy milk')
  assert.deepEqual(await api.call('GET /notes', { token: ada }), { notes: [note] })
  assert.deepEqual(await api.call('GET /notes', { token: eve }), { notes: [] })
  await assert.rejects(api.call('GET /notes'), { status: 401 })
})
