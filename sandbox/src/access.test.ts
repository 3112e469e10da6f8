import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'

import { createTransport } from 'nodemailer'

import { startApp } from '../../server/src/testing/app.ts'
import { appForAll } from '../../server/src/testing/auth.ts'
import { createBrowser } from '../../server/src/testing/browser.ts'
import { someEngine } from '../../server/src/testing/engines.ts'
import { exchange } from '../../server/src/testing/exchange.ts'

const PATHS = [
  '/sandbox',
  '/sandbox/page/base.css',
  '/sandbox/api',
  '/sandbox/api/mail',
  '/sandbox/api/events',
  '/sandbox/app',
  '/sandbox/idpa/.well-known/openid-configuration',
  '/sandbox/idpa/authorize',
  '/sandbox/idpb/login/oauth/authorize',
  '/sandbox/phone/x',
] as const

/** An address of this machine that is not loopback. */
const outside = Object.values(networkInterfaces())
  .flat()
  .find((one) => one && !one.internal && one.family === 'IPv4')

someEngine((engine) => {
  /** Open under one more host name. */
  const shop = appForAll(engine, {
    sandbox: true,
    environment: {
      HOST: '0.0.0.0',
      PUBLIC_URL: 'https://shop.example',
      SIXWIRE_SANDBOX_HOST: 'Shop.example',
    },
  })
  const everywhere = appForAll(engine, { sandbox: true, environment: { HOST: '0.0.0.0' } })

  test('the sandbox answers this machine only: no forwarded request and no other host name', async (t) => {
    // A tunnel that adds no headers is known by the host name alone, which PUBLIC_URL says.
    const app = await startApp(t, engine, {
      sandbox: true,
      environment: { PUBLIC_URL: 'https://shop.example' },
    })
    const { port } = new URL(app.url)
    const ask = (path: string, headers: Record<string, string>) =>
      exchange(app.url, { method: 'GET', path, headers, body: undefined })
    for (const host of [
      'localhost',
      'LOCALHOST:3000',
      'shop.localhost:3000',
      '127.0.0.1:3000',
      '127.8.9.10',
      '[::1]:3000',
    ])
      assert.equal((await ask('/sandbox/api/mail', { host })).status, 200, host)
    for (const headers of [
      { host: 'shop.example' },
      { host: 'Shop.example:443' },
      { host: 'evil.example' },
      { host: 'localhost.evil.example' },
      { host: '127.0.0.1.evil.example' },
      { host: 'localhost@evil.example' },
      { host: 'evil.example@localhost' },
      { host: 'evil.example/@localhost' },
      { host: '10.0.0.1' },
      { host: '[::2]' },
      { host: '0.0.0.0' },
      { host: ':' },
      { host: 'localhost', 'x-forwarded-for': '203.0.113.7' },
      { host: 'localhost', 'x-forwarded-proto': 'https' },
      { host: 'localhost', 'cf-connecting-ip': '203.0.113.7' },
      { host: 'localhost', 'x-forwarded-host': 'shop.example' },
      { host: 'localhost', forwarded: 'for=203.0.113.7' },
      { host: 'localhost', 'x-real-ip': '203.0.113.7' },
      { host: 'localhost', via: '1.1 proxy' },
      { host: 'shop.example', 'x-forwarded-for': '203.0.113.7' },
    ] as Record<string, string>[])
      for (const path of PATHS) {
        const { status, text } = await ask(path, headers)
        assert.equal(status, 403, `${JSON.stringify(headers)} ${path}`)
        // Twilio's API says it in Twilio's words.
        const { error, code } = JSON.parse(text)
        assert.equal(error?.code ?? code, path.includes('phone') ? 20403 : 'FORBIDDEN')
        if (error)
          assert.match(
            error.message,
            new RegExp(`open http://localhost:${port}/sandbox .*SIXWIRE_SANDBOX_HOST`),
          )
      }
    // The API itself is not the sandbox.
    assert.equal((await ask('/health', { host: '10.0.0.1', via: '1.1 proxy' })).status, 200)
  })

  test('SIXWIRE_SANDBOX_HOST opens the sandbox under one more host name, through proxies too, and the start warns', async () => {
    const app = shop()
    const ask = (path: string, headers: Record<string, string>) =>
      exchange(app.url, { method: 'GET', path, headers, body: undefined })
    const forwarded = { host: 'shop.example', 'x-forwarded-for': '203.0.113.7' }
    for (const path of ['/sandbox', '/sandbox/api/mail', '/sandbox/app', '/sandbox/page/base.css']) {
      assert.equal((await ask(path, { host: 'localhost' })).status, 200, path)
      assert.equal((await ask(path, { host: 'shop.example:443' })).status, 200, path)
      assert.equal((await ask(path, forwarded)).status, 200, path)
      assert.equal((await ask(path, { ...forwarded, host: 'localhost' })).status, 403, path)
      assert.equal((await ask(path, { ...forwarded, host: 'www.shop.example' })).status, 403, path)
    }
    if (outside) {
      const url = `http://${outside.address}:${new URL(app.url).port}`
      const from = (host: string) =>
        exchange(url, { method: 'GET', path: '/sandbox/api/mail', headers: { host }, body: undefined })
      assert.equal((await from('shop.example')).status, 200)
      assert.equal((await from('localhost')).status, 403)
    }
    const page = { ...forwarded, origin: 'https://shop.example:8443' }
    assert.equal((await ask('/sandbox/api/mail', page)).status, 200)
    assert.equal((await ask('/sandbox/api/mail', { ...page, origin: 'https://evil.example' })).status, 403)
    assert.match(app.log(), /"level":40.*SIXWIRE_SANDBOX_HOST: .* shop\.example /)
    assert.equal(app.app.settings.appUrl, 'https://shop.example/sandbox/app')
  })

  test('if PUBLIC_URL is another host, the stand-ins are used from this machine, and the start says so', async (t) => {
    const app = await startApp(t, engine, {
      sandbox: true,
      environment: { PUBLIC_URL: 'https://shop.example/api' },
    })
    const { port } = new URL(app.url)
    assert.match(
      app.log(),
      new RegExp(`"level":30.*https://shop.example.*http://localhost:${port}/sandbox.*SIXWIRE_SANDBOX_HOST`),
    )
    // What is in front of it takes the path away.
    const browser = createBrowser()
    const publicly = (address: string) => address.replace('https://shop.example/api', app.url)
    for (const provider of ['idpa', 'idpb']) {
      const begun = await browser.step(`${app.url}/auth/${provider}`)
      const consent = begun.headers.get('location')!
      assert.ok(consent.startsWith(`http://localhost:${port}/sandbox/${provider}/`), consent)
      const chosen = await browser.step(consent, { person: '100000001' })
      const callback = chosen.headers.get('location')!
      assert.ok(callback.startsWith(`https://shop.example/api/auth/${provider}/callback?`), callback)
      const back = await fetch(publicly(callback), {
        redirect: 'manual',
        headers: {
          cookie: begun.headers
            .getSetCookie()
            .map((line) => line.split(';')[0])
            .join('; '),
        },
      })
      assert.match(
        back.headers.get('location')!,
        new RegExp(`^http://localhost:${port}/sandbox/app/auth/callback#token=`),
      )
    }
    const { token } = await app.register()
    const sms = await app.request('POST', '/messaging/sms', {
      token,
      body: { to: '+4915112345678', body: 'By SMS' },
    })
    assert.equal(sms.status, 200, sms.text)
    const { messages } = (await app.request('GET', '/sandbox/api/phone')).body
    assert.equal(messages[0].body, 'By SMS')
    // People come back to the public name: there they have to begin, for the sake of the cookie.
    assert.match(
      (await app.request('GET', '/sandbox/app')).text,
      /href="https:\/\/shop.example\/api\/auth\/idpa"/,
    )
  })

  test('the sandbox API is read by its own pages, the application’s and those of this machine, and by no others', async (t) => {
    const app = await startApp(t, engine, {
      sandbox: true,
      environment: {
        PUBLIC_URL: 'https://api.shop.example',
        APP_URL: 'https://shop.example/app',
        SIXWIRE_ORIGINS: '*,https://admin.shop.example',
      },
    })
    const ask = (method: string, path: string, origin: string) =>
      app.request(method, path, { headers: { origin } })
    for (const origin of [
      'https://api.shop.example',
      'https://shop.example',
      'https://admin.shop.example',
      'http://localhost:5173',
      'http://127.0.0.1:8080',
      'http://[::1]:1',
    ])
      assert.equal((await ask('GET', '/sandbox/api/mail', origin)).status, 200, origin)
    for (const origin of [
      'https://evil.example',
      'http://shop.example',
      'https://shop.example.evil.example',
      'https://localhost.evil.example',
      'null',
      'nonsense',
    ]) {
      for (const path of ['/sandbox/api', '/sandbox/api/mail', '/sandbox/%61pi/mail', '/sandbox/api/phone'])
        assert.equal((await ask('GET', path, origin)).status, 403, `${origin} ${path}`)
      assert.equal((await ask('DELETE', '/sandbox/api', origin)).status, 403)
      assert.equal((await ask('PUT', '/sandbox/api/faults/mail', origin)).status, 403)
      assert.equal((await ask('GET', '/health', origin)).status, 200)
    }
  })

  test(
    'a server that listens on every interface shows its sandbox to its own machine only',
    { skip: outside ? false : 'this machine has no address but loopback' },
    async () => {
      const app = everywhere()
      const { port } = new URL(app.url)
      const ask = (path: string, address: string) =>
        exchange(`http://${address}:${port}`, {
          method: 'GET',
          path,
          headers: { host: `localhost:${port}` },
          body: undefined,
        })
      for (const path of PATHS) assert.equal((await ask(path, outside!.address)).status, 403, path)
      const { error } = JSON.parse((await ask('/sandbox', outside!.address)).text)
      assert.match(
        error.message,
        new RegExp(`from ${outside!.address}: open http://localhost:${port}/sandbox .*SIXWIRE_SANDBOX_HOST`),
      )
      assert.equal((await ask('/health', outside!.address)).status, 200)
      assert.equal((await ask('/sandbox/api/mail', '127.0.0.1')).status, 200)
    },
  )

  // As a container sees another one, or its host, in a Docker network.
  test(
    'SIXWIRE_SANDBOX_HOST opens the sandbox to the callers of a network, by names that the public DNS does not have',
    { skip: outside ? false : 'this machine has no address but loopback' },
    async (t) => {
      const { address } = outside!
      const app = await startApp(t, engine, {
        sandbox: true,
        environment: { HOST: '0.0.0.0', SIXWIRE_SANDBOX_HOST: `10.99.0.0/16, ${address}/32` },
      })
      const { port } = new URL(app.url)
      const ask = (path: string, headers: Record<string, string>, from = address) =>
        exchange(`http://${from}:${port}`, { method: 'GET', path, headers, body: undefined })
      for (const host of [
        `${address}:${port}`,
        'app:3000',
        'localhost:3000',
        'laptop.local',
        '[fd00::5]:3000',
      ])
        for (const path of ['/sandbox', '/sandbox/api/mail', '/sandbox/app', '/sandbox/page/base.css'])
          assert.equal((await ask(path, { host })).status, 200, `${host} ${path}`)
      assert.equal((await ask('/sandbox/api/mail', { host: 'localhost' }, '127.0.0.1')).status, 200)
      for (const headers of [
        { host: 'evil.example' },
        { host: 'app.evil.example' },
        { host: ':' },
        { host: 'app', 'x-forwarded-for': '203.0.113.7' },
        { host: address, via: '1.1 proxy' },
        { host: 'app', forwarded: 'for=203.0.113.7' },
      ] as Record<string, string>[])
        for (const path of PATHS)
          assert.equal((await ask(path, headers)).status, 403, `${JSON.stringify(headers)} ${path}`)

      const page = (origin: string) => ask('/sandbox/api/mail', { host: `${address}:${port}`, origin })
      for (const origin of [`http://${address}:${port}`, `http://${address}:5173`, 'http://localhost:5173'])
        assert.equal((await page(origin)).status, 200, origin)
      for (const origin of ['https://evil.example', 'http://192.0.2.99:3000', 'http://app:3000', 'null'])
        assert.equal((await page(origin)).status, 403, origin)
      assert.match(
        app.log(),
        /"level":40.*SIXWIRE_SANDBOX_HOST: every machine and container in 10\.99\.0\.0\/16 and /,
      )

      const { mail } = JSON.parse((await ask('/sandbox/api', { host: 'app' })).text)
      const mailer = createTransport(mail.variables.SMTP_URL.replace('127.0.0.1', address))
      t.after(() => mailer.close())
      await mailer.sendMail({ from: mail.from, to: 'ada@example.com', text: 'From a container' })
    },
  )

  test(
    'the sandbox and its mail server refuse callers of other networks',
    { skip: outside ? false : 'this machine has no address but loopback' },
    async (t) => {
      const { address } = outside!
      const app = await startApp(t, engine, {
        sandbox: true,
        environment: { HOST: '0.0.0.0', SIXWIRE_SANDBOX_HOST: '10.99.0.0/16' },
      })
      const { port } = new URL(app.url)
      for (const path of PATHS) {
        const headers = { host: `localhost:${port}` }
        const { status } = await exchange(`http://${address}:${port}`, {
          method: 'GET',
          path,
          headers,
          body: undefined,
        })
        assert.equal(status, 403, path)
      }
      const { mail } = (await app.request('GET', '/sandbox/api')).body
      const mailer = createTransport(mail.variables.SMTP_URL.replace('127.0.0.1', address))
      t.after(() => mailer.close())
      await assert.rejects(mailer.verify(), { responseCode: 554 })
    },
  )

  test(
    'the mail server of the sandbox listens on loopback unless the sandbox is open to a network',
    { skip: outside ? false : 'this machine has no address but loopback' },
    async (t) => {
      const { mail } = (await shop().request('GET', '/sandbox/api')).body
      const mailer = createTransport(mail.variables.SMTP_URL.replace('127.0.0.1', outside!.address))
      t.after(() => mailer.close())
      await assert.rejects(mailer.verify(), { code: 'ESOCKET' })
    },
  )

  test('a method that no page of the sandbox has is answered 404, whatever the request sends', async () => {
    const app = everywhere()
    for (const method of ['QUERY', 'PROPFIND'])
      for (const path of ['/sandbox', '/sandbox/nowhere']) {
        const { status } = await exchange(app.url, { method, path, headers: {}, body: Buffer.from('x') })
        assert.equal(status, 404, `${method} ${path}`)
      }
  })
})
