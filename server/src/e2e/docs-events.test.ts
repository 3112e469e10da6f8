// The examples of docs/events.md run, its list of events is whole, and its bodies have the fields that are sent.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { loadConfig } from '../app.ts'
import { startApp } from '../testing/app.ts'
import { assemble } from '../testing/assemble.ts'
import { anyEngine } from '../testing/engines.ts'
import { applicationFolder, blocksOf, importFile, shell } from '../testing/examples.ts'
import { freePort } from '../testing/free-port.ts'
import { startMailServer } from '../testing/mail-server.ts'
import { until } from '../testing/until.ts'
import { startReceiver } from '../testing/webhook-receiver.ts'
import { environmentOf } from '../wires/messaging/providers.fixture.ts'
import { startTill } from '../wires/pay/pay.fixture.ts'

const PAGE = 'docs/events.md'

test('the page lists each type of event, and no other', async (t) => {
  const app = await assemble(t)
  const text = await readFile(new URL(`../../../${PAGE}`, import.meta.url), 'utf8')
  const listed = [...text.slice(text.indexOf('## All events')).matchAll(/`((?:\w+\.){2}[a-z_]+)`/g)]
  const types = new Set(listed.map(([, type]) => type!.replace('store.COLLECTION.', 'store.*.')))
  assert.deepEqual([...types].toSorted(), app.eventTypes().toSorted())
})

anyEngine((engine) => {
  test('the receiver of the page takes what the configuration of the page sends', async (t) => {
    const [makeSecret, enable, list] = await blocksOf(PAGE, 'sh')
    const [config, wire] = await blocksOf(PAGE, 'ts')
    const [receiver] = await blocksOf(PAGE, 'js')
    const port = await freePort()
    const here = (script: string) =>
      script.replaceAll('localhost:4000', `localhost:${port}`).replace('listen(4000)', `listen(${port})`)
    const folder = await applicationFolder(t, {
      'sixwire.config.ts': here(config!),
      'receiver.mjs': here(receiver!),
      'orders.ts': wire!,
    })
    const app = await startApp(t, engine)
    const secret = (await shell(makeSecret!, app)).trim()
    await app.stop()
    const child = spawn(process.execPath, [join(folder, 'receiver.mjs')], {
      env: { ...process.env, WEBHOOK_SECRET: secret },
    })
    t.after(() => void child.kill())
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))

    // A stranger is refused, once it listens.
    const stranger = () => fetch(`http://localhost:${port}/events`, { method: 'POST', body: '{}' })
    await until(async () => (await stranger().catch(() => undefined))?.status === 401)

    process.env['WEBHOOK_SECRET'] = secret
    t.after(() => void delete process.env['WEBHOOK_SECRET'])
    const server = await startApp(t, engine, { config: await loadConfig(folder) })
    const { _id, token } = await server.register('ada@example.com')
    await until(() => output.includes('auth.user.created') && output.includes(_id))
    const TOKEN = token
    const answered = JSON.parse(
      await shell(enable!.replace('localhost-4000', `localhost-${port}`), server, { TOKEN }),
    )
    assert.equal(answered.state, 'on')
    await until(async () => JSON.parse(await shell(list!, server, { TOKEN })).deliveries.length === 1)
    assert.equal(typeof (await importFile(join(folder, 'orders.ts')))['orders'], 'function')
  })

  test('the bodies on the page have the fields of those that are sent', async (t) => {
    const [mail, receiver] = [await startMailServer(t), await startReceiver(t)]
    const { url, secret } = receiver
    const till = await startTill(t, engine, {
      environment: environmentOf(mail),
      config: { webhooks: [{ url, secret, events: ['*'] }] },
    })
    const { token } = await till.app.register('ada@example.com')
    const metadata = { theme: 'dark' }
    await till.app.request('PATCH', '/auth/me', { token, body: { name: 'Ada', metadata } })
    await till.call('POST /messaging/email', {
      to: 'ada@example.com',
      subject: 'Your order',
      body: '<p>1</p>',
    })
    await till.paid(1000)
    await until(() =>
      ['auth.user.updated', 'pay.transaction.completed'].every((type) => receiver.ofType(type).length > 0),
    )
    await until(() => receiver.ofType('messaging.message.sent').some(({ data }) => 'subject' in data))
    for (const block of await blocksOf(PAGE, 'json')) {
      const example = JSON.parse(block) as { type: string; data: object }
      const sent = receiver.ofType(example.type).find(({ data }) => !('template' in data))
      if (sent) assert.deepEqual(Object.keys(sent.data), Object.keys(example.data), example.type)
    }
  })
})
