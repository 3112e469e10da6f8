import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'

import { startApp } from '../testing/app.ts'
import { eachEngine } from '../testing/engines.ts'
import { exchange } from '../testing/exchange.ts'

const PATHS = ['/sandbox', '/sandbox/api', '/sandbox/api/mail', '/sandbox/phone/x'] as const

eachEngine((engine) => {
  test('it answers under the server’s own names only, so that no web page can borrow its origin', async (t) => {
    const app = await startApp(t, engine, {
      sandbox: true,
      environment: { PUBLIC_URL: 'https://shop.example' },
    })
    const ask = (path: string, host: string) =>
      exchange(app.url, { method: 'GET', path, headers: { host }, body: undefined })
    for (const host of [
      'localhost',
      'LOCALHOST:3000',
      '127.0.0.1:3000',
      '127.8.9.10',
      '[::1]:3000',
      'shop.example',
      'Shop.example:443',
    ])
      assert.equal((await ask('/sandbox/api/mail', host)).status, 200, host)
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      'shop.example.evil.example',
      '127.0.0.1.evil.example',
      'localhost@evil.example',
      'evil.example@localhost',
      'evil.example/@localhost',
      '10.0.0.1',
      '[::2]',
      '0.0.0.0',
      ':',
    ])
      for (const path of PATHS) {
        const { status, text } = await ask(path, host)
        assert.equal(status, 403, `${host} ${path}`)
        // Twilio's API says it in Twilio's words.
        assert.equal(
          JSON.parse(text).error?.code ?? JSON.parse(text).code,
          path.includes('phone') ? 20403 : 'FORBIDDEN',
        )
      }
    // What a tunnel forwards comes from this machine, and from anybody.
    for (const header of ['x-forwarded-for', 'forwarded', 'via']) {
      const headers = { host: 'shop.example', [header]: '203.0.113.7' }
      const forwarded = (path: string) => exchange(app.url, { method: 'GET', path, headers, body: undefined })
      assert.equal((await forwarded('/sandbox/api/mail')).status, 403, header)
      assert.equal((await forwarded('/health')).status, 200, header)
    }
    // The API itself is not the sandbox.
    assert.equal((await ask('/health', 'evil.example')).status, 200)
  })

  test('its API is read by its own pages, the application’s and those of this machine, and by no others', async (t) => {
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

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((one) => one && !one.internal && one.family === 'IPv4')
  test(
    'a server that listens on every interface shows its sandbox to its own machine only',
    { skip: outside ? false : 'this machine has no address but loopback' },
    async (t) => {
      const app = await startApp(t, engine, { sandbox: true, environment: { HOST: '0.0.0.0' } })
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
        new RegExp(`this one is ${outside!.address}: .* open it as http://localhost:${port}/sandbox;`),
      )
      assert.equal((await ask('/health', outside!.address)).status, 200)
      assert.equal((await ask('/sandbox/api/mail', '127.0.0.1')).status, 200)
    },
  )
})
