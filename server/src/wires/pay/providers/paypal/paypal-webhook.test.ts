import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, test, type TestContext } from 'node:test'

import type { ApiError } from '../../../../base/errors.ts'
import { testClock, type TestClock } from '../../../../testing/clock.ts'
import { issueCertificate } from '../../../../testing/certificate-chain.ts'
import {
  CHAIN_PEM,
  CLIENT_ID,
  CLIENT_SECRET,
  happened,
  INTERMEDIATE_PEM,
  intermediate,
  json,
  open,
  problem,
  root,
  ROOT_PEM,
  serve,
  signer,
  VERIFY,
  webhook,
  WEBHOOK_ID,
  type ScriptedAnswer,
  type ScriptedRequest,
} from '../paypal.fixture.ts'
import { paypal } from '../paypal.ts'

const DAY = 24 * 3_600_000
const CERTS = '/v1/notifications/certs/'
const INVALID = { code: 'INVALID_SIGNATURE', status: 400 }
const UNAVAILABLE = { code: 'UNAVAILABLE', status: 503 }
const SIGNED_BY_ITSELF = issueCertificate({ subject: signer })

const success: ScriptedAnswer = (_asked, response) => json(response, 200, { verification_status: 'SUCCESS' })

/** A server with a certificate at every address, that answers questions about webhooks. */
async function start(
  t: TestContext,
  options: {
    pem?: string | ScriptedAnswer
    verify?: ScriptedAnswer
    roots?: readonly string[]
    clock?: TestClock
    webhookId?: string
  } = {},
) {
  const { pem = CHAIN_PEM, verify = success, roots = [ROOT_PEM], clock = testClock(), webhookId } = options
  const { apiBase, asked } = await serve(t, (one, response) => {
    if (one.path === VERIFY) return verify(one, response)
    if (typeof pem !== 'string') return pem(one, response)
    response.writeHead(200).end(pem)
  })
  const to = (path: string) => (): ScriptedRequest[] => asked.filter((one) => one.path.startsWith(path))
  return {
    provider: open({ apiBase, webhookId: webhookId ?? WEBHOOK_ID }, clock, roots),
    clock,
    fetched: to(CERTS),
    verified: to(VERIFY),
    certUrl: `${apiBase}${CERTS}CERT-1`,
    apiBase,
  }
}

/** Receives a webhook that must be accepted. */
const accepted = async (provider: ReturnType<typeof open>, request: ReturnType<typeof webhook>) =>
  assert.equal((await provider.receive(request)).length, 1)

describe('a webhook with a certificate whose chain leads to a root', () => {
  test('is verified without a question to PayPal, and the certificate is fetched once', async (t) => {
    const { provider, fetched, verified, certUrl } = await start(t)
    await Promise.all(Array.from({ length: 20 }, () => accepted(provider, webhook(certUrl))))
    await accepted(provider, webhook(certUrl))
    assert.equal(fetched().length, 1)
    assert.equal(fetched()[0]?.headers['authorization'], undefined)
    assert.equal(verified().length, 0)
  })

  test('is refused if the signature is of another key, without a question to PayPal', async (t) => {
    const { provider, verified, certUrl } = await start(t)
    const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    await assert.rejects(provider.receive(webhook(certUrl, { key })), INVALID)
    assert.equal(verified().length, 0)
  })

  test('is fetched again after some hours', async (t) => {
    const { provider, clock, fetched, certUrl } = await start(t)
    await accepted(provider, webhook(certUrl))
    clock.advance(5 * 3_600_000)
    await accepted(provider, webhook(certUrl))
    clock.advance(2 * 3_600_000)
    await accepted(provider, webhook(certUrl))
    assert.equal(fetched().length, 2)
  })

  test('counts within three days and 300 seconds', async (t) => {
    const { provider, certUrl } = await start(t)
    const at = (ms: number) => webhook(certUrl, { time: new Date(Date.now() + ms).toISOString() })
    await accepted(provider, at(-3 * DAY + 60_000))
    await accepted(provider, at(240_000))
    await assert.rejects(provider.receive(at(-3 * DAY - 60_000)), INVALID)
    await assert.rejects(provider.receive(at(360_000)), INVALID)
  })
})

describe('a certificate that is not trusted', () => {
  const expired = [Date.UTC(2020, 0, 1), Date.UTC(2024, 0, 1)] as const
  const other = { commonName: 'Other', keys: generateKeyPairSync('ec', { namedCurve: 'P-256' }) }
  const cases: readonly [string, string, string[]?][] = [
    ['is signed by itself', SIGNED_BY_ITSELF],
    [
      'leads to a root that is not trusted',
      CHAIN_PEM,
      [issueCertificate({ subject: other, isAuthority: true })],
    ],
    ['lacks its intermediate', issueCertificate({ subject: signer, issuer: intermediate })],
    [
      'comes from one that may not issue',
      issueCertificate({ subject: signer, issuer: other }) +
        issueCertificate({ subject: other, issuer: root }),
    ],
    [
      'has an issuer of the same name with another key',
      issueCertificate({ subject: signer, issuer: { ...intermediate, keys: other.keys } }) + INTERMEDIATE_PEM,
    ],
    [
      'has an intermediate that expired',
      issueCertificate({ subject: signer, issuer: intermediate }) +
        issueCertificate({ subject: intermediate, issuer: root, isAuthority: true, validity: expired }),
    ],
    [
      'leads to a root that expired',
      CHAIN_PEM,
      [issueCertificate({ subject: root, isAuthority: true, validity: expired })],
    ],
    [
      'is made out to another host',
      issueCertificate({ subject: { ...signer, commonName: 'evil.example' }, issuer: intermediate }) +
        INTERMEDIATE_PEM,
    ],
  ]
  for (const [what, pem, roots] of cases)
    test(`because it ${what}: PayPal decides once, and other signatures are refused`, async (t) => {
      const { provider, verified, certUrl } = await start(t, { pem, ...(roots && { roots }) })
      await assert.rejects(provider.receive(webhook(certUrl, { webhookId: 'OTHER' })), INVALID)
      assert.equal(verified().length, 0)
      await accepted(provider, webhook(certUrl))
      await accepted(provider, webhook(certUrl))
      assert.equal(verified().length, 1)
    })

  test('is asked about once for many webhooks that come together', async (t) => {
    const { provider, verified, certUrl } = await start(t, { pem: SIGNED_BY_ITSELF })
    await Promise.all(Array.from({ length: 50 }, () => accepted(provider, webhook(certUrl))))
    assert.equal(verified().length, 1)
  })

  test('is asked about again by those that waited, if the first was not confirmed', async (t) => {
    let count = 0
    const { provider, verified, certUrl } = await start(t, {
      pem: SIGNED_BY_ITSELF,
      verify: (_asked, response) =>
        json(response, 200, { verification_status: ++count === 1 ? 'FAILURE' : 'SUCCESS' }),
    })
    const webhooks = Array.from({ length: 4 }, () => provider.receive(webhook(certUrl)))
    const kinds = (await Promise.allSettled(webhooks)).map(({ status }) => status)
    assert.equal(kinds.filter((status) => status === 'fulfilled').length, 3)
    assert.ok(verified().length >= 2)
    await accepted(provider, webhook(certUrl))
  })

  test('is not trusted after PayPal said no', async (t) => {
    let verification_status = 'FAILURE'
    const { provider, verified, certUrl } = await start(t, {
      pem: SIGNED_BY_ITSELF,
      verify: (_asked, response) => json(response, 200, { verification_status }),
    })
    await assert.rejects(provider.receive(webhook(certUrl)), INVALID)
    verification_status = 'SOMETHING'
    await assert.rejects(provider.receive(webhook(certUrl)), INVALID)
    verification_status = 'SUCCESS'
    await accepted(provider, webhook(certUrl))
    assert.equal(verified().length, 3)
  })
})

describe('a certificate that cannot be used', () => {
  const ecKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const cases: readonly [string, string | ScriptedAnswer][] = [
    ['is not there', (_asked, response) => response.writeHead(404).end()],
    ['is cut off', (_asked, response) => void response.destroy()],
    ['is a page', '<html>'],
    ['is broken', CHAIN_PEM.replaceAll('A', 'B')],
    ['is larger than 64 KiB', `${' '.repeat(70_000)}${CHAIN_PEM}`],
    ['has too many others with it', CHAIN_PEM.repeat(6)],
    ['has no RSA key', issueCertificate({ subject: { commonName: 'localhost', keys: ecKeys } })],
    ['has a short key', issueCertificate({ subject: { commonName: 'localhost', keys: weak } })],
    ['expired', issueCertificate({ subject: signer, validity: [Date.UTC(2020, 0), Date.UTC(2021, 0)] })],
    [
      'is not valid yet',
      issueCertificate({ subject: signer, validity: [Date.UTC(2048, 0), Date.UTC(2049, 0)] }),
    ],
    [
      'is elsewhere',
      ({ path }, response) =>
        path.endsWith('moved')
          ? response.writeHead(200).end(CHAIN_PEM)
          : response.writeHead(302, { location: `${CERTS}moved` }).end(),
    ],
  ]
  for (const [what, pem] of cases)
    test(`because it ${what}: PayPal decides each time, and it is not fetched each time`, async (t) => {
      const { provider, clock, fetched, verified, certUrl } = await start(t, { pem })
      await accepted(provider, webhook(certUrl))
      await accepted(provider, webhook(certUrl))
      assert.equal(fetched().length, 1)
      assert.equal(verified().length, 2)
      clock.advance(61_000)
      await accepted(provider, webhook(certUrl))
      assert.equal(fetched().length, 2)
    })
})

describe('a question to PayPal about a webhook', () => {
  const pem: ScriptedAnswer = (_asked, response) => response.writeHead(404).end()

  test('has the event byte by byte as it came', async (t) => {
    const { provider, verified, certUrl } = await start(t, { pem })
    const raw =
      '{ "id":"WH-1", "event_type" : "A.B",\n "resource": {"a":1.00, "\\u0062": "é"}, "n": 12345678901234567890 }'
    const request = webhook(certUrl, { bytes: Buffer.from(raw) })
    const [event] = await provider.receive(request)
    assert.deepEqual([event?.id, event?.type, event?.subject], ['WH-1', 'A.B', undefined])
    const [question] = verified()
    assert.equal(question?.body.slice(-raw.length - 18), `,"webhook_event":${raw}}`)
    assert.deepEqual(
      { ...question?.json, webhook_event: undefined },
      {
        auth_algo: 'SHA256withRSA',
        cert_url: certUrl,
        transmission_id: request.headers['paypal-transmission-id'],
        transmission_sig: request.headers['paypal-transmission-sig'],
        transmission_time: request.headers['paypal-transmission-time'],
        webhook_id: WEBHOOK_ID,
        webhook_event: undefined,
      },
    )
  })

  test('is not made with bytes that are not one JSON value', async (t) => {
    const { provider, verified, certUrl } = await start(t, { pem })
    for (const text of ['', '{}}', '{},"webhook_event":{}', '\ufeff{}', 'x'])
      await assert.rejects(provider.receive(webhook(certUrl, { bytes: Buffer.from(text) })), INVALID)
    assert.equal(verified().length, 0)
  })

  const answers: readonly [string, ScriptedAnswer, object][] = [
    ['says no', (_asked, response) => json(response, 200, { verification_status: 'FAILURE' }), INVALID],
    [
      'calls the question invalid',
      (_asked, response) => json(response, 400, problem('VALIDATION_ERROR')),
      INVALID,
    ],
    ['says nothing', (_asked, response) => json(response, 200, {}), UNAVAILABLE],
    ['fails', (_asked, response) => json(response, 500, problem('INTERNAL_SERVICE_ERROR')), UNAVAILABLE],
    ['has no time', (_asked, response) => json(response, 429, problem('RATE_LIMIT_REACHED')), UNAVAILABLE],
    [
      'does not know us',
      (_asked, response) => json(response, 401, problem('AUTHENTICATION_FAILURE')),
      UNAVAILABLE,
    ],
    ['is cut off', (_asked, response) => void response.destroy(), UNAVAILABLE],
  ]
  for (const [what, verify, error] of answers)
    test(`leaves the webhook ${error === INVALID ? 'refused' : 'unverified'} if PayPal ${what}`, async (t) => {
      const { provider, certUrl } = await start(t, { pem, verify })
      await assert.rejects(provider.receive(webhook(certUrl)), error)
    })

  test('ends at its limit if PayPal is silent', async (t) => {
    const reached = Promise.withResolvers<void>()
    const { provider, clock, certUrl } = await start(t, { pem, verify: () => reached.resolve() })
    const receiving = assert.rejects(provider.receive(webhook(certUrl)), UNAVAILABLE)
    await reached.promise
    clock.advance(5_000)
    await receiving
  })
})

describe('forged webhooks', () => {
  test('cannot make it fetch and ask at will', async (t) => {
    const { provider, clock, fetched, verified, certUrl } = await start(t, {
      pem: ({ path }, response) =>
        path.endsWith('CERT-1') ? response.writeHead(200).end(CHAIN_PEM) : response.writeHead(404).end(),
      verify: (_asked, response) => json(response, 200, { verification_status: 'FAILURE' }),
    })
    await accepted(provider, webhook(certUrl))
    const codes = new Map<string, number>()
    for (let i = 0; i < 200; i++)
      await provider.receive(webhook(`${certUrl}-${i}`)).catch((error: unknown) => {
        const { code } = error as ApiError
        codes.set(code, (codes.get(code) ?? 0) + 1)
      })
    assert.equal(fetched().length, 20)
    assert.equal(verified().length, 60)
    assert.deepEqual(Object.fromEntries(codes), { INVALID_SIGNATURE: 60, UNAVAILABLE: 140 })
    // The good certificate is still there, and what was used up comes back.
    await accepted(provider, webhook(certUrl))
    clock.advance(61_000)
    await assert.rejects(provider.receive(webhook(`${certUrl}-new`)), INVALID)
    assert.equal(fetched().length, 21)
  })

  test('cannot make it forget a certificate', async (t) => {
    const { provider, clock, fetched, verified, certUrl } = await start(t, {
      pem: ({ path }, response) =>
        path.endsWith('CERT-1') ? response.writeHead(200).end(CHAIN_PEM) : response.writeHead(404).end(),
      verify: (_asked, response) => json(response, 200, { verification_status: 'FAILURE' }),
    })
    await accepted(provider, webhook(certUrl))
    clock.advance(7 * 3_600_000)
    for (let i = 0; i < 20; i++) await assert.rejects(provider.receive(webhook(`${certUrl}-${i}`)), INVALID)
    await accepted(provider, webhook(certUrl))
    assert.deepEqual([fetched().length, verified().length], [21, 20])
    clock.advance(61_000)
    await accepted(provider, webhook(certUrl))
    assert.equal(fetched().length, 22)
  })

  test('ask at most four questions at once', async (t) => {
    const pending: (() => void)[] = []
    const { provider, certUrl } = await start(t, {
      pem: (_asked, response) => response.writeHead(404).end(),
      verify: (asked, response) => {
        pending.push(() => success(asked, response))
        if (pending.length === 4) released.resolve()
      },
    })
    const released = Promise.withResolvers<void>()
    const results = Array.from({ length: 10 }, () => provider.receive(webhook(certUrl)))
    const settled = Promise.allSettled(results)
    await released.promise
    for (const answer of pending) answer()
    const kinds = (await settled).map(({ status }) => status)
    assert.equal(kinds.filter((status) => status === 'fulfilled').length, 4)
  })

  test('are refused by their headers, and nothing is fetched', async (t) => {
    const { provider, fetched, apiBase, certUrl } = await start(t)
    const { port } = new URL(apiBase)
    const foreign = [
      'https://evil.example/v1/notifications/certs/CERT-1',
      'https://api.paypal.com.evil.example/CERT-1',
      'https://api.paypal.com@evil.example/CERT-1',
      'https://user:pass@api.paypal.com/CERT-1',
      'https://api.paypal.com/CERT-1?x=1',
      'https://api.paypal.com/CERT-1#x',
      'https://evil-api.paypal.com/CERT-1',
      'https://api.paypal.com:8443/CERT-1',
      'http://api.paypal.com/CERT-1',
      `http://127.0.0.1:${port}/CERT-1`,
      `https://localhost:${port}/CERT-1`,
      'http://localhost:1/CERT-1',
      'file:///etc/passwd',
      '/v1/notifications/certs/CERT-1',
      `https://api.paypal.com/${'x'.repeat(600)}`,
      'https://api.paypal.com/v1/notifications/certs/CERT%2D1',
      'https://api.paypal.com/v1/notifications//certs/CERT-1',
      'https://api.paypal.com/v1/notifications/certs/CERT-1/',
      'https://api.paypal.com/v1/notifications/certs/CERT-1;x=1',
    ]
    for (const url of foreign) assert.throws(() => provider.authorize(webhook(url).headers), INVALID, url)
    const { headers } = webhook(certUrl)
    for (const name of Object.keys(headers)) {
      assert.throws(() => provider.authorize({ ...headers, [name]: undefined }), INVALID, name)
      assert.throws(() => provider.authorize({ ...headers, [name]: 'x'.repeat(5000) }), INVALID, name)
    }
    provider.authorize(headers)
    for (const host of [
      'api.paypal.com',
      'api-m.paypal.com',
      'api.sandbox.paypal.com',
      'api-m.sandbox.paypal.com',
    ])
      provider.authorize({ ...headers, 'paypal-cert-url': `https://${host}/v1/notifications/certs/CERT-1` })
    assert.equal(fetched().length, 0)
  })
})

test('webhooks without a webhook ID are answered with the variable to set', async (t) => {
  const { apiBase, certUrl, provider } = await start(t)
  const error = { code: 'PROVIDER_NOT_CONFIGURED', status: 400, message: /PAYPAL_WEBHOOK_ID/ }
  const request = webhook(certUrl, { event: happened('A.B', {}) })
  for (const id of [undefined, '', ' \n']) {
    const none = paypal({
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      apiBase,
      ...(id !== undefined && { webhookId: id }),
    })
    assert.throws(() => none.authorize(request.headers), error)
    await assert.rejects(none.receive(request), error)
  }
  await accepted(provider, request)
})
