// Every example of the README and of docs/ runs; those that use a chain are in docs-chains.test.ts,
// those of docs/extending.md in docs-extending.test.ts, and those of docs/auth.md, docs/files.md and docs/pay.md in docs-auth.test.ts, docs-files.test.ts and docs-pay.test.ts.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { limitsTable, PAGE, withTable } from '../../../scripts/limits-table.ts'
import { loadConfig, type Config } from '../app.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { appForAll } from '../testing/auth.ts'
import { someEngine } from '../testing/engines.ts'
import { applicationFolder, blocksOf, importFile, shell } from '../testing/examples.ts'
import { startMailServer } from '../testing/mail-server.ts'
import { until } from '../testing/until.ts'
import { readyIndexes } from '../wires/store/documents/storage/indexes/indexes.fixture.ts'

someEngine((engine) => {
  const shared = appForAll(engine)
  // The first one is an administrator, who would see what others have; each test has an account of its own.
  before(async () => void (await shared().register()))

  test('the five minutes of the README', async (t) => {
    const app = await startApp(t, engine, { sandbox: true })
    const [, , register, create, find, save, mail, checkout, payment] = await blocksOf('README.md', 'sh')
    const made = JSON.parse(await shell(register!.replace(/^TOKEN=.*$/m, ''), app))
    assert.equal(made.user.email, 'me@example.com')
    const book = JSON.parse(await shell(create!, app, { TOKEN: made.token }))
    assert.equal(book.title, 'Momo')
    const found = JSON.parse(await shell(find!, app, { TOKEN: made.token }))
    assert.deepEqual(found.data, [book])
    const saved = (await shell(save!, app, { TOKEN: made.token })).replace('}{', '}\n{').split('\n')
    const [file, backup] = saved.map((line) => JSON.parse(line))
    assert.deepEqual([file.originalName, backup.documents, backup.files], ['README.md', 1, 1])

    assert.equal(JSON.parse(await shell(mail!, app, { TOKEN: made.token })).status, 'sent')
    const { messages } = (await app.request('GET', '/sandbox/api/mail?to=ada@example.com')).body
    assert.deepEqual(
      messages.map(({ subject }: { subject: string }) => subject),
      ['Hello'],
    )
    const { url } = JSON.parse(await shell(checkout!, app, { TOKEN: made.token }))
    assert.match(await (await fetch(url)).text(), /12\.50/)
    const { _id, status } = JSON.parse(await shell(payment!, app, { TOKEN: made.token }))
    const { requests } = (await app.request('GET', '/sandbox/api/chains/requests')).body
    assert.deepEqual([status, requests[0]._id], ['pending', _id])

    const [typed] = await blocksOf('README.md', 'ts')
    const folder = await applicationFolder(t, {
      'try.ts': `const email = 'me@example.com', password = 'a long passphrase'
        ${typed!.replace('http://localhost:3000', app.url)}
        export { data, total }`,
    })
    const { data, total } = await importFile(join(folder, 'try.ts'))
    assert.deepEqual(data, [book])
    assert.equal(total, 1)
  })

  test('the limits of docs/operations.md are those of the routes', async () => {
    const app = shared()
    const page = await readFile(PAGE, 'utf8')
    assert.equal(page, withTable(page, limitsTable(app.app.routes)), 'run npm run reference')
  })

  test('the messages of docs/messaging.md are sent, and stand in the log', async (t) => {
    const app = await startApp(t, engine, { sandbox: true })
    const { token: TOKEN } = await app.register()
    const [mail, sms, logs] = await blocksOf('docs/messaging.md', 'sh')
    for (const script of [mail!, sms!])
      assert.equal(JSON.parse(await shell(script, app, { TOKEN })).status, 'sent')
    const { logs: found } = JSON.parse(await shell(logs!, app, { TOKEN }))
    const channels = found.map(({ channel, subject }: { channel: string; subject?: string }) => [
      channel,
      subject,
    ])
    assert.deepEqual(channels.slice(0, 2), [
      ['sms', undefined],
      ['email', 'Hello'],
    ])
  })

  test('the template of docs/messaging.md is sent', async (t) => {
    const [html] = await blocksOf('docs/messaging.md', 'html')
    const templates = await applicationFolder(t, { 'order.html': html! })
    const app = await startApp(t, engine, { sandbox: true, config: { messaging: { templates } } })
    const { token: TOKEN } = await app.register()
    const send = (await blocksOf('docs/messaging.md', 'sh')).find((block) => block.includes('/template'))!
    assert.equal(JSON.parse(await shell(send, app, { TOKEN })).template, 'order')
    const { messages } = (await app.request('GET', '/sandbox/api/mail?to=ada@example.com')).body
    assert.equal(messages[0].subject, 'Your order 1007')
    assert.match(messages[0].text, /Thank you, Ada\. Your order 1007 is on its way\./)
  })

  test('a failed message of docs/messaging.md is explained and sent again', async (t) => {
    const mail = await startMailServer(t)
    const app = await startApp(t, engine, {
      environment: { SMTP_URL: mail.url, MAIL_FROM: 'shop@example.com' },
    })
    const { token: ADMIN } = await app.register()
    mail.next({ recipient: 550 })
    const body = { to: 'ada@example.com', subject: 'Hello', body: '<p>Hello</p>' }
    await app.request('POST', '/messaging/email', { token: ADMIN, body })
    const blocks = await blocksOf('docs/messaging.md', 'sh')
    const again = blocks.find((block) => block.includes('/resend'))!
    const [found, queued] = (await shell(again, app, { ADMIN })).replace('}{', '}\n{').split('\n')
    assert.match(JSON.parse(found!).history.at(-1).text, /550/)
    assert.equal(JSON.parse(queued!).status, 'queued')
    const preview = blocks.find((block) => block.includes('/preview -H'))!
    const { subject, page } = JSON.parse(await shell(preview, app, { ADMIN }))
    assert.match(subject, /^Choose a new password/)
    assert.match((await app.request('GET', `${page}&scheme=dark`)).text, /https:\/\/app\.example/)
  })

  test('the bounce of docs/messaging.md is taken', async (t) => {
    const MAIL_BOUNCE_SECRET = 'a long word of this test'
    const app = await startApp(t, engine, {
      sandbox: true,
      config: { messaging: { bounceSecret: MAIL_BOUNCE_SECRET } },
    })
    const { token: TOKEN } = await app.register()
    const blocks = await blocksOf('docs/messaging.md', 'sh')
    const { messageId } = JSON.parse(await shell(blocks[0]!, app, { TOKEN }))
    const bounce = blocks.find((block) => block.includes('/bounce'))!
    const reported = bounce.replace('the Message-ID of the mail', messageId)
    assert.deepEqual(JSON.parse(await shell(reported, app, { MAIL_BOUNCE_SECRET })), { received: true })
    const { logs } = (await app.request('GET', '/messaging/logs?status=bounced', { token: TOKEN })).body
    assert.deepEqual(
      logs.map(({ error }: { error: string }) => error),
      ['550 no such mailbox'],
    )
  })

  test('the provider of docs/messaging.md sends, and its report is taken', async (t) => {
    const asked: { authorization: string | undefined; reportTo: string }[] = []
    const acme = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { reportTo } = JSON.parse(Buffer.concat(chunks).toString())
        asked.push({ authorization: request.headers.authorization, reportTo })
        response.writeHead(201).end('{"id":"acme-1"}')
      })
    }).listen(0, '127.0.0.1')
    await once(acme, 'listening')
    t.after(() => void acme.close())
    const url = `http://127.0.0.1:${(acme.address() as AddressInfo).port}`
    const [, provider] = await blocksOf('docs/messaging.md', 'ts')
    const folder = await applicationFolder(t, {
      'acme.ts': provider!,
      'sixwire.config.ts': `
        import { defineConfig } from 'sixwire'
        import { acme } from './acme.ts'
        export default defineConfig({ messaging: { sms: [acme({ url: '${url}', token: 'a token' })] } })`,
    })
    const app = await startApp(t, engine, { config: await loadConfig(folder) })
    const { token } = await app.register()
    const body = { to: '+4915112345678', body: 'Hello' }
    const sent = await app.request('POST', '/messaging/sms', { token, body })
    assert.deepEqual([sent.status, sent.body.messageId], [200, 'acme-1'], sent.text)
    assert.equal(asked[0]?.authorization, 'Bearer a token')
    const { pathname, search } = new URL(asked[0].reportTo)
    const raw = JSON.stringify({ messageId: 'acme-1', status: 'delivered' })
    const report = (secret: string) => {
      const signature = createHmac('sha256', secret).update(raw).digest('hex')
      return app.request('POST', pathname + search, { raw, headers: { 'x-acme-signature': signature } })
    }
    assert.deepEqual([(await report('x')).status, (await report('a token')).status], [400, 200])
    const { logs } = (await app.request('GET', '/messaging/logs?channel=sms', { token })).body
    assert.equal(logs[0].status, 'delivered')
  })

  test('the documents of docs/store.md are created and found', async (t) => {
    const app = shared()
    const { token: TOKEN } = await app.register()
    const [example] = await blocksOf('docs/store.md', 'sh')
    const [create, find, several, choose] = example!.split(/\n\n/)
    const run = async (script: string) => JSON.parse(await shell(script, app, { TOKEN }))
    const book = await run(create!)
    assert.equal(book.title, 'Momo')
    assert.deepEqual((await run(find!)).data, [book])
    assert.equal((await run(several!)).data.length, 2)
    const { data } = await run(choose!)
    assert.deepEqual(Object.keys(data[0]), ['_id', 'title'])
    assert.deepEqual(data[1], { _id: book._id, title: 'Momo', author: { name: 'Ende' } })

    const client = (await blocksOf('docs/store.md', 'ts')).find((block) => block.includes('.collection<'))
    const folder = await applicationFolder(t, {
      'try.ts': `import { createClient } from 'sixwire/client'
        const six = createClient(${JSON.stringify(app.url)}, { token: ${JSON.stringify(TOKEN)} })
        const shown = []
        const console = { log: (...line) => void shown.push(line) }
        ${client!}
        export { shown }`,
    })
    const { shown } = await importFile(join(folder, 'try.ts'))
    assert.deepEqual(shown, [
      [1979, 'The Neverending Story'],
      [1973, 'Momo'],
      [1960, 'Jim Button'],
    ])
  })

  test('documents of docs/store.md are changed by a unique field, and together', async (t) => {
    const config = {
      store: { collections: { customers: { read: 'user', unique: ['email'] } } },
    } satisfies Config
    const app = await startApp(t, engine, { config })
    const { token: TOKEN } = await app.register()
    const [, upsert, batch] = await blocksOf('docs/store.md', 'sh')
    const { _id } = JSON.parse(await shell(upsert!, app, { TOKEN }))
    const { results } = JSON.parse(await shell(batch!, app, { TOKEN }))
    assert.deepEqual(
      results.map(({ status }: { status: number }) => status),
      [201, 200, 201],
    )
    assert.deepEqual([results[1]._id, results[1].document.name, results[1].document.orders], [_id, 'Ann', 1])
  })

  test('many documents of docs/store.md are changed, exported and imported', async (t) => {
    const app = await startApp(t, engine)
    const { token: TOKEN } = await app.register()
    const body = [{ year: 1973 }, { year: 1979 }]
    await app.request('POST', '/store/books', { token: TOKEN, body })
    const many = (await blocksOf('docs/store.md', 'sh')).find((block) => block.includes('/bulk'))
    const folder = await applicationFolder(t, {})
    const output = await shell(`cd '${folder}'\n${many!}`, app, { TOKEN })
    const answers = [...many!.matchAll(/^# (\{.*)$/gm)].map(([, answer]) => answer)
    assert.equal(output.replaceAll('}{', '}\n{'), answers.join('\n'))
  })

  test('the checks of docs/core.md answer', async () => {
    const app = shared()
    const [checks, description] = await blocksOf('docs/core.md', 'sh')
    const [health, ready] = checks!.trim().split('\n')
    assert.equal(JSON.parse(await shell(health!, app)).status, 'healthy')
    assert.deepEqual(JSON.parse(await shell(ready!, app)), { ready: true })
    const [save] = description!.trim().split('\n')
    const printed = await shell(save!.replace(/ > .*/, ''), app)
    assert.equal(JSON.parse(printed).openapi, '3.1.0')
  })

  test('the mail and the faults of docs/sandbox.md, and its settings for Docker', async (t) => {
    const app = await startApp(t, engine, { sandbox: true })
    const [register, read, enrol, fund, hold, fault] = await blocksOf('docs/sandbox.md', 'sh')
    const { token: TOKEN } = JSON.parse(await shell(register!, app))
    // The mail is sent after the answer.
    await until(async () => (await app.request('GET', '/sandbox/api/mail')).body.messages.length > 0)
    const receivers = JSON.parse(await shell(read!, app)).messages.map(({ to }: { to: string }) => to)
    assert.deepEqual(receivers, ['ada@example.com'])
    const { account, code } = JSON.parse(await shell(enrol!, app, { TOKEN }))
    assert.equal(account, 'ada@example.com')
    const verified = await app.request('POST', '/auth/totp/verify', { token: TOKEN, body: { code } })
    assert.equal(verified.status, 200, verified.text)
    assert.match(JSON.parse(await shell(fund!, app)).hash, /^0x[0-9a-f]{64}$/)
    assert.deepEqual(JSON.parse(await shell(hold!, app)), { callback: 'held' })
    assert.deepEqual(JSON.parse(await shell(fault!, app)), { error: 451, times: 2 })

    const [compose] = await blocksOf('docs/sandbox.md', 'yaml')
    const lines = compose!.split('environment:\n')[1]!.trim().split('\n')
    const environment = Object.fromEntries(lines.map((line) => line.trim().split(': ') as [string, string]))
    const open = await startApp(t, engine, { sandbox: true, environment })
    const { host, sandboxHost } = open.app.settings
    assert.deepEqual(
      [host, sandboxHost],
      ['0.0.0.0', { names: [], networks: ['172.16.0.0/12', '192.168.0.0/16'] }],
    )
    assert.match(
      open.log(),
      /every machine and container in 172\.16\.0\.0\/12 and 192\.168\.0\.0\/16 can read/,
    )
  })

  test('the queries of docs/queries.md answer what they show', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const app = await startApp(t, engine, { databaseUrl })
    const { token: TOKEN } = await app.register()
    const [setUp, ...blocks] = await blocksOf('docs/queries.md', 'sh')
    const [create, define] = setUp!.split('\n\n')
    assert.equal(JSON.parse(await shell(create!, app, { TOKEN })).data.length, 6)
    let shown = 0
    let CURSOR = ''
    const showBlock = async (block: string, on: TestApp) => {
      const calls = [...block.matchAll(/^(books .*)\n# (.*)$/gm)].map(([, call, titles]) => ({
        call,
        titles,
      }))
      if (calls.length === 0) return
      const script = [define, ...calls.map(({ call }) => `${call}\necho`)].join('\n')
      const pages = (await shell(script, on, { TOKEN, CURSOR })).trim().split('\n')
      for (const [n, { call, titles }] of calls.entries()) {
        const { data, nextCursor } = JSON.parse(pages[n]!)
        assert.equal(data.map(({ title }: { title: string }) => title).join(', '), titles, `${call}`)
        CURSOR = nextCursor ?? ''
        shown++
      }
    }
    const searches = blocks.filter((block) => block.includes('search='))
    for (const block of blocks) if (!searches.includes(block)) await showBlock(block, app)
    assert.ok(shown >= 15)

    const client = (await blocksOf('docs/queries.md', 'ts')).find((block) => block.includes('.collection<'))
    const folder = await applicationFolder(t, {
      'try.ts': `import { createClient } from 'sixwire/client'
        const six = createClient(${JSON.stringify(app.url)}, { token: ${JSON.stringify(TOKEN)} })
        const titles = []
        const console = { log: (title) => void titles.push(title) }
        ${client!}
        export { data, total, titles, authors }`,
    })
    const { data, total, titles, authors } = await importFile(join(folder, 'try.ts'))
    assert.deepEqual(
      [(data as { title: string }[]).map(({ title }) => title), total],
      [['Momo', 'The Neverending Story'], 2],
    )
    assert.equal((titles as string[]).length, 6)
    assert.equal((authors as { data: { count: number }[] }).data[0]!.count, 3)

    const body = {
      title: 'Momo',
      year: 1973,
      lang: 'de',
      author: { name: 'Ende' },
      spent: 2,
      budget: 1,
      rights: 5,
    }
    await app.request('POST', '/store/others', { token: TOKEN, body })
    const [filters] = await blocksOf('docs/queries.md', '')
    const lines = filters!
      .trim()
      .split('\n')
      .map((line) => line.replace(/ {2,}[a-z].*$/, ''))
    assert.ok(lines.length >= 7)
    for (const filter of lines) {
      const path = `/store/others?filter=${encodeURIComponent(filter)}`
      const { status, body } = await app.request('GET', path, { token: TOKEN })
      assert.deepEqual([status, body.total], [200, 1], filter)
    }

    const explain = blocks.find((block) => block.includes('/store/books/explain'))
    // Without times; that of the last use is noted after the answer.
    const planIn = (text: string) => {
      const { ms: _, indexes, ...plan } = JSON.parse(text)
      return { ...plan, indexes: indexes.map(({ lastUsedAt: _, ...one }: Record<string, unknown>) => one) }
    }
    const explained = async (on: TestApp) => planIn(await shell(`${define}\n${explain}`, on, { TOKEN }))
    const [groups, ...plans] = await blocksOf('docs/queries.md', 'json')
    const aggregate = blocks.find((block) => block.includes('/store/books/aggregate'))!
    assert.deepEqual(JSON.parse(await shell(aggregate, app, { TOKEN })), JSON.parse(groups!))
    const [scan, index] = plans.map(planIn)
    assert.deepEqual(await explained(app), scan)
    await app.stop()
    const config = (await blocksOf('docs/queries.md', 'ts')).find((block) =>
      block.includes('author.name,year'),
    )
    const configured = await applicationFolder(t, { 'sixwire.config.ts': config! })
    const again = await startApp(t, engine, { databaseUrl, config: await loadConfig(configured) })
    await readyIndexes(again)
    assert.deepEqual(await explained(again), index)
    await again.stop()
    const searched = (await blocksOf('docs/queries.md', 'ts')).find((block) => block.includes('search: ['))
    const searchFolder = await applicationFolder(t, { 'sixwire.config.ts': searched! })
    const last = await startApp(t, engine, { databaseUrl, config: await loadConfig(searchFolder) })
    await readyIndexes(last)
    for (const block of searches) await showBlock(block, last)
    assert.ok(searches.length >= 3)
  })

  describe('the configurations', () => {
    for (const page of [
      'docs/store.md',
      'docs/files.md',
      'docs/queries.md',
      'docs/auth.md',
      'docs/messaging.md',
      'docs/onchain.md',
    ])
      test(`of ${page} start a server`, async (t) => {
        const blocks = (await blocksOf(page, 'ts')).filter(
          (one) => one.includes('export default defineConfig') && !one.includes('import { defineConfig'),
        )
        assert.ok(blocks.length > 0)
        for (const block of blocks) {
          const folder = await applicationFolder(t, {
            'sixwire.config.ts': `import { defineConfig } from 'sixwire'\n${block}`,
          })
          const app = await startApp(t, engine, { config: await loadConfig(folder) })
          assert.equal((await app.request('GET', '/health')).status, 200)
        }
      })
  })
})
