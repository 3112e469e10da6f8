// Records of strangers who mean harm, of every kind that the console shows.
import assert from 'node:assert/strict'

import type { Config } from '../app.ts'
import { Type } from '../base/schema.ts'
import { route } from '../http/route.ts'
import { defineWire } from '../kernel/wire/wire.ts'
import type { TestApp } from './app.ts'

/** Markup that would run, text that looks like another one, and an address that is a script. */
export const HOSTILE_TEXTS = {
  markup: `<img src=x onerror="alert('markup')"><script>alert('script')</script>`,
  attribute: `"><svg onload="alert('attribute')">' onmouseover='alert(1)`,
  link: `javascript:alert('link')`,
  bidi: 'invoice\u202Efdp.exe\u2066\u200B',
  template: '{{constructor.constructor("alert(1)")()}}${alert(2)}',
} as const

const { markup, attribute, link, bidi, template } = HOSTILE_TEXTS
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert('svg')"><script>alert('svg script')</script></svg>`
const DEPTH = 64
const BOUNDARY = 'b'

/** A wire whose route and job fail with words of a stranger. */
const failing = defineWire({
  name: 'failing',
  setup({ jobs }) {
    const job = jobs.define(
      'failing.work',
      { payload: Type.Object({ what: Type.String() }), retry: { firstMs: 1, maxMs: 1, attempts: 1 } },
      async ({ payload }) => {
        throw new Error(`${payload.what} ${bidi}`)
      },
    )
    return {
      service: undefined,
      routes: [
        route('GET /failing', { summary: 'Fail', access: 'public', reply: { 200: Type.Object({}) } }, () => {
          throw new Error(`${markup} ${bidi}`)
        }),
        route(
          'POST /failing',
          { summary: 'Fail later', access: 'public', reply: { 200: Type.Object({}) } },
          async () => {
            await job.enqueue({ what: markup })
            return {}
          },
        ),
      ],
    }
  },
})

/** The configuration of a server that is seeded with it, whose sandbox is on. */
export const hostileConfig: Config = { wires: [failing()] }

/** Fills a server with them. @param token of an administrator */
export async function seedHostile(app: TestApp, token: string): Promise<void> {
  async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answered = await app.request(method, path, { token, headers, ...(body !== undefined && { body }) })
    assert.ok(answered.status < 300, `${method} ${path}: ${answered.text.slice(0, 500)}`)
    return answered.body
  }
  const registered = await app.request('POST', '/auth/register', {
    body: { email: 'stranger@example.com', password: 'a long passphrase', name: `${markup} ${bidi}` },
    headers: { 'user-agent': `${markup} ${attribute}` },
  })
  assert.equal(registered.status, 201, registered.text)
  await app.app.service('auth').keys.create(`${markup} ${bidi}`, ['messaging'])
  await seedDocuments(send)
  await seedFiles(app, token)
  await send('POST', '/messaging/email', { to: 'a@example.com', subject: `${markup} ${bidi}`, body: markup })
  await send('POST', '/messaging/sms', { to: '+4915112345678', body: `${markup} ${bidi}` })
  await send('POST', '/onchain/wallets', { name: `${markup} ${bidi}` })
  const mine = { merchantReference: bidi, metadata: { [attribute.slice(0, 40)]: markup } }
  await send('POST', '/pay/cardpay/checkout', {
    items: [{ name: `${markup} ${bidi}`, amount: 100, currency: 'EUR' }],
    successUrl: 'https://shop.example/?q=%3Cscript%3E',
    cancelUrl: 'https://shop.example/',
    ...mine,
  })
  await send('POST', '/pay/onchain/payment', { amount: '1', token: 'ETH', chain: 'ethereum', ...mine })
  assert.equal((await app.request('GET', '/failing')).status, 500)
  const refused = await app.request('GET', `/store/${encodeURIComponent(markup)}`, {
    token,
    headers: { 'user-agent': `${markup} ${template}` },
  })
  assert.equal(refused.status, 400, refused.text)
  await send('POST', '/failing')
}

async function seedDocuments(
  send: (method: string, path: string, body: unknown) => Promise<unknown>,
): Promise<void> {
  for (const [name, text] of Object.entries(HOSTILE_TEXTS))
    await send('POST', '/store/texts', { name, text, link })
  await send('POST', '/store/texts', { name: 'long', text: 'x'.repeat(900_000) })
  let deep: unknown = markup
  for (let depth = 1; depth < DEPTH - 1; depth++) deep = { [depth % 2 ? markup.slice(0, 12) : 'a']: deep }
  await send('POST', '/store/texts', { name: 'deep', deep })
  await send('POST', '/store/texts', { name: 'methods', toString: bidi, valueOf: null, hasOwnProperty: 'x' })
}

async function seedFiles(app: TestApp, token: string): Promise<void> {
  for (const [filename, type, content] of [
    [`${markup.replaceAll('"', "'")}.svg`, 'image/svg+xml', SVG],
    [`${template}.html`, 'text/html', `<script>alert('html')</script>`],
    ['picture.png', 'image/png', SVG],
  ] as const) {
    const { status, text } = await app.request('POST', '/store/upload', {
      token,
      raw: `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="${filename}"\r\ncontent-type: ${type}\r\n\r\n${content}\r\n--${BOUNDARY}--\r\n`,
      headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    })
    assert.equal(status, 201, text)
  }
}
